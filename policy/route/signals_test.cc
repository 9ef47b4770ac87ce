#include "policy/route/signals.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tidemark::policy::route {
namespace {

using model::Resources;

Resources amount(std::int64_t cores, std::int64_t gib) {
  return {{cores * 1000}, {gib << 30}};
}
RunNeed need(std::int64_t cores, std::int64_t gib = 0) {
  return {amount(cores, gib), 1};
}

TEST(RouteSignals, RunFitsIntoIdleCapacityWithoutClaims) {
  BatchCapacity capacity{.nodes = {{"", amount(20, 40), amount(10, 20)}}, .claims = {}};
  EXPECT_EQ(fit(need(10, 20), "ads", capacity, 0), CapacityFit::kFits);
  EXPECT_EQ(fit(need(11, 20), "ads", capacity, 0), CapacityFit::kFull);
  EXPECT_EQ(fit(need(10, 21), "ads", capacity, 0), CapacityFit::kFull) << "each resource counts";
  capacity.claims = {{"search", amount(4, 0)}, {"ads", amount(3, 0)}, {"", amount(1, 0)}};
  EXPECT_EQ(fit(need(2), "ads", capacity, 0), CapacityFit::kFits);
  EXPECT_EQ(fit(need(3), "ads", capacity, 0), CapacityFit::kFull);
}

TEST(RouteSignals, ClaimsOfAnOwnerTakeItsOwnNodesFirst) {
  BatchCapacity capacity{.nodes = {{"", amount(10, 0), amount(4, 0)}, {"ads", amount(10, 0), amount(6, 0)}},
                         .claims = {{"ads", amount(5, 0)}}};
  EXPECT_EQ(room_of("search", capacity, 0), amount(4 + 1, 0)) << "what ads leaves of its own";
  EXPECT_EQ(room_of("ads", capacity, 0), amount(4 + 6 - 5, 0));
  capacity.claims = {{"ads", amount(8, 0)}};
  EXPECT_EQ(room_of("search", capacity, 0), amount(4 - 2, 0)) << "ads takes 2 of the nodes without an owner";
}

TEST(RouteSignals, OwnerKeepsAShareOfItsNodes) {
  const BatchCapacity capacity{.nodes = {{"ads", amount(10, 0), amount(6, 0)}}, .claims = {}};
  EXPECT_EQ(room_of("search", capacity, 40), amount(2, 0));
  EXPECT_EQ(room_of("search", capacity, 100), amount(0, 0));
  EXPECT_EQ(room_of("ads", capacity, 100), amount(6, 0));
  EXPECT_EQ(fit(need(3), "search", capacity, 40), CapacityFit::kForOwner);
  EXPECT_EQ(fit(need(7), "search", capacity, 40), CapacityFit::kFull);
  EXPECT_EQ(fit(need(3), "", capacity, 40), CapacityFit::kForOwner) << "a run without a business owns nothing";
}

TEST(RouteSignals, OwnerGoesFirstThenTheOlderRun) {
  const std::vector<OwnedCapacity> nodes = {{"ads", {}, {}}};
  EXPECT_TRUE(goes_first({"ads", 9}, {"search", 1}, nodes));
  EXPECT_FALSE(goes_first({"search", 1}, {"ads", 9}, nodes));
  EXPECT_TRUE(goes_first({"search", 1}, {"", 2}, nodes));
  EXPECT_TRUE(goes_first({"ads", 1}, {"ads", 2}, nodes));
  EXPECT_TRUE(goes_first({"ads", 1}, {"search", 2}, {}));
}

TEST(RouteSignals, QuotaLimitsOnlyWhatItNames) {
  EXPECT_TRUE(fits(need(1000), {}));
  EXPECT_FALSE(fits({amount(1, 1), 4}, {.batch_cpu = {}, .batch_memory = {}, .pods = 3}));
  EXPECT_TRUE(fits({amount(1, 1), 3}, {.batch_cpu = {}, .batch_memory = {}, .pods = 3}));
  EXPECT_FALSE(fits(need(2), {.batch_cpu = model::CpuMilli{1999}, .batch_memory = {}, .pods = {}}));
  EXPECT_FALSE(fits(need(2, 2), {.batch_cpu = {}, .batch_memory = model::MemoryBytes{1}, .pods = {}}));
}

TEST(RouteSignals, EmptyQueueHasNoWaitAndAFullOneItsBound) {
  YarnQueue queue{.path = "root.default", .used_percent = 99};
  EXPECT_EQ(expected_wait(queue), base::Duration(0));
  queue.pending_containers = 1;
  EXPECT_EQ(expected_wait(queue), std::nullopt) << "a master may wait";
  queue.pending_containers = 0;
  queue.used_percent = 100;
  EXPECT_EQ(expected_wait(queue), std::nullopt) << "without waits it is unknown, not 0";
  queue.p95_bound_s = 70;
  EXPECT_EQ(expected_wait(queue), std::chrono::seconds(70));
  queue.used_percent = 10;
  queue.pending = 1;
  EXPECT_EQ(expected_wait(queue), std::chrono::seconds(70));
}

// The order statistics of the binomial distribution: 1 − 0.95^n ≥ 0.95 from n = 59 on; of 93 values the 92nd.
TEST(RouteSignals, BoundOfWaitsIsTheBinomialOrderStatistic) {
  std::vector<std::int64_t> waits(58);
  std::iota(waits.rbegin(), waits.rend(), 1);
  EXPECT_EQ(p95_bound(waits), std::nullopt);
  waits.push_back(1000);
  EXPECT_EQ(p95_bound(waits), 1000) << "the largest of 59";
  waits.resize(93);
  std::iota(waits.rbegin(), waits.rend(), 1);
  EXPECT_EQ(p95_bound(waits), 92);
  EXPECT_EQ(p95_bound({}), std::nullopt);
}

}  // namespace
}  // namespace tidemark::policy::route
