#include "linux/proc/network.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

bool parse_interface(std::string_view line, NetworkInterface& out) {
  const std::size_t colon = line.rfind(':');  // an alias such as eth0:1 has one in its name
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(std::min(line.find_first_not_of(' '), colon), std::string_view::npos);
  std::array<std::int64_t, 16> fields;
  Words words(line.substr(colon + 1));
  std::string_view word;
  for (std::int64_t& field : fields) {
    const auto value = words.next(word) ? parse_count(word) : std::nullopt;
    if (!value) return false;
    field = *value;
  }
  if (words.next(word)) return false;
  const std::size_t size = name.find_last_of(':');
  if (size == 0 || size == std::string_view::npos) return false;
  out.name.assign(name.substr(0, size));
  out.received_bytes = fields[0], out.received_packets = fields[1], out.received_errors = fields[2],
  out.received_drops = fields[3];
  out.sent_bytes = fields[8], out.sent_packets = fields[9], out.sent_errors = fields[10], out.sent_drops = fields[11];
  return true;
}

}  // namespace

Result<void> parse_network(std::string_view text, std::vector<NetworkInterface>& out) {
  std::size_t count = 0;
  int headings = 0;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (headings < 2 && line.contains('|')) {
      ++headings;
      continue;
    }
    if (count == out.size()) out.emplace_back();
    if (headings != 2 || !parse_interface(line, out[count])) {
      out.clear();
      return fail(ErrorKind::kInvalid, "an interface and its counters are wanted, found ", base::in_quotes(line));
    }
    ++count;
  }
  if (headings != 2) {
    out.clear();
    return fail(ErrorKind::kInvalid, "two lines of headings are wanted, found ", base::in_quotes(text));
  }
  out.resize(count);
  return {};
}

Result<void> read_network(const Folder& proc, Buffer& buffer, std::vector<NetworkInterface>& out) {
  TM_TRY(const auto text, proc.read("net/dev", buffer));
  if (!text) return fail(ErrorKind::kUnsupported, proc.path(), "/net/dev is not there: this kernel has no network");
  auto parsed = parse_network(*text, out);
  if (!parsed) return fail(std::move(parsed).error().within(base::cat(proc.path(), "/net/dev")));
  return parsed;
}

}  // namespace tidemark::linux
