#include "linux/proc/machine.h"

#include <algorithm>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

// "2.07": two digits behind the point.
std::optional<std::int64_t> parse_centi(std::string_view word) {
  const std::size_t point = word.find('.');
  if (point == std::string_view::npos || point + 3 != word.size()) return std::nullopt;
  const auto whole = parse_count(word.substr(0, point)), part = parse_count(word.substr(point + 1));
  const auto centi = whole && part ? scaled(*whole, 100) : std::nullopt;
  std::int64_t out = 0;
  if (!centi || __builtin_add_overflow(*centi, *part, &out)) return std::nullopt;
  return out;
}

template <class Parse>
auto read_of(const Folder& proc, const char* name, Buffer& buffer, Parse parse) -> decltype(parse(std::string_view())) {
  const auto text = proc.read(name, buffer);
  if (!text) return fail(text.error());
  if (!*text) return fail(ErrorKind::kNotFound, proc.path(), "/", name, " is not there: is it the machine's /proc?");
  auto parsed = parse(**text);
  if (!parsed) return fail(std::move(parsed).error().within(base::cat(proc.path(), "/", name)));
  return parsed;
}

}  // namespace

// "2.07 1.60 1.27 3/98 31287"
Result<Load> parse_load(std::string_view text) {
  std::string_view one, five, fifteen, tasks, last;
  Words words(without_line_end(text));
  if (words.next(one) && words.next(five) && words.next(fifteen) && words.next(tasks) && words.next(last)) {
    const std::size_t slash = std::min(tasks.find('/'), tasks.size());
    const auto a = parse_centi(one), b = parse_centi(five), c = parse_centi(fifteen);
    const auto running = parse_count(tasks.substr(0, slash));
    const auto threads = parse_count(tasks.substr(std::min(slash + 1, tasks.size())));
    if (a && b && c && running && threads) return Load{*a, *b, *c, *running, *threads};
  }
  return fail(ErrorKind::kInvalid, "three averages and a count of tasks are wanted, found ", base::in_quotes(text));
}

Result<Load> read_load(const Folder& proc, Buffer& buffer) {
  return read_of(proc, "loadavg", buffer, parse_load);
}

Result<std::string> parse_boot_id(std::string_view text) {
  constexpr std::size_t kUuid = 36;
  const std::string_view id = without_line_end(text);
  const bool good = id.size() == kUuid && std::ranges::all_of(id, [](char c) {
                      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
                    });
  if (!good) return fail(ErrorKind::kInvalid, "a UUID is wanted, found ", base::in_quotes(text));
  return std::string(id);
}

Result<std::string> read_boot_id(const Folder& proc, Buffer& buffer) {
  return read_of(proc, "sys/kernel/random/boot_id", buffer, parse_boot_id);
}

}  // namespace tidemark::linux
