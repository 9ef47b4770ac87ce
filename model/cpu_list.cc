#include "model/cpu_list.h"

#include <algorithm>

#include "base/text.h"
#include "model/annotations.h"

namespace tidemark::model {
namespace {

Result<std::int32_t> number(std::string_view text) {
  const auto cpu = base::parse_int(base::trim(text));
  if (!cpu || *cpu < 0 || *cpu >= kCpuListMax) {
    return fail(ErrorKind::kInvalid, "wanted CPU numbers in 0..", kCpuListMax - 1, ", found ", base::in_quotes(text));
  }
  return static_cast<std::int32_t>(*cpu);
}

}  // namespace

Result<std::vector<std::int32_t>> parse_cpus(std::string_view list) {
  std::vector<bool> seen;
  for (const std::string_view piece : base::split(list, ',')) {
    const auto dash = piece.find('-');
    TM_TRY(const std::int32_t first, number(piece.substr(0, dash)));
    TM_TRY(const std::int32_t last, number(dash == std::string_view::npos ? piece : piece.substr(dash + 1)));
    if (last < first) return fail(ErrorKind::kInvalid, "the range ", base::in_quotes(piece), " runs backwards");
    if (static_cast<std::size_t>(last) >= seen.size()) seen.resize(static_cast<std::size_t>(last) + 1);
    std::fill(seen.begin() + first, seen.begin() + last + 1, true);
  }
  std::vector<std::int32_t> cpus;
  for (std::size_t cpu = 0; cpu < seen.size(); ++cpu) {
    if (seen[cpu]) cpus.push_back(static_cast<std::int32_t>(cpu));
  }
  return cpus;
}

}  // namespace tidemark::model
