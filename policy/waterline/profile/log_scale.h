// An amount as one byte, on a scale of twelve steps an octave:
//
//    code 0      nothing
//    code c > 0  ceil(unit × 2^((c − 1) / 12)); a code stands for the encoded amount or up to 6 % more, never for less
//
// The unit is a milli-core for CPU (up to 2,359 cores) and a MiB for memory (up to 2.2 TiB); more counts as the end of
// the scale. Integers only: the same codes on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "model/resources.h"

namespace tidemark::policy::waterline {

using LogCode = std::uint8_t;
inline constexpr std::size_t kLogCodes = 256;
inline constexpr std::int64_t kMemoryUnit_bytes = std::int64_t{1} << 20;

namespace detail {

inline constexpr std::size_t kStepsAnOctave = 12;
// 2^(i / 12) × 2^30, rounded up.
inline constexpr std::array<std::uint64_t, kStepsAnOctave> kSteps{1073741824, 1137589836, 1205234448, 1276901417,
                                                                  1352829927, 1433273381, 1518500250, 1608794974,
                                                                  1704458901, 1805811302, 1913190429, 2026954653};

constexpr std::array<std::int64_t, kLogCodes> log_values() {
  std::array<std::int64_t, kLogCodes> values{};
  for (std::size_t code = 1; code < kLogCodes; ++code) {
    const std::size_t octave = (code - 1) / kStepsAnOctave;
    const std::uint64_t scaled = kSteps[(code - 1) % kStepsAnOctave] << octave;
    values[code] = static_cast<std::int64_t>((scaled + (std::uint64_t{1} << 30) - 1) >> 30);
  }
  return values;
}
inline constexpr std::array<std::int64_t, kLogCodes> kLogValues = log_values();

}  // namespace detail

constexpr std::int64_t log_value(LogCode code) {
  return detail::kLogValues[code];
}

// The smallest code that stands for `units` or more. 0 or less is code 0.
constexpr LogCode log_code(std::int64_t units) {
  const auto at = std::lower_bound(detail::kLogValues.begin(), detail::kLogValues.end(), units);
  if (units <= 0) return 0;
  if (at == detail::kLogValues.end()) return kLogCodes - 1;
  return static_cast<LogCode>(at - detail::kLogValues.begin());
}

constexpr LogCode cpu_code(model::CpuMilli cpu) {
  return log_code(cpu.value);
}
constexpr LogCode memory_code(model::MemoryBytes memory) {
  if (memory.value <= 0) return 0;
  return log_code((memory.value - 1) / kMemoryUnit_bytes + 1);
}
constexpr model::CpuMilli cpu_of(LogCode code) {
  return {log_value(code)};
}
constexpr model::MemoryBytes memory_of(LogCode code) {
  return {log_value(code) * kMemoryUnit_bytes};
}

}  // namespace tidemark::policy::waterline
