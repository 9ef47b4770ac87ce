#include "policy/state/pod_scope.h"

#include <gtest/gtest.h>

#include <vector>

#include "policy/settings/config/parse.h"

namespace tidemark::policy::state {
namespace {

using model::Reason;

constexpr base::WallTime kPodScopeNow{std::chrono::hours(24 * 365 * 56)};

class PodScopeTest : public ::testing::Test {
 protected:
  void order(std::string_view pool, Wish wish, base::Duration drain = base::Duration(0),
             std::vector<std::string> words = {}) {
    StateCommand command;
    command.wish = wish;
    command.only = *parse_parts(words);
    command.by = "ann@ops-1";
    command.why = "kernel update";
    command.drain = drain;
    auto done = command_desired(desired, pool, command, kPodScopeNow);
    ASSERT_TRUE(done) << done.error().message;
    desired = std::move(done->desired);
  }
  PodScopeState ask(std::vector<model::Label> selector = {}, std::string_view work_class = "",
                    base::WallTime now = kPodScopeNow) {
    return state_for_pod({colocation ? &*colocation : nullptr, &config, &desired, selector, work_class}, now);
  }

  waterline::TidemarkConfig config = *settings::parse_tidemark_config(
      "schema: 1\nmode: observe\npools:\n- {name: night, nodeSelector: {matchLabels: {pool: night}}, mode: enforce}\n"
      "- {name: all, nodeSelector: {}}\n",
      waterline::Zones());
  std::optional<sell::ColocationConfig> colocation;
  DesiredStates desired;
};

TEST_F(PodScopeTest, NothingKnownAndNothingOrderedIsOn) {
  EXPECT_FALSE(state_for_pod({}, kPodScopeNow).off);
  EXPECT_FALSE(ask().off);
  EXPECT_FALSE(ask({{"pool", "night"}}, "spark").off) << "observing is not off";
}

TEST_F(PodScopeTest, TheClustersOrderHoldsForEveryPod) {
  order("", Wish::kOff);
  for (const auto& selector : {std::vector<model::Label>{}, std::vector<model::Label>{{"pool", "night"}}}) {
    const auto state = ask(selector);
    EXPECT_TRUE(state.off);
    EXPECT_EQ(state.reason, Reason::kStateByCluster);
    ASSERT_TRUE(state.order);
    EXPECT_EQ(state.order->why, "kernel update");
  }
  order("", Wish::kOn);
  EXPECT_FALSE(ask().off);
}

TEST_F(PodScopeTest, DrainingTakesNothingNewEither) {
  order("", Wish::kOff, std::chrono::hours(1));
  EXPECT_TRUE(ask().off);
  EXPECT_TRUE(ask({}, "", kPodScopeNow + std::chrono::hours(2)).off);
}

TEST_F(PodScopeTest, ObservingIsNotOff) {
  order("", Wish::kObserve);
  EXPECT_FALSE(ask().off);
}

TEST_F(PodScopeTest, APoolsOrderHoldsForPodsThatAreConfinedToIt) {
  order("night", Wish::kOff);
  const auto state = ask({{"pool", "night"}, {"disk", "ssd"}});
  EXPECT_TRUE(state.off);
  EXPECT_EQ(state.reason, Reason::kStateByPool);
  EXPECT_EQ(state.pool, "night");
  EXPECT_FALSE(ask({{"pool", "day"}}).off);
  EXPECT_FALSE(ask().off) << "it may run elsewhere";
}

TEST_F(PodScopeTest, PoolOfAllNodesConfinesNoPod) {
  order("all", Wish::kOff);
  EXPECT_FALSE(ask({{"disk", "ssd"}}).off) << "a node with that label may be in another pool";
}

TEST_F(PodScopeTest, AClassThatIsOffIsOffForItsPodsAlone) {
  order("", Wish::kOff, base::Duration(0), {"class=spark"});
  EXPECT_TRUE(ask({}, "spark").off);
  EXPECT_FALSE(ask({}, "training").off);
  EXPECT_FALSE(ask({}, "").off);
}

TEST_F(PodScopeTest, WhatIsOffForYarnAloneIsOnForPods) {
  order("", Wish::kOff, base::Duration(0), {"yarn"});
  EXPECT_FALSE(ask().off);
  order("", Wish::kOff, base::Duration(0), {"k8s"});
  EXPECT_TRUE(ask().off);
}

TEST_F(PodScopeTest, CoLocationThatIsNotEnabledIsOff) {
  colocation = *sell::parse_colocation_config(R"({"enable":false})");
  EXPECT_EQ(ask().reason, Reason::kDisabledByCluster);
  EXPECT_TRUE(ask().off);
  colocation = *sell::parse_colocation_config(
      R"({"enable":true,"nodeConfigs":[{"nodeSelector":{"matchLabels":{"pool":"day"}},"enable":false}]})");
  EXPECT_FALSE(ask().off);
  EXPECT_TRUE(ask({{"pool", "day"}}).off);
  EXPECT_EQ(ask({{"pool", "day"}}).reason, Reason::kDisabledForNode);
}

}  // namespace
}  // namespace tidemark::policy::state
