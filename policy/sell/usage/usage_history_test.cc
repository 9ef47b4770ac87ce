#include "policy/sell/usage/usage_history.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/sell/usage/report.h"

namespace tidemark::policy::sell {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kUsageHistoryMi = std::int64_t{1} << 20;

UsageReading reading(base::Duration time, std::int64_t cpu_milli, std::int64_t memory_mi) {
  return {{time},
          cpu_milli * 1000,
          {memory_mi * kUsageHistoryMi, (memory_mi + 100) * kUsageHistoryMi, (memory_mi + 1000) * kUsageHistoryMi}};
}

NodeReadings pass(base::Duration time, const UsageReading& node, const std::vector<NamedReading>& pods = {},
                  const std::vector<NumaReading>& zones = {}, const UsageReading& system = {}) {
  return {{time}, node, system, pods, {}, zones};
}

TEST(UsageHistory, UnmeasuredValuesAreMissing) {
  UsageHistory history{CollectInForce()};
  UsageReading young = reading(seconds(1), 0, 1'000);
  young.cpu_micro.reset();
  history.observe(pass(seconds(1), reading(seconds(1), 10'000, 8'000), {{"a", young}}));
  EXPECT_FALSE(history.pod("a")->told.average({seconds(1)}, minutes(5)));
  EXPECT_EQ(history.system_part().size(), 0U) << "not measured";
  EXPECT_TRUE(history.node().told.average({seconds(1)}, minutes(5)));
}

TEST(UsageHistory, ZonesAreInOrderWithTheirSystemPart) {
  UsageHistory history{CollectInForce()};
  history.observe(pass(
      seconds(1), reading(seconds(1), 10'000, 1'000), {},
      {{1, reading(seconds(1), 2'500, 100), reading(seconds(1), 1'500, 50)}, {0, reading(seconds(1), 7'500, 300), {}}},
      reading(seconds(1), 6'000, 600)));
  EXPECT_EQ(history.system_part().last({seconds(1)}, minutes(5)), (UsageFigures{6'000'000, 600 * kUsageHistoryMi}));
  ASSERT_EQ(history.numa_nodes().size(), 2U);
  EXPECT_EQ(history.numa_nodes()[0].numa_node_id, 0);
  EXPECT_EQ(history.numa_nodes()[0].node.last({seconds(1)}, minutes(5)),
            (UsageFigures{7'500'000, 300 * kUsageHistoryMi}));
  EXPECT_EQ(history.numa_nodes()[0].system.size(), 0U);
  EXPECT_EQ(history.numa_nodes()[1].system.last({seconds(1)}, minutes(5)),
            (UsageFigures{1'500'000, 50 * kUsageHistoryMi}));
}

TEST(UsageHistory, ForgetsTasksThatAreGoneForAWindow) {
  UsageHistory history{CollectInForce()};
  history.observe(pass(seconds(0), reading(seconds(0), 1, 1), {{"a", reading(seconds(0), 1, 1)}}));
  history.observe(pass(seconds(300), reading(seconds(300), 1, 1)));
  EXPECT_NE(history.pod("a"), nullptr);
  history.observe(pass(seconds(301), reading(seconds(301), 1, 1)));
  EXPECT_EQ(history.pod("a"), nullptr);
  EXPECT_EQ(history.pod("b"), nullptr);
}

TEST(UsageHistory, ThereIsRoomForSoManyAndTheRestIsCounted) {
  UsageHistory history{CollectInForce()};
  std::vector<std::string> uids;
  uids.reserve(kUsagePodsMax + 3);
  for (std::size_t i = 0; i < kUsagePodsMax + 3; ++i) uids.push_back("pod-" + std::to_string(i));
  std::vector<NamedReading> pods;
  pods.reserve(uids.size());
  for (const auto& uid : uids) pods.push_back({uid, reading(seconds(1), 1, 1)});
  history.observe(pass(seconds(1), reading(seconds(1), 1, 1), pods));
  EXPECT_EQ(history.refused(), 3U);
  EXPECT_NE(history.pod("pod-0"), nullptr);
  EXPECT_EQ(history.pod(uids.back()), nullptr);
}

// What the design allows an agent of 50 pods is 16 MiB altogether.
TEST(UsageHistory, FiftyPodsTakeLessThanHalfAMegabyte) {
  UsageHistory history{CollectInForce()};
  std::vector<std::string> uids;
  uids.reserve(50);
  for (int i = 0; i < 50; ++i) uids.push_back("0e1c9f6e-0000-4000-8000-0000000000" + std::to_string(10 + i));
  for (int second = 0; second < 2'000; ++second) {
    std::vector<NamedReading> pods;
    pods.reserve(uids.size());
    for (const auto& uid : uids) pods.push_back({uid, reading(seconds(second), 100, 100)});
    history.observe(pass(seconds(second), reading(seconds(second), 8'000, 8'000), pods,
                         {{0, reading(seconds(second), 1, 1), reading(seconds(second), 1, 1)},
                          {1, reading(seconds(second), 1, 1), reading(seconds(second), 1, 1)}},
                         reading(seconds(second), 1, 1)));
  }
  EXPECT_LT(history.bytes(), 512U * 1024) << history.bytes();
  EXPECT_GT(history.bytes(), 50U * 300 * 16);
}

// nodeMemoryCollectPolicy: usageWithoutPageCache, usageWithHotPageCache, usageWithPageCache.
TEST(UsageHistory, MemoryIsOfTheKindAskedFor) {
  struct Case {
    MemoryCollect kind;
    std::int64_t told_mi;
  };
  for (const Case& each : {Case{MemoryCollect::kWithoutPageCache, 400}, Case{MemoryCollect::kWithHotPageCache, 500},
                           Case{MemoryCollect::kWithPageCache, 1400}}) {
    CollectInForce collect;
    collect.memory = each.kind;
    UsageHistory history{collect};
    history.observe(pass(seconds(1), reading(seconds(1), 2'000, 2'000), {{"a", reading(seconds(1), 1'000, 400)}}, {},
                         reading(seconds(1), 1'000, 1'600)));
    EXPECT_EQ(history.pod("a")->told.last({seconds(1)}, minutes(5))->memory_bytes, each.told_mi * kUsageHistoryMi);
    EXPECT_EQ(history.system_part().last({seconds(1)}, minutes(5))->memory_bytes,
              (each.told_mi + 1'200) * kUsageHistoryMi);
    WindowScratch scratch;
    EXPECT_EQ(UsageHistory::training_sample(*history.pod("a"), {seconds(1)}, scratch)->memory_bytes,
              400 * kUsageHistoryMi)
        << "predictions are always without page cache";
  }
}

TEST(UsageHistory, AnotherKindOfMemoryIsLearnedAnew) {
  UsageHistory history{CollectInForce()};
  for (int i = 0; i < 300; ++i) {
    history.observe(pass(seconds(i), reading(seconds(i), 1'000, 400), {{"a", reading(seconds(i), 100, 40)}}));
  }
  CollectInForce other;
  other.memory = MemoryCollect::kWithPageCache;
  other.aggregate = minutes(10);
  history.set_collect(other);
  EXPECT_FALSE(history.node().told.average({seconds(299)}, minutes(5))) << "nothing is told of another kind";
  WindowScratch scratch;
  EXPECT_FALSE(UsageHistory::training_sample(history.node(), {seconds(299)}, scratch));
  history.observe(pass(seconds(300), reading(seconds(300), 1'000, 400), {{"a", reading(seconds(300), 100, 40)}}));
  EXPECT_EQ(history.node().told.average({seconds(300)}, minutes(10)),
            (UsageFigures{1'000'000, 1'400 * kUsageHistoryMi}))
      << "CPU of 301 samples, memory of one";
  EXPECT_EQ(history.pod("a")->told.average({seconds(300)}, minutes(10)),
            (UsageFigures{100'000, 1'040 * kUsageHistoryMi}));
  history.set_collect(CollectInForce());
  EXPECT_FALSE(history.node().plain);
}

// Contract 7.13: the P90 of each metric over the last minute.
TEST(UsageHistory, TrainingTakesTheNinetiethOfAMinute) {
  UsageHistory history{CollectInForce()};
  // 0 … 99; the last minute holds 39 … 99, 61 of them: floor(61 × 0.9) − 1 = 53, the 54th from below is 92.
  for (std::int64_t i = 0; i < 100; ++i) history.observe(pass(seconds(i), reading(seconds(i), i, 10 * i)));
  WindowScratch scratch;
  EXPECT_EQ(UsageHistory::training_sample(history.node(), {seconds(99)}, scratch),
            (UsageFigures{92'000, 920 * kUsageHistoryMi}));
}

}  // namespace
}  // namespace tidemark::policy::sell
