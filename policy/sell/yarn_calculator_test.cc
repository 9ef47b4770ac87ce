#include "policy/sell/yarn_calculator.h"

#include <gtest/gtest.h>

#include <limits>

namespace tidemark::policy::sell {
namespace {

CpuCounting after(std::int64_t share_permille, YarnAmount used, YarnAmount total, int times = kSeenInARow,
                  CalculatorState state = {}) {
  for (int i = 0; i < times; ++i) state = next_calculator(state, {share_permille, used, total});
  return state.verdict;
}

// Both as measured on a real ResourceManager 3.4.3 with a node of 4096 MiB and 2 vcores.
TEST(YarnCalculator, UsedShareOfTheRootQueueShowsTheCalculator) {
  EXPECT_EQ(after(375, {1536, 3}, {4096, 2}), CpuCounting::kIgnored);
  EXPECT_EQ(after(1000, {1024, 2}, {4096, 2}), CpuCounting::kCounted);
}

TEST(YarnCalculator, ShowsNothingWhileMemoryIsTheLargerShare) {
  EXPECT_EQ(after(500, {2048, 2}, {4096, 4}), CpuCounting::kUnknown);
  EXPECT_EQ(after(800, {3277, 1}, {4096, 4}), CpuCounting::kUnknown);
  EXPECT_EQ(after(0, {0, 0}, {4096, 4}), CpuCounting::kUnknown);
  EXPECT_EQ(after(0, {100, 3}, {0, 0}), CpuCounting::kUnknown) << "a cluster whose totals are 0";
}

TEST(YarnCalculator, NeedsSeveralReadingsInARow) {
  EXPECT_EQ(after(375, {1536, 3}, {4096, 2}, kSeenInARow - 1), CpuCounting::kUnknown);
  CalculatorState ignored{CpuCounting::kIgnored, CpuCounting::kIgnored, kSeenInARow};
  EXPECT_EQ(after(1000, {1024, 2}, {4096, 2}, 1, ignored), CpuCounting::kIgnored);
  EXPECT_EQ(after(1000, {1024, 2}, {4096, 2}, kSeenInARow, ignored), CpuCounting::kCounted) << "the file was changed";
  EXPECT_EQ(after(0, {0, 0}, {4096, 4}, 10, ignored), CpuCounting::kIgnored) << "a verdict stays without evidence";
}

TEST(YarnCalculator, AShareBetweenTheTwoShowsNothing) {
  EXPECT_EQ(after(700, {1024, 4}, {4096, 4}), CpuCounting::kUnknown) << "the answers are of different moments";
}

TEST(YarnCalculator, IsTotal) {
  constexpr std::int64_t kBig = std::numeric_limits<std::int64_t>::max();
  constexpr std::int32_t kMany = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t share : {-kBig, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1000}, kBig}) {
    for (const std::int64_t memory : {-kBig, std::int64_t{0}, std::int64_t{1}, kBig}) {
      after(share, {memory, kMany}, {1, 1});
      after(share, {memory, -kMany}, {kBig, kMany});
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
