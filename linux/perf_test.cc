#include "linux/perf.h"

#include <gtest/gtest.h>

#include <limits>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

TEST(Perf, ValuesOfSharedCountersAreScaled) {
  EXPECT_EQ(scaled_perf_value(100, 50, 50), 100);
  EXPECT_EQ(scaled_perf_value(100, 50, 25), 200);
  EXPECT_EQ(scaled_perf_value(100, 50, 0), 0);
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(scaled_perf_value(kHuge, kHuge, 1), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(scaled_perf_value(std::uint64_t{1} << 40, std::uint64_t{1} << 50, std::uint64_t{1} << 49),
            std::int64_t{1} << 41);
}

TEST(Perf, AProcessorThatNeverGaveACounterShowsInTheSum) {
  PerfCounts sum;
  constexpr std::uint64_t kValues[] = {100, 200}, kNone[] = {0, 0};
  add_perf_reading(sum, 50, 50, kValues);
  add_perf_reading(sum, 0, 0, kNone);  // never ran there
  EXPECT_EQ(sum.enabled_ns, 50);
  EXPECT_EQ(sum.running_ns, 50) << "counted all of the time";
  add_perf_reading(sum, 30, 0, kNone);  // ran, uncounted
  EXPECT_EQ(sum.enabled_ns, 80);
  EXPECT_EQ(sum.running_ns, 50);
  EXPECT_EQ(sum.values[0], 100);
  EXPECT_EQ(sum.values[1], 200);
}

TEST(Perf, NonGroupIsMissingWithReason) {
  testing::Tree tree;
  const Directory folder = std::move(*open_directory(tree.root()).value());
  CpuSet one;
  one.add(0);
  constexpr PerfEvent kEvents[] = {PerfEvent::kTaskClock};
  const auto counters = PerfCounters::open(folder, one, kEvents);
  ASSERT_FALSE(counters);
  EXPECT_TRUE(counters.error().kind == ErrorKind::kUnsupported || counters.error().kind == ErrorKind::kDenied)
      << counters.error().message;
  EXPECT_NE(counters.error().message.find("task-clock"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::linux
