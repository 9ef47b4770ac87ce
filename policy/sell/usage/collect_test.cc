#include "policy/sell/usage/collect.h"

#include <gtest/gtest.h>

#include <limits>

namespace tidemark::policy::sell {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Contract 3.1: default spec 300 s, 60 s, durations 5m/10m/30m, usageWithoutPageCache.
TEST(CollectInForce, NothingAskedIsTheDefault) {
  const auto out = collect_in_force({}, false);
  EXPECT_EQ(out, CollectInForce());
  EXPECT_EQ(out.aggregate, seconds(300));
  EXPECT_EQ(out.report_interval, seconds(60));
  EXPECT_EQ(out.durations, (std::vector<base::Duration>{minutes(5), minutes(10), minutes(30)}));
  EXPECT_EQ(out.memory, MemoryCollect::kWithoutPageCache);
  EXPECT_EQ(out.node_window(), minutes(30));
}

// Contract 7.14: interval max(reportIntervalSeconds, 30), window max(aggregateDurationSeconds, 60).
TEST(CollectInForce, HasLeastValuesAndMostValues) {
  auto out = collect_in_force({1, 1, {}, ""}, false);
  EXPECT_EQ(out.aggregate, seconds(60));
  EXPECT_EQ(out.report_interval, seconds(30));
  EXPECT_FALSE(out.aggregate_cut);
  out = collect_in_force({1800, 86'400, {}, ""}, false);
  EXPECT_EQ(out.aggregate, minutes(30));
  EXPECT_EQ(out.report_interval, hours(24));
  EXPECT_FALSE(out.aggregate_cut);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  out = collect_in_force({kMost, kMost, {}, ""}, false);
  EXPECT_EQ(out.aggregate, kAggregateMax);
  EXPECT_TRUE(out.aggregate_cut);
  EXPECT_EQ(out.report_interval, kReportIntervalMax);
  out = collect_in_force({kLeast, kLeast, {}, ""}, false);
  EXPECT_EQ(out.aggregate, kAggregateMin);
  EXPECT_EQ(out.report_interval, kReportIntervalMin);
}

TEST(CollectInForce, DurationsKeepTheirOrderAndAreBounded) {
  auto out = collect_in_force({{}, {}, {hours(3), minutes(5), hours(1)}, ""}, false);
  EXPECT_EQ(out.durations, (std::vector<base::Duration>{hours(3), minutes(5), hours(1)}));
  EXPECT_EQ(out.durations_not_whole, 1U);
  EXPECT_EQ(out.node_window(), hours(2));
  out = collect_in_force({{}, {}, std::vector<base::Duration>(40, minutes(1)), ""}, false);
  EXPECT_EQ(out.durations.size(), kDurationsMax);
  EXPECT_EQ(out.durations_left_out, 24U);
  EXPECT_EQ(out.node_window(), minutes(5)) << "the aggregate window is longer";
}

TEST(CollectInForce, MemoryIsWhatTheKernelCanTell) {
  EXPECT_EQ(collect_in_force({{}, {}, {}, "usageWithPageCache"}, false).memory, MemoryCollect::kWithPageCache);
  EXPECT_EQ(collect_in_force({{}, {}, {}, "usageWithHotPageCache"}, true).memory, MemoryCollect::kWithHotPageCache);
  auto out = collect_in_force({{}, {}, {}, "usageWithHotPageCache"}, false);
  EXPECT_EQ(out.memory, MemoryCollect::kWithoutPageCache);
  EXPECT_TRUE(out.memory_not_as_asked);
  out = collect_in_force({{}, {}, {}, "usageWithEverything"}, true);
  EXPECT_EQ(out.memory, MemoryCollect::kWithoutPageCache);
  EXPECT_TRUE(out.memory_not_as_asked);
  EXPECT_FALSE(collect_in_force({{}, {}, {}, "usageWithoutPageCache"}, false).memory_not_as_asked);
}

}  // namespace
}  // namespace tidemark::policy::sell
