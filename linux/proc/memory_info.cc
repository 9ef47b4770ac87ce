#include "linux/proc/memory_info.h"

#include <algorithm>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {

std::optional<std::int64_t> parse_kib_as_bytes(std::string_view rest) {
  constexpr std::int64_t kKib = 1024;
  std::string_view number, unit, extra;
  Words words(rest);
  if (!words.next(number) || !words.next(unit) || unit != "kB" || words.next(extra)) return std::nullopt;
  const auto value = parse_count(number);
  return value ? scaled(*value, kKib) : std::nullopt;
}

std::optional<std::int64_t> MemoryInfo::working_set(Version memory_groups) const {
  if (!anonymous || !buffers || !cached || !inactive_file) return std::nullopt;
  using Wide = __int128;  // four sizes, each of which may be as large as it gets
  Wide usage = Wide{*anonymous} + *buffers + *cached + swap_cached.value_or(0);
  if (memory_groups == Version::kV2) {
    if (!free) return std::nullopt;
    usage = std::max<Wide>(usage, Wide{total} - *free);
  }
  return static_cast<std::int64_t>(std::clamp<Wide>(usage - *inactive_file, 0, total));
}

Result<MemoryInfo> parse_memory_info(std::string_view text) {
  MemoryInfo out;
  std::optional<std::int64_t> total, available, huge_size, huge_count;
  const Field fields[] = {{"MemTotal", &total},
                          {"MemAvailable", &available},
                          {"MemFree", &out.free},
                          {"Buffers", &out.buffers},
                          {"Cached", &out.cached},
                          {"SwapCached", &out.swap_cached},
                          {"Inactive(file)", &out.inactive_file},
                          {"AnonPages", &out.anonymous},
                          {"Dirty", &out.dirty},
                          {"SReclaimable", &out.reclaimable_slab},
                          {"SwapTotal", &out.swap_total},
                          {"SwapFree", &out.swap_free},
                          {"Hugepagesize", &huge_size}};
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      return fail(ErrorKind::kInvalid, "a name, a colon and a size are wanted, found ", base::in_quotes(line));
    const std::string_view name = line.substr(0, colon), rest = line.substr(colon + 1);
    if (name == "HugePages_Total") {  // a count, without a unit
      std::string_view number;
      Words words(rest);
      if (words.next(number)) huge_count = parse_count(number);
    }
    for (const Field& field : fields) {
      if (field.name != name) continue;
      *field.value = parse_kib_as_bytes(rest);
      if (!*field.value) return fail(ErrorKind::kInvalid, "a size in kB is wanted, found ", base::in_quotes(line));
    }
  }
  if (!total || *total == 0)
    return fail(ErrorKind::kInvalid, "a line MemTotal is wanted, found ", base::in_quotes(text));
  if (!available) return fail(ErrorKind::kUnsupported, "there is no MemAvailable: kernels before 3.14 do not count it");
  if (*available > *total)
    return fail(ErrorKind::kInvalid, "more is available (", *available, " bytes) than there is (", *total, ")");
  out.total = *total;
  out.available = *available;
  if (huge_size && huge_count) out.hugepages_total = scaled(*huge_size, *huge_count);
  return out;
}

Result<MemoryInfo> read_memory_info(const Folder& proc, Buffer& buffer) {
  TM_TRY(const auto text, proc.read("meminfo", buffer));
  if (!text) return fail(ErrorKind::kNotFound, proc.path(), "/meminfo is not there: is it the machine's /proc?");
  auto parsed = parse_memory_info(*text);
  if (!parsed) return fail(std::move(parsed).error().within(base::cat(proc.path(), "/meminfo")));
  return parsed;
}

}  // namespace tidemark::linux
