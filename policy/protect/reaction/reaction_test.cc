#include "policy/protect/reaction/reaction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "model/task.h"
#include "policy/protect/node_rules.h"

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;
using model::KubeQos;

constexpr base::MonotonicTime kReactionNow{std::chrono::hours(1)};

// A node that suppresses by quota, and what it decides.
struct Node {
  std::int64_t cores = 4;
  std::deque<model::Task> tasks;
  SuppressObservation seen;
  NodeRules rules;
  SuppressPlan decided;

  Node() {
    rules.threshold.enable = true;
    rules.threshold.cpu_suppress_percent = 65;
    rules.threshold.cpu_suppress_policy = SuppressPolicy::kCfsQuota;
    seen.groups.besteffort = "kubepods/besteffort";
    seen.kubelet_reserved = CpuMilli{0};
    seen.besteffort_quota_us = kNoLimit;
  }
  std::size_t pod(const std::string& name, KubeQos kube, model::Qos qos, std::int64_t uses) {
    model::Task& task = tasks.emplace_back();
    task.kube_qos = kube;
    task.qos_raw = task.qos = qos;
    const char* folder = kube == KubeQos::kBestEffort  ? "kubepods/besteffort/"
                         : kube == KubeQos::kBurstable ? "kubepods/burstable/"
                                                       : "kubepods/";
    task.path = folder + name;
    seen.tasks.push_back({&task, CpuMilli{uses}, false, false});
    return seen.tasks.size() - 1;
  }
  // Of as many processors, each a core, held to a set of them.
  void by_processors() {
    rules.threshold.cpu_suppress_policy = SuppressPolicy::kCpuset;
    seen.besteffort_cpus.emplace();
    for (std::int32_t cpu = 0; cpu < cores; ++cpu) {
      seen.processors.push_back({cpu, cpu, 0, 0});
      seen.besteffort_cpus->push_back(cpu);
    }
    seen.groups.pods = {"kubepods/besteffort/job"};
    seen.groups.containers = {"kubepods/besteffort/job/c1", "kubepods/besteffort/job/c2"};
  }
  SuppressPlan decide() const {
    SuppressObservation now = seen;
    now.capacity = CpuMilli{cores * 1000};
    now.node_used = CpuMilli{0};
    for (const ObservedTask& each : now.tasks) *now.node_used += each.used.value_or(CpuMilli{0});
    return suppress({}, now, rules, kReactionNow).plan;
  }
  ReactionPlan plan() {
    decided = decide();
    const bool by_cpus = decided.policy == SuppressPolicy::kCpuset;
    return plan_reaction(decided, seen, by_cpus ? std::ssize(decided.cpus) : decided.quota_us);
  }
};

struct Busy : Node {
  Busy() {
    pod("web", KubeQos::kBurstable, model::Qos::kLs, 200);
    pod("job", KubeQos::kBestEffort, model::Qos::kBe, 1500);
  }
};

std::vector<std::string> text_of(const ReactionPlan& plan) {
  std::vector<std::string> out;
  for (const ReactionStep& each : plan.steps) {
    out.push_back(std::to_string(each.rise.value) + "m: " + std::to_string(each.amount));
  }
  return out;
}

