#include "model/resources.h"

#include <gtest/gtest.h>

#include <limits>

namespace tidemark::model {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

TEST(Resources, ArithmeticHoldsAtTheEnds) {
  const std::int64_t ends[] = {kMin, kMin + 1, -2, -1, 0, 1, 2, kMax - 1, kMax};
  for (const auto a : ends) {
    for (const auto b : ends) {
      const auto wide_sum = static_cast<long double>(a) + static_cast<long double>(b);
      const auto wide_difference = static_cast<long double>(a) - static_cast<long double>(b);
      const auto held = [](long double v) {
        return v > static_cast<long double>(kMax)   ? kMax
               : v < static_cast<long double>(kMin) ? kMin
                                                    : static_cast<std::int64_t>(v);
      };
      EXPECT_EQ((CpuMilli{a} + CpuMilli{b}).value, held(wide_sum)) << a << " + " << b;
      EXPECT_EQ((CpuMilli{a} - CpuMilli{b}).value, held(wide_difference)) << a << " - " << b;
    }
  }
}

TEST(Resources, QuantitiesAreRoundedUpToTheUnit) {
  EXPECT_EQ(cpu_milli(*Quantity::parse("1.0001")), CpuMilli{1001});
  EXPECT_EQ(cpu_milli(*Quantity::parse("1n")), CpuMilli{1});
  EXPECT_EQ(memory_bytes(*Quantity::parse("1500m")), MemoryBytes{2});
  EXPECT_EQ(memory_bytes(*Quantity::parse("10Gi")), MemoryBytes{10737418240});
  EXPECT_EQ(memory_bytes(*Quantity::parse("100E")), MemoryBytes::max_value());
  EXPECT_EQ(cpu_milli_from_extended(*Quantity::parse("12k")), CpuMilli{12000});
}

TEST(Resources, EachOfTheTwoIsHandledByItself) {
  const Resources a{{5}, {20}};
  const Resources b{{7}, {10}};
  EXPECT_EQ(max(a, b), (Resources{{7}, {20}}));
  EXPECT_EQ(min(a, b), (Resources{{5}, {10}}));
  EXPECT_EQ(a - b, (Resources{{-2}, {10}}));
}

}  // namespace
}  // namespace tidemark::model
