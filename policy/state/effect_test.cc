#include "policy/state/effect.h"

#include <gtest/gtest.h>

#include <array>

namespace tidemark::policy::state {
namespace {

using model::CpuMilli;
using model::ExtendedResources;
using model::MemoryBytes;
using model::Resources;

constexpr std::array kStates{model::NodeState::kOn, model::NodeState::kObserve, model::NodeState::kDraining,
                             model::NodeState::kOff};
const ExtendedResources kPlanned{CpuMilli{8000}, MemoryBytes{80}, CpuMilli{3000}, MemoryBytes{30}};
const ExtendedResources kCarried{CpuMilli{6000}, MemoryBytes{60}, std::nullopt, std::nullopt};  // mid is new

sell::OvercommitPlan planned() {
  sell::OvercommitPlan plan;
  plan.action = sell::PlanAction::kPublish;
  plan.reason = model::Reason::kPublished;
  plan.publish = kPlanned;
  plan.origin = Resources{CpuMilli{9000}, MemoryBytes{90}};
  return plan;
}
OnNode carried() {
  return {kCarried, Resources{CpuMilli{7000}, MemoryBytes{70}}};
}
EffectiveState sides(model::NodeState k8s, model::NodeState yarn) {
  EffectiveState state;
  state.k8s = k8s;
  state.yarn = yarn;
  return state;
}

TEST(StateEffect, OnChangesNothingObserveWritesNothing) {
  const auto on = obey(planned(), sides(model::NodeState::kOn, model::NodeState::kOn), carried(), {});
  EXPECT_EQ(on.plan, planned());
  EXPECT_TRUE(on.write);
  const auto observed = obey(planned(), sides(model::NodeState::kObserve, model::NodeState::kObserve), carried(), {});
  EXPECT_EQ(observed.plan, planned());
  EXPECT_FALSE(observed.write);
}

TEST(StateEffect, DrainingKeepsPresentKeysAt0) {
  const auto done = obey(planned(), sides(model::NodeState::kDraining, model::NodeState::kDraining), carried(), {});
  EXPECT_EQ(done.plan.action, sell::PlanAction::kPublish);
  EXPECT_EQ(done.plan.publish, (ExtendedResources{CpuMilli{0}, MemoryBytes{0}, std::nullopt, std::nullopt}));
  EXPECT_EQ(done.plan.origin, Resources());
  EXPECT_EQ(done.plan.reason, model::Reason::kStateDraining);
}

TEST(StateEffect, OffTakesTheKeysAway) {
  const auto done = obey(planned(), sides(model::NodeState::kOff, model::NodeState::kOff), carried(), {});
  EXPECT_EQ(done.plan.action, sell::PlanAction::kReset);
  EXPECT_EQ(done.plan.publish, ExtendedResources());
  EXPECT_EQ(done.plan.origin, Resources());
  EXPECT_EQ(done.plan.reason, model::Reason::kStateOff);
}

TEST(StateEffect, OneSideAlone) {
  const auto yarn = obey(planned(), sides(model::NodeState::kOn, model::NodeState::kOff), carried(), {});
  EXPECT_EQ(yarn.plan.publish, kPlanned);
  EXPECT_EQ(yarn.plan.origin, Resources());
  EXPECT_EQ(yarn.plan.reason, model::Reason::kStateOffYarn);
  const auto k8s = obey(planned(), sides(model::NodeState::kOff, model::NodeState::kOn), carried(), {});
  EXPECT_EQ(k8s.plan.publish, ExtendedResources());
  EXPECT_EQ(k8s.plan.origin, planned().origin);
  EXPECT_EQ(k8s.plan.reason, model::Reason::kStateOffK8s);
  const auto observed = obey(planned(), sides(model::NodeState::kObserve, model::NodeState::kOff), carried(), {});
  EXPECT_EQ(observed.plan.publish, kCarried);
  EXPECT_TRUE(observed.write);
}

TEST(StateEffect, SwitchesOffUndecidableNodes) {
  const auto done = obey({}, sides(model::NodeState::kOff, model::NodeState::kOff), carried(), {});
  EXPECT_EQ(done.plan.action, sell::PlanAction::kReset);
  const auto k8s = obey({}, sides(model::NodeState::kDraining, model::NodeState::kOn), carried(), {});
  EXPECT_EQ(k8s.plan.publish.batch_cpu, CpuMilli{0});
  EXPECT_EQ(k8s.plan.origin, carried().origin);
}

TEST(StateEffect, DisabledControllersTouchNothing) {
  sell::PluginSet plugins;
  plugins.batch_resource = false;
  const auto done = obey(planned(), sides(model::NodeState::kOff, model::NodeState::kOff), carried(), plugins);
  EXPECT_EQ(done.plan.publish.batch_cpu, kCarried.batch_cpu);
  EXPECT_EQ(done.plan.publish.mid_cpu, std::nullopt);
  EXPECT_EQ(done.plan.origin, std::nullopt);
}

// A stricter state never offers more, on either side.
TEST(StateEffect, StricterNeverOffersMore) {
  const auto amount = [](const auto& value) { return value ? value->value : 0; };
  for (const model::NodeState k8s : kStates) {
    for (const model::NodeState yarn : kStates) {
      for (const auto& plan : {planned(), sell::OvercommitPlan()}) {
        const auto done = obey(plan, sides(k8s, yarn), carried(), {});
        if (!done.write) continue;
        if (k8s >= model::NodeState::kDraining) {
          EXPECT_EQ(amount(done.plan.publish.batch_cpu) + amount(done.plan.publish.mid_memory), 0);
        }
        if (yarn >= model::NodeState::kDraining) EXPECT_EQ(done.plan.origin, Resources());
        EXPECT_LE(amount(done.plan.publish.batch_cpu), 8000);
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::state
