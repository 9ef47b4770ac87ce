#include "linux/proc/disks.h"

#include <array>
#include <limits>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::int64_t kSectorBytes = 512;  // the unit of this file, for every disk

bool parse_disk(std::string_view line, Disk& out) {
  Words words(line);
  std::string_view major, minor, name;
  if (!words.next(major) || !words.next(minor) || !words.next(name)) return false;
  const auto high = parse_count(major), low = parse_count(minor);
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (!high || !low || *high > kMax || *low > kMax) return false;
  // reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, busy ms, weighted ms; later kernels add more.
  std::array<std::int64_t, 10> fields;
  for (std::int64_t& field : fields) {
    std::string_view word;
    const auto value = words.next(word) ? parse_count(word) : std::nullopt;
    if (!value) return false;
    field = *value;
  }
  const auto read_bytes = scaled(fields[2], kSectorBytes), write_bytes = scaled(fields[6], kSectorBytes);
  if (!read_bytes || !write_bytes) return false;
  out.major = static_cast<std::int32_t>(*high);
  out.minor = static_cast<std::int32_t>(*low);
  out.name.assign(name);
  out.read_count = fields[0], out.read_bytes = *read_bytes, out.read_ms = fields[3];
  out.write_count = fields[4], out.write_bytes = *write_bytes, out.write_ms = fields[7];
  out.in_flight = fields[8], out.busy_ms = fields[9];
  return true;
}

}  // namespace

Result<void> parse_disks(std::string_view text, std::vector<Disk>& out) {
  std::size_t count = 0;
  Lines lines(text);
  for (std::string_view line; lines.next(line); ++count) {
    if (count == out.size()) out.emplace_back();
    if (!parse_disk(line, out[count])) {
      out.clear();
      return fail(ErrorKind::kInvalid, "a disk and its counters are wanted, found ", base::in_quotes(line));
    }
  }
  out.resize(count);
  return {};
}

Result<void> read_disks(const Folder& proc, Buffer& buffer, std::vector<Disk>& out) {
  TM_TRY(const auto text, proc.read("diskstats", buffer));
  if (!text) return fail(ErrorKind::kUnsupported, proc.path(), "/diskstats is not there: this kernel counts no disks");
  auto parsed = parse_disks(*text, out);
  if (!parsed) return fail(std::move(parsed).error().within(base::cat(proc.path(), "/diskstats")));
  return parsed;
}

}  // namespace tidemark::linux
