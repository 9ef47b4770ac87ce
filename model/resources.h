// Amounts for calculations. Arithmetic saturates at the ends of int64 and never overflows: a wild input gives a wild
// but defined number, which the formulas then clamp. Values may be negative between two steps of a formula.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "model/quantity.h"

namespace tidemark::model {

template <class Unit>
struct Amount {
  std::int64_t value = 0;

  static constexpr Amount max_value() { return {std::numeric_limits<std::int64_t>::max()}; }

  auto operator<=>(const Amount&) const = default;

  friend constexpr Amount operator+(Amount a, Amount b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.value, b.value, &sum)) return {sum};
    return {a.value > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min()};
  }
  friend constexpr Amount operator-(Amount a, Amount b) {
    std::int64_t difference = 0;
    if (!__builtin_sub_overflow(a.value, b.value, &difference)) return {difference};
    return {b.value < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min()};
  }
  constexpr Amount& operator+=(Amount other) { return *this = *this + other; }
  constexpr Amount& operator-=(Amount other) { return *this = *this - other; }
};

using CpuMilli = Amount<struct CpuMilliUnit>;        // thousandths of a core
using MemoryBytes = Amount<struct MemoryBytesUnit>;  // bytes

// Rounded up to the unit, saturated at the ends of int64.
inline CpuMilli cpu_milli(const Quantity& cpu) {
  return {cpu.scaled_value_saturated(-3)};
}
inline MemoryBytes memory_bytes(const Quantity& memory) {
  return {memory.scaled_value_saturated(0)};
}
// batch-cpu and mid-cpu are written as a plain number of milli-cores ("4000" is four cores).
inline CpuMilli cpu_milli_from_extended(const Quantity& batch_cpu) {
  return {batch_cpu.scaled_value_saturated(0)};
}

// CPU and memory; every operation works on each separately.
struct Resources {
  CpuMilli cpu;
  MemoryBytes memory;

  bool operator==(const Resources&) const = default;
  friend constexpr Resources operator+(Resources a, Resources b) { return {a.cpu + b.cpu, a.memory + b.memory}; }
  friend constexpr Resources operator-(Resources a, Resources b) { return {a.cpu - b.cpu, a.memory - b.memory}; }
  constexpr Resources& operator+=(Resources other) { return *this = *this + other; }
  constexpr Resources& operator-=(Resources other) { return *this = *this - other; }
};

constexpr Resources max(Resources a, Resources b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}
constexpr Resources min(Resources a, Resources b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

}  // namespace tidemark::model
