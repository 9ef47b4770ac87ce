// The limits of the memory, and a clock that goes back.
#include "policy/evict/evict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/text.h"

namespace tidemark::policy::evict {
namespace {

using base::MonotonicTime;
using std::chrono::hours;

constexpr std::int64_t kEvictGi = 1024 * 1024 * 1024;
constexpr MonotonicTime kEvictNow{hours(10)};

// All memory is used, each task uses a gibibyte.
struct Node {
  protect::NodeRules rules;
  EvictSwitches switches;
  NodeSeen seen;
  std::deque<model::Task> made;
  std::vector<TaskSeen> tasks;
  std::int64_t per_hour = 10;

  explicit Node(int many) {
    rules.threshold.enable = true;
    switches.set(EvictFeature::kBeMemory);
    seen.capacity = {{100'000}, {1000 * kEvictGi}};
    seen.memory = model::MemoryBytes{1000 * kEvictGi};
    for (int i = 0; i < many; ++i) {
      model::Task& task = made.emplace_back();
      task.kind = model::TaskKind::kCopilotTask;
      task.qos_raw = task.qos = model::Qos::kBe;
      task.phase = model::PodPhase::kRunning;
      task.name = task.identity.task = base::cat("t", i);
      task.identity.source = "yarn";
      task.path = base::cat("yarn/t", i);
      tasks.push_back({&task, model::CpuMilli{0}, model::MemoryBytes{kEvictGi}});
    }
  }
  EvictStep step(const EvictState& before, MonotonicTime now) const {
    return evict(before, {seen, tasks, {}, per_hour, true}, rules, switches, now, base::WallTime());
  }
};

model::Reason why(const EvictStep& step) {
  return step.plan.verdicts[0].reason;
}

TEST(Evict, AsksNoMoreWhileTheMostTasksAreLeaving) {
  const Node node(static_cast<int>(kLeavingMax) + 10);
  EvictState state;
  for (std::size_t i = 0; i < kLeavingMax; ++i) {
    Leaving& one = state.leaving.emplace_back();
    one.task = evict_key(node.made[i]);
    one.stage = EvictStage::kSpared;
  }
  std::ranges::sort(state.leaving, {}, &Leaving::task);
  EvictStep step = node.step(state, kEvictNow);
  EXPECT_TRUE(step.plan.orders.empty());
  EXPECT_EQ(why(step), model::Reason::kEvictCoolDown);
  EXPECT_EQ(step.state.leaving.size(), kLeavingMax);
  state.leaving.pop_back();
  step = node.step(state, kEvictNow);
  EXPECT_EQ(step.plan.orders.size(), 1u);
  EXPECT_EQ(step.state.leaving.size(), kLeavingMax);
}

TEST(Evict, GrantIsBoundedByTheRememberedHour) {
  Node node(20);
  node.per_hour = INT64_MAX;
  EvictState state;
  state.hour.assign(static_cast<std::size_t>(model::kEvictionsPerHourMax) - 1, kEvictNow);
  EvictStep step = node.step(state, kEvictNow);
  EXPECT_EQ(step.plan.orders.size(), 1u);
  step = node.step(step.state, kEvictNow + kMemoryEvictPause);
  EXPECT_TRUE(step.plan.orders.empty());
  EXPECT_EQ(why(step), model::Reason::kEvictBudgetSpent);
}

// If the kubelet is about to evict for the limit of its pods, no task outside kubepods is evicted beyond the grant.
TEST(Evict, TasksOutsideKubepodsDoNotRelievePodLimit) {
  Node node(3);
  node.per_hour = 0;
  node.seen.memory = model::MemoryBytes{500 * kEvictGi};
  node.seen.left_to_pods = model::MemoryBytes{kEvictGi};
  node.rules.threshold.pods_before_kubelet_percent = 90;
  node.rules.threshold.pods_kubelet_next_bytes = 2 * kEvictGi;
  node.tasks[1].in_pods = false;
  const EvictStep step = node.step({}, kEvictNow);
  ASSERT_EQ(step.plan.orders.size(), 2u) << "ten of a thousand gibibytes are missing";
  for (const EvictOrder& each : step.plan.orders) {
    EXPECT_TRUE(each.beyond_grant);
    EXPECT_NE(each.task, 1u);
  }
}

TEST(Evict, ClockThatGoesBackExtendsNothing) {
  Node node(40);
  node.per_hour = 100;
  EvictState state = node.step(first_evict_state(kEvictNow), kEvictNow).state;
  ASSERT_EQ(state.hour.size(), kVictimsAStep);
  constexpr MonotonicTime kBack{kEvictNow.since_start - hours(5)};
  EvictStep step = node.step(state, kBack);
  EXPECT_TRUE(step.plan.orders.empty());
  EXPECT_EQ(step.state.hour, std::vector(kVictimsAStep, kBack)) << "they slide from where the clock is now";
  EXPECT_EQ(step.state.memory_not_before, kBack + kMemoryEvictPause);
  EXPECT_EQ(step.state.cpu_not_before, kBack + kCpuEvictPause);
  step = node.step(step.state, kBack + kMemoryEvictPause);
  EXPECT_EQ(step.plan.orders.size(), kVictimsAStep);
  // No answer came; they are killed in time by the current clock.
  step = node.step(step.state, kBack + kUnanswered);
  EXPECT_EQ(std::ranges::count(step.plan.orders, EvictVerb::kKill, &EvictOrder::verb), kVictimsAStep);
  EXPECT_EQ(step.plan.orders.at(0).by, model::Reason::kEvictUnreachable);
}

// Its ResourceManager tells the application at once, and answers at the end of the grace.
TEST(Evict, AwaitsTheAnswerForAContainerOfYarnAsLongAsTheGrace) {
  Node node(1);
  node.made[0].identity.attempt = "appattempt_1_0001_000001";
  const EvictState asked = node.step(first_evict_state(kEvictNow), kEvictNow).state;
  ASSERT_EQ(asked.leaving.size(), 1u);
  const base::Duration limit = node.rules.evict_settings().grace + kUnanswered;
  EvictStep step = node.step(asked, kEvictNow + (limit - base::Duration(1)));
  EXPECT_TRUE(step.plan.orders.empty());
  step = node.step(step.state, kEvictNow + limit);
  ASSERT_EQ(step.plan.orders.size(), 1u);
  EXPECT_EQ(step.plan.orders[0].verb, EvictVerb::kKill);
}

// 320 of 1000Gi are missing. The one that has just started holds next to nothing; once the large one covers most of it,
// a small one is enough for the rest.
TEST(Evict, WorthIsMeasuredByWhatIsStillMissing) {
  Node node(4);
  const auto is = [&](std::size_t task, std::int64_t bytes, std::int64_t milli, base::Duration age) {
    node.made[task].started = base::WallTime{-age};
    node.tasks[task].memory = model::MemoryBytes{bytes};
    node.tasks[task].cpu = model::CpuMilli{milli};
  };
  is(0, kEvictGi / 10, 0, base::Duration(0));
  is(1, 200 * kEvictGi, 1000, hours(1));
  is(2, 310 * kEvictGi, 1000, hours(1));
  is(3, 15 * kEvictGi, 10, std::chrono::minutes(6));
  const EvictStep step = node.step({}, kEvictNow);
  std::vector<std::string> asked;
  for (const EvictOrder& each : step.plan.orders) asked.push_back(node.made[each.task].name);
  EXPECT_EQ(asked, (std::vector<std::string>{"t2", "t3"}));
}

TEST(Evict, TaskIsIdentifiedBySourceAndName) {
  model::Task task;
  task.identity.source = "yarn";
  task.identity.task = "container_1";
  EXPECT_EQ(evict_key(task), "yarn/container_1");
}

}  // namespace
}  // namespace tidemark::policy::evict
