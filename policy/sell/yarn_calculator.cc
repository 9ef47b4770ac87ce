#include "policy/sell/yarn_calculator.h"

#include <algorithm>

namespace tidemark::policy::sell {
namespace {

std::int64_t permille(std::int64_t used, std::int64_t total) {
  using Wide = __int128;
  constexpr Wide kMax = 1'000'000;  // a thousand times the total
  return static_cast<std::int64_t>(std::clamp<Wide>(Wide{used} * 1000 / total, 0, kMax));
}

CpuCounting shown_by(const CalculatorReading& reading) {
  if (reading.total.memory_mib <= 0 || reading.total.vcores <= 0) return CpuCounting::kUnknown;
  const std::int64_t memory = permille(reading.used.memory_mib, reading.total.memory_mib);
  const std::int64_t vcores = permille(reading.used.vcores, reading.total.vcores);
  if (vcores - memory < kSharesDifferPermille) return CpuCounting::kUnknown;
  const std::int64_t near = (vcores - memory) / 4;
  const auto is_near = [&](std::int64_t share) {
    return share - near <= reading.used_share_permille && reading.used_share_permille <= share + near;
  };
  if (is_near(memory)) return CpuCounting::kIgnored;
  return is_near(vcores) ? CpuCounting::kCounted : CpuCounting::kUnknown;
}

}  // namespace

CalculatorState next_calculator(CalculatorState state, const CalculatorReading& reading) {
  const CpuCounting shown = shown_by(reading);
  if (shown == CpuCounting::kUnknown) return state;
  state.in_a_row = shown == state.seen ? std::min(state.in_a_row + 1, kSeenInARow) : 1;
  state.seen = shown;
  if (state.in_a_row >= kSeenInARow) state.verdict = shown;
  return state;
}

}  // namespace tidemark::policy::sell
