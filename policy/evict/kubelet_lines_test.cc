#include "policy/evict/kubelet_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace tidemark::policy::evict {
namespace {

constexpr EvictionThreshold share(std::int64_t percent) {
  return {0, percent * 1000};
}

protect::NodeRules rules(std::int64_t memory, std::optional<std::int64_t> lower = {},
                         std::optional<std::int64_t> disk = {}, std::optional<std::int64_t> inodes = {}) {
  protect::NodeRules out;
  out.threshold.enable = true;
  out.threshold.memory_evict_percent = memory;
  out.threshold.memory_evict_lower_percent = lower;
  out.word.emplace();
  out.word->evict.disk_free_percent = disk;
  out.word->evict.inodes_free_percent = inodes;
  return out;
}

KubeletFound kubelet() {
  KubeletFound out;
  out.hard.memory_available = share(10);
  out.hard.nodefs_available = share(10);
  out.hard.nodefs_inodes = share(5);
  out.hard.imagefs_available = share(15);
  return out;
}

TEST(KubeletLines, LineBelowTheKubeletsStaysUnchanged) {
  protect::NodeRules said = rules(89, 80, 16, 6);
  const auto got = under_kubelet(said, kubelet(), {});
  said.threshold.memory_before_kubelet_percent = said.threshold.pods_before_kubelet_percent = 89;
  said.word->evict.disk_kubelet_next_percent = {16, 16};
  said.word->evict.inodes_kubelet_next_percent = {6, std::nullopt};
  EXPECT_EQ(got.rules, said) << "and where the kubelet is next";
  EXPECT_TRUE(got.moved.empty());
}

// We count recently read files as available, the kubelet does not: its count has its own line before its threshold.
TEST(KubeletLines, MemoryAsTheKubeletCountsHasItsOwnLine) {
  EXPECT_EQ(under_kubelet(rules(70), kubelet(), {}).rules.threshold.memory_before_kubelet_percent, 85);
  EXPECT_EQ(under_kubelet(rules(95), kubelet(), {}).rules.threshold.memory_before_kubelet_percent, 85);
  EXPECT_EQ(under_kubelet(rules(70), {}, {}).rules.threshold.memory_before_kubelet_percent, std::nullopt);
}

// Contract of the kubelet (addAllocatableThresholds): only hard thresholds apply to what all pods have left.
TEST(KubeletLines, PodLimitUsesOnlyTheHardThreshold) {
  constexpr std::int64_t kMiB = 1 << 20;
  const LineCapacities capacities{.memory = model::MemoryBytes{100'000 * kMiB}};
  KubeletFound found;
  found.hard.memory_available = EvictionThreshold{100 * kMiB, 0};
  found.soft.memory_available = EvictionThreshold{0, 10'000, true};
  const protect::ThresholdRules both = under_kubelet(rules(95), found, capacities).rules.threshold;
  EXPECT_EQ(both.memory_before_kubelet_percent, 85) << "the soft one, of the node";
  EXPECT_EQ(both.kubelet_next_bytes, 12'000 * kMiB);
  EXPECT_EQ(both.pods_before_kubelet_percent, 94);
  EXPECT_EQ(both.pods_kubelet_next_bytes, 612 * kMiB);
  found.hard.memory_available.reset();
  const protect::ThresholdRules soft = under_kubelet(rules(95), found, capacities).rules.threshold;
  EXPECT_EQ(soft.memory_before_kubelet_percent, 85);
  EXPECT_EQ(soft.pods_before_kubelet_percent, std::nullopt) << "what is left to pods is passed over";
  EXPECT_EQ(soft.pods_kubelet_next_bytes, std::nullopt);
}

TEST(KubeletLines, KubeletIsNextRightBeforeItsThreshold) {
  const auto next = [](std::int64_t line) {
    return under_kubelet(rules(70, {}, line), kubelet(), {}).rules.word->evict.disk_kubelet_next_percent[0];
  };
  EXPECT_EQ(next(40), 17) << "15 % and a little";
  EXPECT_EQ(next(16), 16) << "no sooner than our line";
  EXPECT_EQ(next(5), 17) << "a line that was moved";
  const protect::NodeRules untold = under_kubelet(rules(70, {}, 40), {}, {}).rules;
  EXPECT_EQ(untold.threshold.kubelet_next_bytes, std::nullopt);
  EXPECT_EQ(untold.word->evict.disk_kubelet_next_percent[0], std::nullopt);
}

// A whole percent of a large node is far more than a kubelet's threshold; no task is evicted beyond a grant for that.
TEST(KubeletLines, KubeletIsNextByAvailableMemory) {
  constexpr std::int64_t kMiB = 1 << 20, kGiB = 1 << 30;
  const auto next = [](const EvictionThreshold& threshold, std::int64_t capacity) {
    KubeletFound found;
    found.hard.memory_available = threshold;
    return under_kubelet(rules(70), found, {.memory = model::MemoryBytes{capacity}}).rules.threshold.kubelet_next_bytes;
  };
  EXPECT_EQ(next({100 * kMiB, 0}, 256 * kGiB), 612 * kMiB) << "512 MiB before it, and not 2 % of 256 GiB";
  EXPECT_EQ(next({100 * kMiB, 0}, 10'000 * kMiB), 300 * kMiB) << "2 %";
  EXPECT_EQ(next({2 * kGiB, 0}, 256 * kGiB), 4 * kGiB) << "as much again as the threshold";
  EXPECT_EQ(next(share(10), 100 * kGiB), 12 * kGiB);
  EXPECT_EQ(next({4 * kGiB, 0}, kGiB), kGiB) << "at most the capacity";
  EXPECT_EQ(next(share(10), 0), std::nullopt) << "the capacity is unknown";
}

TEST(KubeletLines, LargerOfHardAndSoftCounts) {
  KubeletFound found = kubelet();
  found.soft.memory_available = EvictionThreshold{0, 20'000, true};
  found.soft.nodefs_inodes = EvictionThreshold{0, 2'000, true};
  EXPECT_EQ(under_kubelet(rules(85, {}, {}, 4), found, {}).moved,
            (std::vector<LineBeforeKubelet>{{EvictLine::kMemory, 85, 80, 75}, {EvictLine::kInodesFree, 4, 5, 10}}));
}

TEST(KubeletLines, LateLineIsMovedBeforeTheKubelets) {
  const auto got = under_kubelet(rules(95, 88, 15, 5), kubelet(), {});
  EXPECT_EQ(got.moved, (std::vector<LineBeforeKubelet>{{EvictLine::kMemory, 95, 90, 85},
                                                       {EvictLine::kDiskFree, 15, 15, 20},
                                                       {EvictLine::kInodesFree, 5, 5, 10}}));
  EXPECT_EQ(got.rules.threshold.memory_evict_percent, 85);
  EXPECT_EQ(got.rules.threshold.memory_evict_lower_percent, std::nullopt) << "88 is not lower than 85";
  EXPECT_EQ(got.rules.word->evict.disk_free_percent, 20);
  EXPECT_EQ(got.rules.word->evict.inodes_free_percent, 10);
  EXPECT_EQ(under_kubelet(rules(95, 60), kubelet(), {}).rules.threshold.memory_evict_lower_percent, 60);
  EXPECT_EQ(under_kubelet(got.rules, kubelet(), {}).rules, got.rules) << "a second call moves nothing";
}

TEST(KubeletLines, AmountsBecomeSharesOfTheCapacity) {
  KubeletFound found;
  found.hard.memory_available = EvictionThreshold{100 << 20, 0};
  const auto moved = [&](std::int64_t line, std::int64_t capacity) {
    return under_kubelet(rules(line), found, {.memory = model::MemoryBytes{capacity}}).moved;
  };
  EXPECT_EQ(moved(99, 1000 << 20), (std::vector<LineBeforeKubelet>{{EvictLine::kMemory, 99, 90, 85}}));
  EXPECT_EQ(moved(98, std::int64_t{100'000} << 20), std::vector<LineBeforeKubelet>{}) << "a thousandth, and up to 99 %";
  EXPECT_EQ(moved(99, 0), std::vector<LineBeforeKubelet>{}) << "the capacity is unknown";
}

TEST(KubeletLines, RuntimeDiskUsesItsOwnSize) {
  KubeletFound found;
  found.hard.imagefs_available = EvictionThreshold{10, 0};
  LineCapacities capacities{.bytes = {1000, 100}, .one_disk = false};
  EXPECT_EQ(under_kubelet(rules(70, {}, 5), found, capacities).rules.word->evict.disk_free_percent, 15);
  capacities.one_disk = true;
  EXPECT_EQ(under_kubelet(rules(70, {}, 5), found, capacities).rules.word->evict.disk_free_percent, 5);
}

TEST(KubeletLines, EachDiskIsNextByItsOwnThreshold) {
  using Next = model::ByDisk<std::optional<std::int64_t>>;
  const auto next = [](const KubeletFound& found) {
    const LineCapacities two{.one_disk = false};
    return under_kubelet(rules(70, {}, 40), found, two).rules.word->evict.disk_kubelet_next_percent;
  };
  KubeletFound found = kubelet();
  EXPECT_EQ(next(found), (Next{12, 17})) << "10 % of its own, 15 % of the runtime's";
  found.hard.nodefs_available.reset();
  EXPECT_EQ(next(found), (Next{std::nullopt, 17})) << "it does not evict for its own disk";
}

TEST(KubeletLines, UnsetLineStaysUnset) {
  protect::NodeRules off = rules(99, {}, 1, 1);
  off.threshold.enable = false;
  EXPECT_EQ(under_kubelet(off, kubelet(), {}).rules, off);
  protect::NodeRules peers = rules(70);
  peers.word.reset();
  // As the kubelet counts, before its own.
  peers.threshold.memory_before_kubelet_percent = peers.threshold.pods_before_kubelet_percent = 85;
  EXPECT_EQ(under_kubelet(peers, kubelet(), {}).rules, peers);
}

// For any settings: our line comes first if there is room, and is never later than it was set.
TEST(KubeletLines, Property) {
  std::mt19937_64 random(11);
  const auto any = [&]() -> std::optional<EvictionThreshold> {
    if (random() % 4 == 0) return std::nullopt;
    if (random() % 2 == 0) return EvictionThreshold{static_cast<std::int64_t>(random() >> (1 + random() % 62)), 0};
    return EvictionThreshold{0, 1 + static_cast<std::int64_t>(random() % 99'999)};
  };
  for (int round = 0; round < 5000; ++round) {
    KubeletFound found;
    found.hard.memory_available = any();
    found.hard.nodefs_available = any();
    const model::MemoryBytes memory{static_cast<std::int64_t>(random() >> (1 + random() % 62))};
    const LineCapacities capacities{.memory = memory, .bytes = {memory.value, 0}};
    const protect::NodeRules said = rules(static_cast<std::int64_t>(random() % 101), {}, random() % 91);
    const auto got = under_kubelet(said, found, capacities);
    ASSERT_LE(got.rules.threshold.memory_evict_percent, std::max<std::int64_t>(said.threshold.memory_evict_percent, 1));
    ASSERT_GE(got.rules.word->evict.disk_free_percent, said.word->evict.disk_free_percent);
    ASSERT_LE(got.rules.word->evict.disk_free_percent, model::kDiskFreeMax_percent);
    ASSERT_EQ(under_kubelet(got.rules, found, capacities).rules, got.rules);
    for (const LineBeforeKubelet& each : got.moved) {
      if (each.line == EvictLine::kMemory && each.kubelet > kRoomPercent) ASSERT_LT(each.holds, each.kubelet);
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::evict
