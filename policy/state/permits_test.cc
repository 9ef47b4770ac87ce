#include "policy/state/permits.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tidemark::policy::state {
namespace {

using namespace std::chrono_literals;
using model::Reason;
using model::Strategy;

constexpr base::WallTime kPermitsNow{std::chrono::seconds(1'795'000'000)};

StateOrder order(Wish wish) {
  StateOrder out;
  out.wish = wish;
  out.by = "ann";
  out.since = out.drain_until = kPermitsNow;
  return out;
}
NodeMarks ordered(StateOrder order) {
  NodeMarks marks;
  marks.node = StateMark{1, {std::move(order)}};
  return marks;
}

struct Inputs : PermitInputs {
  Inputs() {
    known = state_known = true;
    modes.fill(model::Mode::kEnforce);
  }
};

void expect_all(const PermitInputs& inputs, Permit permit, Reason reason, bool off = false) {
  const AgentPermits got = agent_permits(inputs, kPermitsNow);
  EXPECT_EQ(got.off, off);
  for (const Strategy each : model::kStrategies) {
    const auto index = static_cast<std::size_t>(each);
    EXPECT_EQ(to_string(got.permits[index]), to_string(permit)) << model::to_string(each);
    EXPECT_EQ(model::reason_id(got.reasons[index]), model::reason_id(reason)) << model::to_string(each);
  }
}

TEST(AgentPermits, WithoutAnOrderTheModesDecide) {
  Inputs inputs;
  expect_all(inputs, Permit::kEnforce, Reason::kAgentEnforces);
  inputs.modes[static_cast<std::size_t>(Strategy::kCpuSuppress)] = model::Mode::kObserve;
  const AgentPermits got = agent_permits(inputs, kPermitsNow);
  EXPECT_EQ(got.permits[static_cast<std::size_t>(Strategy::kCpuSuppress)], Permit::kRestore);
  EXPECT_EQ(got.permits[static_cast<std::size_t>(Strategy::kBatchLimits)], Permit::kEnforce);
}

TEST(AgentPermits, AnOrderForTheNodeOutranksModes) {
  Inputs inputs;
  const NodeMarks on = ordered(order(Wish::kOn)), observe = ordered(order(Wish::kObserve));
  inputs.modes.fill(model::Mode::kObserve);
  inputs.marks = &on;
  expect_all(inputs, Permit::kEnforce, Reason::kAgentEnforces);
  inputs.modes.fill(model::Mode::kEnforce);
  inputs.marks = &observe;
  expect_all(inputs, Permit::kRestore, Reason::kAgentObserves);
}

TEST(AgentPermits, AppliesOffBeforeTasksAreKnown) {
  Inputs inputs;
  const NodeMarks off = ordered(order(Wish::kOff));
  inputs.marks = &off;
  expect_all(inputs, Permit::kEnforce, Reason::kAgentOff, true);
  inputs.holding = true;
  const AgentPermits holds = agent_permits(inputs, kPermitsNow);
  EXPECT_EQ(holds.permits[static_cast<std::size_t>(Strategy::kCpuSuppress)], Permit::kEnforce);
  EXPECT_EQ(holds.permits[static_cast<std::size_t>(Strategy::kEviction)], Permit::kTighten) << "no task is evicted";
  inputs.known = false;
  const AgentPermits got = agent_permits(inputs, kPermitsNow);
  EXPECT_EQ(got.order, off.node->orders[0]);
  for (const Strategy each : model::kStrategies) {
    EXPECT_EQ(got.permits[static_cast<std::size_t>(each)],
              each == Strategy::kCpuSuppress ? Permit::kEnforce : Permit::kKeep)
        << model::to_string(each);
  }
}

TEST(AgentPermits, DrainingKeepsLimits) {
  Inputs inputs;
  StateOrder drains = order(Wish::kOff);
  drains.drain_until = kPermitsNow + 15min;
  const NodeMarks marks = ordered(drains);
  inputs.marks = &marks;
  expect_all(inputs, Permit::kEnforce, Reason::kAgentEnforces);
  EXPECT_EQ(agent_permits(inputs, kPermitsNow).again_after, 15min) << "off then, without an order";
  EXPECT_TRUE(agent_permits(inputs, kPermitsNow).withdrawn);
  EXPECT_FALSE(agent_permits(Inputs(), kPermitsNow).withdrawn);
  inputs.state_known = false;
  EXPECT_FALSE(agent_permits(inputs, kPermitsNow).withdrawn) << "not known yet";
}

// Off is no reason to begin with evictions.
TEST(AgentPermits, OffDoesNotEvictInModeObserve) {
  Inputs inputs;
  const NodeMarks off = ordered(order(Wish::kOff));
  inputs.marks = &off;
  inputs.modes[static_cast<std::size_t>(Strategy::kEviction)] = model::Mode::kObserve;
  const AgentPermits got = agent_permits(inputs, kPermitsNow);
  EXPECT_EQ(got.permits[static_cast<std::size_t>(Strategy::kEviction)], Permit::kRestore);
  EXPECT_EQ(got.reasons[static_cast<std::size_t>(Strategy::kEviction)], Reason::kAgentObserves);
  EXPECT_EQ(got.permits[static_cast<std::size_t>(Strategy::kBatchLimits)], Permit::kEnforce);
}

// Nor with anything else but what holds offline work; of limits no memory, which can kill.
TEST(AgentPermits, OffStartsNoObservedStrategy) {
  const NodeMarks off = ordered(order(Wish::kOff));
  for (const bool latched : {false, true}) {
    Inputs inputs;
    inputs.modes.fill(model::Mode::kObserve);
    inputs.latched = latched;
    if (!latched) inputs.marks = &off;
    const AgentPermits got = agent_permits(inputs, kPermitsNow);
    EXPECT_TRUE(got.off);
    EXPECT_TRUE(got.limits_cpu_alone);
    for (const Strategy each : model::kStrategies) {
      const bool holds = each == Strategy::kCpuSuppress || each == Strategy::kBatchLimits;
      EXPECT_EQ(to_string(got.permits[static_cast<std::size_t>(each)]),
                to_string(holds ? Permit::kEnforce : Permit::kRestore))
          << model::to_string(each);
    }
    inputs.modes[static_cast<std::size_t>(Strategy::kBatchLimits)] = model::Mode::kEnforce;
    EXPECT_FALSE(agent_permits(inputs, kPermitsNow).limits_cpu_alone) << "it was in force before";
  }
}

TEST(AgentPermits, TheLatchOutranksTheCluster) {
  Inputs inputs;
  const NodeMarks on = ordered(order(Wish::kOn));
  inputs.marks = &on;
  inputs.latched = true;
  inputs.state_known = false;
  const AgentPermits stands = agent_permits(inputs, kPermitsNow);
  EXPECT_TRUE(stands.off);
  for (const model::Strategy each : model::kStrategies) {
    const auto index = static_cast<std::size_t>(each);
    // The latch limits running tasks and evicts none (docs/guide/protection.md).
    const bool ends_tasks = each == model::Strategy::kEviction;
    EXPECT_EQ(stands.permits[index], ends_tasks ? Permit::kRestore : Permit::kEnforce) << to_string(each);
    EXPECT_EQ(stands.reasons[index], Reason::kAgentLatched) << to_string(each);
  }
}

TEST(AgentPermits, UnknownStateChangesNothing) {
  Inputs inputs;
  inputs.known = false;
  expect_all(inputs, Permit::kKeep, Reason::kAgentAwaits);
  inputs.known = true;
  inputs.state_known = false;
  expect_all(inputs, Permit::kKeep, Reason::kAgentAwaits);
}

TEST(AgentPermits, SafeStartOnlyTightens) {
  Inputs inputs;
  inputs.holding = true;
  expect_all(inputs, Permit::kTighten, Reason::kAgentHolds);
}

// To narrow is to write.
TEST(AgentPermits, SafeStartStartsNoObservedStrategy) {
  Inputs inputs;
  inputs.holding = true;
  inputs.modes.fill(model::Mode::kObserve);
  inputs.modes[static_cast<std::size_t>(Strategy::kCpuSuppress)] = model::Mode::kEnforce;
  const AgentPermits got = agent_permits(inputs, kPermitsNow);
  for (const Strategy each : model::kStrategies) {
    const auto index = static_cast<std::size_t>(each);
    const bool shown = each == Strategy::kEviction;
    EXPECT_EQ(to_string(got.permits[index]), to_string(each == Strategy::kCpuSuppress ? Permit::kTighten
                                                       : shown                        ? Permit::kRestore
                                                                                      : Permit::kKeep))
        << model::to_string(each);
    EXPECT_EQ(got.reasons[index], shown ? Reason::kAgentObserves : Reason::kAgentHolds) << model::to_string(each);
  }
  const NodeMarks observe = ordered(order(Wish::kObserve)), off = ordered(order(Wish::kOff));
  inputs.marks = &observe;
  EXPECT_EQ(agent_permits(inputs, kPermitsNow).permits[static_cast<std::size_t>(Strategy::kCpuSuppress)],
            Permit::kKeep);
  inputs.marks = &off;
  EXPECT_EQ(agent_permits(inputs, kPermitsNow).permits[static_cast<std::size_t>(Strategy::kCpuSuppress)],
            Permit::kEnforce)
      << "an order holds offline work all the same";
}

TEST(AgentPermits, ObservesIfItCannotWrite) {
  Inputs inputs;
  inputs.only_shows = true;
  expect_all(inputs, Permit::kRestore, Reason::kAgentObserves);
  const NodeMarks on = ordered(order(Wish::kOn)), off = ordered(order(Wish::kOff));
  inputs.marks = &on;
  expect_all(inputs, Permit::kRestore, Reason::kAgentObserves);
  inputs.holding = true;
  expect_all(inputs, Permit::kRestore, Reason::kAgentObserves);
  inputs.marks = &off;
  const AgentPermits got = agent_permits(inputs, kPermitsNow);
  EXPECT_TRUE(got.off) << "a command that waits for it learns of it";
  EXPECT_EQ(got.permits[static_cast<std::size_t>(Strategy::kEviction)], Permit::kRestore);
}

TEST(AgentPermits, ObservesBesideKoordinatorsAgent) {
  Inputs inputs;
  inputs.peer_present = true;
  expect_all(inputs, Permit::kRestore, Reason::kAgentPeerPresent);
  const NodeMarks on = ordered(order(Wish::kOn));
  inputs.marks = &on;
  expect_all(inputs, Permit::kRestore, Reason::kAgentPeerPresent);
}

// An order or latch `off` limits the CPU of offline work even beside koordlet; koordlet writes all other limits.
TEST(AgentPermits, OffLimitsOfflineWorkBesideKoordinatorsAgent) {
  const NodeMarks off = ordered(order(Wish::kOff));
  for (const bool latched : {false, true}) {
    Inputs inputs;
    inputs.peer_present = true;
    inputs.latched = latched;
    if (!latched) inputs.marks = &off;
    const AgentPermits got = agent_permits(inputs, kPermitsNow);
    EXPECT_TRUE(got.off);
    for (const Strategy each : model::kStrategies) {
      const auto index = static_cast<std::size_t>(each);
      const bool holds = each == Strategy::kCpuSuppress || each == Strategy::kBatchLimits;
      EXPECT_EQ(got.permits[index], holds ? Permit::kEnforce : Permit::kRestore) << model::to_string(each);
      EXPECT_EQ(got.reasons[index] == Reason::kAgentPeerPresent, !holds) << model::to_string(each);
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::state