// 4000 × 65 % − 200 = 2400 are left, and in force.
TEST(Reaction, HasAStepForEachHalfOfTheNodeAndTheLeast) {
  Busy node;
  const ReactionPlan plan = node.plan();
  ASSERT_EQ(plan.readiness, ReactionReadiness::kReady);
  ASSERT_EQ(plan.in_force, 240'000);
  EXPECT_EQ(plan.known.value, 200);
  EXPECT_EQ(plan.whole, "kubepods");
  EXPECT_EQ(plan.less, std::vector<std::string>{"kubepods/besteffort"});
  EXPECT_EQ(plan.groups, std::vector<std::string>{"kubepods/besteffort"});
  EXPECT_EQ(text_of(plan), (std::vector<std::string>{"400m: 200000", "401m: 100000", "1401m: 50000", "1901m: 2000"}));
  EXPECT_EQ(step_for(plan.steps, CpuMilli{399}), nullptr) << "less than a tenth of the node";
  EXPECT_EQ(step_for(plan.steps, CpuMilli{400})->amount, 200'000) << "2000 are left";
  EXPECT_EQ(step_for(plan.steps, CpuMilli{1400})->amount, 100'000);
  EXPECT_EQ(step_for(plan.steps, CpuMilli{9000})->amount, 2000);
  EXPECT_EQ(step_for(plan.steps, CpuMilli{-9000}), nullptr);
}

TEST(Reaction, OnlineWorkMayUseWhatIsNotInForceYet) {
  Busy node;
  node.decided = node.decide();
  const ReactionPlan plan = plan_reaction(node.decided, node.seen, 120'000);  // growth comes in steps
  EXPECT_EQ(text_of(plan), (std::vector<std::string>{"1600m: 100000", "1600m: 50000", "1901m: 2000"}));
  EXPECT_EQ(step_for(plan.steps, CpuMilli{1600})->amount, 50'000) << "800 are left";
}

TEST(Reaction, NeverGoesBelowTheMinimum) {
  Busy node;
  node.rules.threshold.cpu_suppress_min_percent = 20;
  EXPECT_EQ(text_of(node.plan()), (std::vector<std::string>{"400m: 200000", "401m: 100000", "1401m: 80000"}));
  node.rules.threshold.cpu_suppress_min_percent = 60;
  EXPECT_EQ(node.plan().readiness, ReactionReadiness::kNothingLess);
}

TEST(Reaction, OfflinePodsOutsideTheirCgroupAreNotOnline) {
  Busy node;
  node.pod("batch", KubeQos::kBurstable, model::Qos::kBe, 700);
  const ReactionPlan plan = node.plan();
  EXPECT_EQ(plan.less, (std::vector<std::string>{"kubepods/besteffort", "kubepods/burstable/batch"}));
  EXPECT_EQ(plan.known.value, 200);
  for (int i = 0; i < 9; ++i) node.pod("more" + std::to_string(i), KubeQos::kGuaranteed, model::Qos::kBe, 0);
  EXPECT_EQ(node.plan().readiness, ReactionReadiness::kTooManyGroups);
}

TEST(Reaction, IgnoresTasksOutsideTheKubeletsCgroups) {
  Busy node;
  const auto nginx = node.pod("nginx", KubeQos::kGuaranteed, model::Qos::kLs, 900);
  node.tasks[nginx].kind = model::TaskKind::kHostApplication;
  node.tasks[nginx].path = "nginx.slice";
  EXPECT_EQ(node.plan().known.value, 200);
}

// A v1 kernel refuses a quota below a child's.
TEST(Reaction, IsNoLessThanTheQuotaOfATaskInTheGroup) {
  Busy node;
  node.decided = node.decide();
  Intent cut;
  cut.group = "kubepods/besteffort/job";
  cut.want = Want::kCpuQuota;
  cut.value = 90'000;
  node.decided.intents.push_back(cut);
  EXPECT_EQ(text_of(plan_reaction(node.decided, node.seen, 240'000)),
            (std::vector<std::string>{"400m: 200000", "401m: 100000"}));
  node.seen.nested_quota = false;
  EXPECT_EQ(plan_reaction(node.decided, node.seen, 240'000).steps.size(), 4u);
}

TEST(Reaction, NeedsAQuota) {
  const auto readiness = [](auto change) {
    Busy node;
    change(node);
    return node.plan().readiness;
  };
  EXPECT_EQ(readiness([](Node& node) { node.rules.threshold.enable = false; }), ReactionReadiness::kNothingHeld);
  EXPECT_EQ(readiness([](Node& node) { node.seen.node_off = true; }), ReactionReadiness::kNodeOff);
  EXPECT_EQ(readiness([](Node& node) { node.seen.besteffort_quota_us.reset(); }), ReactionReadiness::kNothingHeld);
  EXPECT_EQ(readiness([](Node& node) { node.seen.groups.besteffort = "besteffort"; }), ReactionReadiness::kNotKnown);
  EXPECT_EQ(readiness([](Node& node) {
              node.by_processors();
              node.seen.kubelet_static = true;
            }),
            ReactionReadiness::kContainers);
  Busy node;
  EXPECT_EQ(plan_reaction(node.decide(), node.seen, kNoLimit).readiness, ReactionReadiness::kNothingHeld);
}

// 16000 × 65 % − 200 = 10200: eleven processors.
TEST(Reaction, ByProcessorsItTakesPartsOfWhatIsInForceTheDeepestFirst) {
  Busy node;
  node.cores = 16;
  node.by_processors();
  node.decided = node.decide();
  ASSERT_EQ(node.decided.cpus.size(), 11u);
  const ReactionPlan plan = plan_reaction(node.decided, node.seen, 11);
  ASSERT_EQ(plan.readiness, ReactionReadiness::kReady);
  EXPECT_EQ(plan.groups, (std::vector<std::string>{"kubepods/besteffort/job/c1", "kubepods/besteffort/job/c2",
                                                   "kubepods/besteffort/job", "kubepods/besteffort"}));
  EXPECT_EQ(text_of(plan), (std::vector<std::string>{"1600m: 8", "2201m: 4", "6201m: 2"}));
  for (const ReactionStep& each : plan.steps) {
    EXPECT_EQ(std::ssize(each.cpus), each.amount);
    EXPECT_TRUE(std::ranges::includes(node.decided.cpus, each.cpus));
  }
  node.seen.nested_cpuset = false;
  EXPECT_EQ(plan_reaction(node.decided, node.seen, 11).groups, std::vector<std::string>{"kubepods/besteffort"});
}

TEST(Reaction, CpusetsSkipTheReactionForTooManyCgroups) {
  Busy node;
  node.cores = 16;
  node.by_processors();
  for (int i = 0; i < 70; ++i) node.seen.groups.containers.push_back("kubepods/besteffort/job/x" + std::to_string(i));
  node.decided = node.decide();
  EXPECT_EQ(plan_reaction(node.decided, node.seen, 11).readiness, ReactionReadiness::kTooManyGroups);
}

// A step that is no part of what is in force could not be written from the bottom up.
TEST(Reaction, ByProcessorsAStepIsAPartOfTheOneBefore) {
  Busy node;
  node.cores = 16;
  node.by_processors();
  node.decided = node.decide();
  node.decided.cpus = {8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(plan_reaction(node.decided, node.seen, 8).readiness, ReactionReadiness::kNothingLess);
}

// Whatever online work comes to use, no more is left to offline work than the next decision would leave it.
TEST(Reaction, LeavesNoMoreThanAFullDecision) {
  std::mt19937_64 random(11);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    Node node;
    node.cores = 1 + below(128);
    node.rules.threshold.cpu_suppress_percent = below(101);
    if (below(2) == 0) node.rules.threshold.cpu_suppress_min_percent = below(30);
    const auto web = node.pod("web", KubeQos::kBurstable, model::Qos::kLs, below(node.cores * 1000));
    node.pod("job", KubeQos::kBestEffort, model::Qos::kBe, below(node.cores * 1000));
    const ReactionPlan plan = node.plan();
    std::int64_t narrowest = plan.in_force;
    CpuMilli rise{INT64_MIN};
    for (const ReactionStep& each : plan.steps) {
      ASSERT_LT(each.amount, narrowest);
      ASSERT_GE(each.amount, kSuppressQuotaMin_us);
      ASSERT_GE(each.rise.value, std::max<std::int64_t>(node.cores * 1000 * kReactionRise_percent / 100, 1));
      ASSERT_GE(each.rise, rise);
      narrowest = each.amount;
      rise = each.rise;
    }
    if (plan.steps.empty()) continue;
    const CpuMilli risen{below(2 * node.cores * 1000)};
    const ReactionStep* step = step_for(plan.steps, risen);
    *node.seen.tasks[web].used += risen;
    node.seen.besteffort_quota_us = plan.in_force;
    const SuppressPlan later = node.decide();
    if (step == nullptr) {
      ASSERT_GE(later.quota_us, plan.in_force - node.cores * kReactionRise_percent * 1000 - 100);
      continue;
    }
    ++taken;
    ASSERT_LE(step->amount, later.quota_us);
    const bool nothing_left = later.quota_us == plan.steps.back().amount;
    if (nothing_left) ASSERT_EQ(step->amount, later.quota_us) << "the least is the least";
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace tidemark::policy::protect
