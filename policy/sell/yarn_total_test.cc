#include "policy/sell/yarn_total.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/random.h"

namespace tidemark::policy::sell {
namespace {

using model::Reason;
using model::Resources;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

YarnNode of(Resources origin, Resources pods = {}) {
  YarnNode node;
  node.origin = origin;
  node.pods = pods;
  return node;
}

// Copilot contract 5: the table of five amounts, both columns.
TEST(YarnTotalTest, TheTableOfTheContract) {
  struct Row {
    std::int64_t cpu, memory, peer_vcores, peer_mb, vcores, mib;
  };
  for (const Row& row :
       {Row{7000, 10 * kGiB, 7, 10738, 7, 10240}, Row{7001, 10 * kGiB, 8, 10738, 7, 10240}, Row{500, 1, 1, 1, 0, 0},
        Row{0, 0, 0, 0, 0, 0}, Row{12345, 60344290509, 13, 60345, 12, 57548}}) {
    const Resources origin{{row.cpu}, {row.memory}};
    const YarnTotal peer = yarn_total(of(origin), {.rounding = YarnRounding::kPeer});
    EXPECT_EQ(peer.vcores, row.peer_vcores);
    EXPECT_EQ(peer.memory_mib, row.peer_mb);
    EXPECT_EQ(peer.reason, Reason::kYarnPeer);
    const YarnTotal exact = yarn_total(of(origin), {});
    EXPECT_EQ(exact.vcores, row.vcores);
    EXPECT_EQ(exact.memory_mib, row.mib);
    EXPECT_EQ(exact.reason, Reason::kYarnShared);
  }
}

// Of 3.5 cores and 3 GiB with a pod of one core and one GiB the peer gives YARN 4 vcores and 3222 MB.
TEST(YarnTotalTest, DoesNotSellCapacityHeldByPods) {
  const YarnNode node = of({{3500}, {3 * kGiB}}, {{1000}, {kGiB}});
  const YarnTotal exact = yarn_total(node, {});
  EXPECT_EQ(exact.vcores, 2);
  EXPECT_EQ(exact.memory_mib, 2048);
  EXPECT_EQ(exact.batch, (Resources{{2500}, {2 * kGiB}}));
  const YarnTotal peer = yarn_total(node, {.rounding = YarnRounding::kPeer});
  EXPECT_EQ(peer.vcores, 4);
  EXPECT_EQ(peer.memory_mib, 3222);
}

// For a scheduler that counts only memory.
TEST(YarnTotalTest, MemoryPerVcoreLimitsMemoryByCpu) {
  YarnTotalConfig config;
  config.memory_per_vcore_mib = 1024;
  YarnTotal total = yarn_total(of({{2500}, {8 * kGiB}}), config);
  EXPECT_EQ(total.vcores, 2);
  EXPECT_EQ(total.memory_mib, 2048);
  EXPECT_EQ(total.batch, (Resources{{2500}, {2 * kGiB}}));
  total = yarn_total(of({{2500}, {kGiB}}), config);
  EXPECT_EQ(total.memory_mib, 1024) << "memory is the smaller part";
  EXPECT_EQ(yarn_total(of({{999}, {kGiB}}), config).memory_mib, 0) << "less than a vcore";
  config.rounding = YarnRounding::kPeer;
  EXPECT_EQ(yarn_total(of({{2500}, {8 * kGiB}}), config).memory_mib, 8590) << "as Koordinator's operator";
}

TEST(YarnTotalTest, DoesNotSellCapacityHeldByThirdParties) {
  YarnNode node = of({{4000}, {4 * kGiB}}, {{1000}, {kGiB}});
  node.others = {{1000}, {2 * kGiB}};
  EXPECT_EQ(yarn_total(node, {}).batch, (Resources{{2000}, {kGiB}}));
  node.others = {{9000}, {9 * kGiB}};
  EXPECT_EQ(yarn_total(node, {}).batch, Resources());
  // The peer looks at neither.
  EXPECT_EQ(yarn_total(node, {.rounding = YarnRounding::kPeer}).vcores, 4);
}

TEST(YarnTotalTest, FollowsTheManagersOffer) {
  YarnNode node = of({{8000}, {8 * kGiB}}, {{6000}, {6 * kGiB}});
  node.offer = Resources{{4500}, {5 * kGiB}};
  EXPECT_EQ(yarn_total(node, {}).vcores, 4);
  EXPECT_EQ(yarn_total(node, {}).memory_mib, 5 * 1024);
  EXPECT_EQ(yarn_total(node, {}).reason, Reason::kYarnOffered);
}

TEST(YarnTotalTest, AVcoreMayBeWorthMoreOrLess) {
  EXPECT_EQ(yarn_total(of({{7000}, {0}}), {.vcore = {2000}}).vcores, 3);
  EXPECT_EQ(yarn_total(of({{7000}, {0}}), {.vcore = {500}}).vcores, 14);
  EXPECT_EQ(yarn_total(of({{7000}, {0}}), {.vcore = {0}}).vcores, 7000);
}

TEST(YarnTotalTest, UnavailableNodeGets0) {
  const YarnNode whole = of({{8000}, {8 * kGiB}});
  const auto reason = [](const YarnNode& node) {
    const YarnTotal total = yarn_total(node, {});
    EXPECT_EQ(total.vcores, 0);
    EXPECT_EQ(total.memory_mib, 0);
    EXPECT_TRUE(total.send);
    return total.reason;
  };
  YarnNode node = whole;
  node.ready = false;
  EXPECT_EQ(reason(node), Reason::kYarnNotReady);
  node = whole;
  node.cordoned = true;
  EXPECT_EQ(reason(node), Reason::kYarnCordoned);
  for (const model::NodeState state : {model::NodeState::kDraining, model::NodeState::kOff}) {
    node = whole;
    node.state = state;
    EXPECT_EQ(reason(node), Reason::kYarnOff);
  }
}

TEST(YarnTotalTest, NodeWithoutOriginStaysUnchanged) {
  const YarnTotal total = yarn_total(YarnNode(), {});
  EXPECT_EQ(total.reason, Reason::kYarnNoOrigin);
  EXPECT_FALSE(total.send);
  // Copilot contract 5: each missing key = 0.
  EXPECT_TRUE(yarn_total(YarnNode(), {.rounding = YarnRounding::kPeer}).send);
}

TEST(YarnTotalTest, AnObservedNodeIsDecidedAndNotSent) {
  YarnNode node = of({{8000}, {8 * kGiB}});
  node.state = model::NodeState::kObserve;
  const YarnTotal total = yarn_total(node, {});
  EXPECT_FALSE(total.send);
  EXPECT_EQ(total.vcores, 8);
  EXPECT_EQ(total.reason, Reason::kYarnObserved);
}

TEST(YarnTotalTest, NeverNegativeNeverMoreThanThereIs) {
  base::Random random(3);
  const auto any = [&]() -> std::int64_t {
    switch (random.below(4)) {
      case 0:
        return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random.below(3));
      case 1:
        return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(random.below(3));
      default:
        return static_cast<std::int64_t>(random.next() >> random.below(64));
    }
  };
  for (int i = 0; i < 10'000; ++i) {
    const YarnNode node = of({{any()}, {any()}}, {{any()}, {any()}});
    const YarnTotalConfig config{.vcore = {1 + static_cast<std::int64_t>(random.below(4000))}};
    const YarnTotal total = yarn_total(node, config);
    ASSERT_GE(total.vcores, 0);
    ASSERT_GE(total.memory_mib, 0);
    const Resources held = batch_of_yarn(total.memory_mib, total.vcores, config);
    ASSERT_LE(held.cpu, total.batch.cpu);
    ASSERT_LE(held.memory, total.batch.memory);
    const YarnTotal peer = yarn_total(node, {.rounding = YarnRounding::kPeer, .vcore = config.vcore});
    ASSERT_GE(peer.vcores, 0);
    ASSERT_GE(peer.memory_mib, 0);
  }
}

// Copilot contract 4: batch-cpu = used vcores × 1000, batch-memory = used MB × 1048576.
TEST(YarnTotalTest, AddsBackContainersOfYarn) {
  EXPECT_EQ(batch_of_yarn(20480, 10, {}), (Resources{{10'000}, {20 * kGiB}}));
  EXPECT_EQ(batch_of_yarn(0, 0, {}), Resources());
  EXPECT_EQ(batch_of_yarn(-5, -1, {}), Resources());
}

TEST(YarnTotalTest, DoesNotSellReclaimedCapacityAgain) {
  YarnNode node = of({{4000}, {4 * kGiB}});
  node.keep_mib = 1024;
  const YarnTotal kept = yarn_total(node, {});
  EXPECT_EQ(kept.memory_mib, 1024);
  EXPECT_EQ(kept.vcores, 4);
  EXPECT_EQ(kept.batch, (Resources{{4000}, {kGiB}}));
  EXPECT_EQ(kept.reason, Reason::kYarnKept);
  node.keep_mib = 8192;  // more than it is offered
  EXPECT_EQ(yarn_total(node, {}).memory_mib, 4096);
  EXPECT_EQ(yarn_total(node, {}).reason, Reason::kYarnShared);
  node.keep_mib = -1;
  EXPECT_EQ(yarn_total(node, {}).memory_mib, 0);
  EXPECT_EQ(yarn_total(node, {.rounding = YarnRounding::kPeer}).memory_mib, 0);
}

TEST(YarnDeadBandTest, LittleGrowthWaitsAndACutNever) {
  const YarnTotalConfig config;  // a hundredth
  const auto waits = [&](std::int64_t memory_mib, std::int32_t vcores, Reason reason = Reason::kYarnShared) {
    YarnTotal wanted;
    wanted.memory_mib = memory_mib;
    wanted.vcores = vcores;
    wanted.reason = reason;
    return yarn_growth_waits({10'000, 100}, wanted, config);
  };
  EXPECT_TRUE(waits(10'000, 100));
  EXPECT_TRUE(waits(10'100, 101));
  EXPECT_FALSE(waits(10'101, 100));
  EXPECT_FALSE(waits(10'000, 102));
  EXPECT_FALSE(waits(9'999, 100)) << "a cut";
  EXPECT_FALSE(waits(10'050, 99)) << "an update that goes anyway brings both";
  EXPECT_FALSE(waits(10'050, 100, Reason::kYarnOffered)) << "the manager waits for it to come into force";
  EXPECT_FALSE(waits(10'050, 100, Reason::kYarnPeer)) << "the peer's numbers to the unit";
}

TEST(YarnDeadBandTest, FromNothingAnythingIsMuchAndNoneIsNoDeadBand) {
  YarnTotal wanted;
  wanted.reason = Reason::kYarnShared;
  wanted.memory_mib = 1;
  EXPECT_FALSE(yarn_growth_waits({0, 0}, wanted, {}));
  YarnTotalConfig none;
  none.dead_band_permille = 0;
  wanted.memory_mib = 10'001;
  EXPECT_FALSE(yarn_growth_waits({10'000, 0}, wanted, none));
  wanted.memory_mib = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(yarn_growth_waits({std::numeric_limits<std::int64_t>::min(), 0}, wanted, {}));
}

TEST(YarnTakeTest, ComputesTheTakeByMemoryAlone) {
  EXPECT_EQ(yarn_take({4096, 4}, {8192, 8}, 8, 1024), (YarnTake{3072, 9}));
  EXPECT_EQ(yarn_take({4096, 30}, {8192, 8}, 8, 1024), (YarnTake{3072, 31})) << "a scheduler that goes by memory";
  EXPECT_EQ(yarn_take({4096, 4}, {3072, 5}, 4, 1024), (YarnTake{3072, 6})) << "the same total again is no update";
  EXPECT_EQ(yarn_take({1024, 1}, {0, 0}, 0, 4096), (YarnTake{0, 2})) << "more than is held";
}

TEST(YarnTooMuchTest, ComputesTheExcessByMemoryOrCpu) {
  constexpr std::int32_t kAll = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(yarn_too_much({4096, 4}, {1024, kAll}), 3072);
  EXPECT_EQ(yarn_too_much({4096, 4}, {4096, 4}), 0);
  EXPECT_EQ(yarn_too_much({4096, 4}, {8192, 8}), 0);
  EXPECT_EQ(yarn_too_much({4096, 4}, {8192, 3}), 1024) << "one of four alike";
  EXPECT_EQ(yarn_too_much({13 * 1024, 7}, {1 << 20, 5}), 3804) << "two of seven, rounded up: one that has four GiB";
  EXPECT_EQ(yarn_too_much({4096, 4}, {1024, 3}), 3072) << "the larger of both";
  EXPECT_EQ(yarn_too_much({4096, 4}, {0, 0}), 4096);
  EXPECT_EQ(yarn_too_much({0, 4}, {0, 0}), 0) << "nothing is left that memory could end";
  EXPECT_EQ(yarn_containers_with(1024, 4096, 4), 1);
  EXPECT_EQ(yarn_containers_with(1025, 4096, 4), 2) << "one ends whole";
  EXPECT_EQ(yarn_containers_with(1 << 20, 4096, 4), 4);
  EXPECT_EQ(yarn_containers_with(0, 4096, 4), 0);
  EXPECT_EQ(yarn_containers_with(1024, 0, 0), 0);
  EXPECT_EQ(yarn_memory_of(1, 4096, 4), 1024);
  EXPECT_EQ(yarn_memory_of(3, 4096, 7), 1755) << "rounded down: no container more";
  EXPECT_EQ(yarn_memory_of(7, 4096, 7), 4096);
  EXPECT_EQ(yarn_memory_of(0, 4096, 7), 0);
}

TEST(YarnTooMuchTest, NeverMoreThanIsHeldAndLessTheMoreMayBeKept) {
  base::Random random(11);
  for (int i = 0; i < 1000; ++i) {
    const auto any = [&] {
      return random.below(8) == 0 ? std::numeric_limits<std::int64_t>::max()
                                  : static_cast<std::int64_t>(random.below(1 << 20)) - (1 << 10);
    };
    const auto any32 = [&] { return static_cast<std::int32_t>(random.below(1 << 20)) - (1 << 10); };
    const YarnAmount used{any(), any32()}, keep{any(), any32()};
    const std::int64_t too_much = yarn_too_much(used, keep);
    EXPECT_GE(too_much, 0);
    EXPECT_LE(too_much, std::max<std::int64_t>(used.memory_mib, 0));
    const std::int64_t more = std::max(keep.memory_mib, keep.memory_mib / 2);
    EXPECT_LE(yarn_too_much(used, {more, keep.vcores + 1}), too_much);
  }
}

TEST(YarnTakeTest, AnyNumbers) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  base::Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto any32 = [&] {
      return random.below(8) == 0 ? kMost : static_cast<std::int32_t>(random.below(1 << 20)) - (1 << 10);
    };
    const YarnAmount used{any32(), any32()}, total{any32(), any32()};
    const YarnTake take = yarn_take(used, total, any32(), any32());
    EXPECT_GE(take.memory_mib, 0);
    EXPECT_LE(take.memory_mib, std::max<std::int64_t>(used.memory_mib, 0));
    EXPECT_GT(take.vcores, 0);
    EXPECT_NE(take, (YarnTake{total.memory_mib, total.vcores}));
  }
}

TEST(YarnTotal, MostNodesOfAClusterDoNotBreakTogether) {
  EXPECT_FALSE(most_nodes_are_silent(0, 0));
  EXPECT_FALSE(most_nodes_are_silent(2, 2)) << "too few to tell";
  EXPECT_TRUE(most_nodes_are_silent(3, 3));
  EXPECT_FALSE(most_nodes_are_silent(10'000, 5'499));
  EXPECT_TRUE(most_nodes_are_silent(10'000, 5'500));
}

}  // namespace
}  // namespace tidemark::policy::sell
