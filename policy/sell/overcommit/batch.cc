#include "policy/sell/overcommit/batch.h"

#include <limits>

namespace tidemark::policy::sell {
namespace {

constexpr std::int64_t kMilliPerByte = 1000;

std::int64_t held(double product) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (product >= kTwoTo63) return std::numeric_limits<std::int64_t>::max();
  if (product < -kTwoTo63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(product);
}

}  // namespace

std::int64_t times(std::int64_t value, double factor) {
  return held(static_cast<double>(value) * factor);
}

std::int64_t percent_of(std::int64_t value, std::int64_t percent) {
  return times(value, static_cast<double>(percent) / 100);
}

model::MemoryMilli share(model::MemoryMilli memory, std::int64_t percent) {
  const std::int64_t up = memory.value % kMilliPerByte > 0 ? 1 : 0;
  std::int64_t milli = 0;
  const std::int64_t bytes = percent_of(memory.value / kMilliPerByte + up, percent);
  if (!__builtin_mul_overflow(bytes, kMilliPerByte, &milli)) return {milli};
  return {bytes < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max()};
}

}  // namespace tidemark::policy::sell
