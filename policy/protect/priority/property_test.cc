#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "policy/protect/limits/limits.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/protect/priority/class_weights.h"
#include "policy/protect/priority/cpu_priority.h"
#include "policy/protect/testing/tasks.h"

namespace tidemark::policy::protect {
namespace {

constexpr std::uint64_t kPrioritySeeds = 3'000;

CpuQos any_qos(std::mt19937_64& random) {
  constexpr std::int64_t kIdentities[] = {-1, -1, 0, 1, 2, 2, 3, -2, INT64_MAX, INT64_MIN};
  return {random() % 3 != 0, kIdentities[random() % std::size(kIdentities)], random() % 4 == 0 ? 1 : 0};
}

PriorityInput any_priorities(std::mt19937_64& random, std::span<const model::Task* const> tasks) {
  constexpr std::optional<Knob> kRungs[] = {Knob::kCpuBvt, Knob::kCpuQosLevel, Knob::kCpuIdle, std::nullopt};
  PriorityInput input;
  input.tasks = tasks;
  if (random() % 8 != 0) input.groups = {"kubepods", "kubepods/burstable", "kubepods/besteffort"};
  input.lsr = any_qos(random);
  input.ls = any_qos(random);
  input.be = any_qos(random);
  input.cpu_policy = random() % 4 != 0 ? CpuQosPolicy::kGroupIdentity : CpuQosPolicy::kCoreSched;
  input.switched_off = random() % 2 == 0;
  input.rung = kRungs[random() % std::size(kRungs)];
  input.own_groups = random() % 2 == 0;
  return input;
}

// For any tasks and settings: one of four priorities, once for each cgroup, in order. On a mainline kernel only -1, for
// the cgroups of offline work; or for besteffort as a whole if no other program writes it and no other work is in it.
TEST(PriorityProperty, OneOfFourForEachGroupOnce) {
  std::size_t set_back = 0, as_one = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= kPrioritySeeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    const PriorityInput input = any_priorities(random, all);
    const bool mainline = input.rung == Knob::kCpuIdle || !input.rung;
    std::set<std::string> offline, written;
    bool online_in_besteffort = false, online_in_kubepods = false;
    for (const model::Task& task : tasks) {
      const bool online = !is_offline(task) && !task.terminal();
      online_in_besteffort = online_in_besteffort || (online && task.path.starts_with("kubepods/besteffort/"));
      online_in_kubepods = online_in_kubepods || (online && task.path.starts_with("kubepods/"));
      if (!may_be_written(task)) continue;
      if (is_offline(task)) offline.insert(task.path);
      written.insert(task.path);
      for (const auto& each : task.containers) written.insert(each.path);
    }
    const PriorityPlan plan = cpu_priority(input);
    std::set<std::string> seen;
    for (const Intent& intent : plan.intents) {
      ASSERT_EQ(intent.want, Want::kCpuPriority);
      ASSERT_EQ(intent.strategy, model::Strategy::kCpuPriority);
      ASSERT_TRUE(intent.value >= -1 && intent.value <= 2) << "seed " << seed;
      ASSERT_TRUE(!intent.group.empty() && seen.insert(intent.group).second) << "seed " << seed;
      const bool directory = intent.group == input.groups.guaranteed || intent.group == input.groups.burstable ||
                             intent.group == input.groups.besteffort;
      ASSERT_TRUE(directory || written.contains(intent.group)) << "seed " << seed << " " << intent.group;
      if (!mainline) continue;
      ASSERT_EQ(intent.value, -1) << "seed " << seed << " " << intent.group;
      if (directory) {
        ASSERT_NE(intent.group, input.groups.burstable) << "seed " << seed;
        ASSERT_TRUE(input.own_groups) << "seed " << seed;
        ASSERT_FALSE(intent.group == input.groups.besteffort ? online_in_besteffort : online_in_kubepods)
            << "seed " << seed;
        ++as_one;
        continue;
      }
      ASSERT_TRUE(offline.contains(intent.group)) << "seed " << seed << " " << intent.group;
      ++set_back;
    }
    ASSERT_TRUE(std::ranges::is_sorted(plan.intents, {}, &Intent::group));
    for (const auto& each : plan.refused) {
      ASSERT_FALSE(seen.contains(each.group)) << "seed " << seed;
      ASSERT_FALSE(each.why.empty());
      ++refused;
    }
    if (offline_runs_idle(input)) {
      for (const auto& each : offline) ASSERT_TRUE(seen.contains(each)) << "seed " << seed << " " << each;
    }
  }
  EXPECT_GT(set_back, 100U);
  EXPECT_GT(as_one, 10U);
  EXPECT_GT(refused, 10U);
}

// A higher group identity of a class lowers no cgroup.
TEST(PriorityProperty, GrowsWithTheClass) {
  for (std::uint64_t seed = 1; seed <= kPrioritySeeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    PriorityInput input = any_priorities(random, all);
    input.rung = Knob::kCpuBvt;
    const auto before = cpu_priority(input).intents;
    for (CpuQos* each : {&input.lsr, &input.ls, &input.be}) {
      if (each->group_identity < 2) ++each->group_identity;
    }
    const auto after = cpu_priority(input).intents;
    ASSERT_EQ(after.size(), before.size()) << "seed " << seed;
    for (std::size_t i = 0; i < after.size(); ++i) {
      ASSERT_EQ(after[i].group, before[i].group);
      ASSERT_GE(after[i].value, before[i].value) << "seed " << seed << " " << after[i].group;
    }
  }
}

std::vector<model::WorkClass> any_classes(std::mt19937_64& random) {
  constexpr std::string_view kNames[] = {"transcode", "training", "spark"};
  constexpr std::int64_t kWeights[] = {1, 25, 100, 400, 10'000, 0, -5, INT64_MAX};
  constexpr std::int64_t kPercents[] = {0, 0, 50, 100, 101, -1, INT64_MAX};
  std::vector<model::WorkClass> classes;
  for (auto left = random() % 4; left > 0; --left) {
    model::WorkClass& one = classes.emplace_back();
    one.name = kNames[random() % 3];
    one.cpu_weight = kWeights[random() % std::size(kWeights)];
    one.memory_low_percent = kPercents[random() % std::size(kPercents)];
  }
  return classes;
}

TEST(ClassWeightsProperty, StayInTheKernelsRangeForOfflineWork) {
  std::size_t shares = 0, low = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= kPrioritySeeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    const auto classes = any_classes(random);
    const ClassWeightsInput input{all, classes, random() % 3 == 0};
    std::map<std::string, const model::Task*> offline;
    for (const model::Task& task : tasks) {
      if (may_be_written(task) && is_offline(task)) offline[task.path] = &task;
    }
    const ClassWeightsPlan plan = class_weights(input);
    ASSERT_TRUE(!classes.empty() || (plan.intents.empty() && plan.without_weight.empty()));
    std::set<std::pair<std::string, Want>> seen;
    for (const Intent& intent : plan.intents) {
      const auto found = offline.find(intent.group);
      ASSERT_NE(found, offline.end()) << "seed " << seed << " " << intent.group;
      ASSERT_TRUE(seen.insert({intent.group, intent.want}).second) << "seed " << seed;
      ASSERT_EQ(intent.strategy, model::Strategy::kClassWeights);
      if (intent.want == Want::kCpuShares) {
        ASSERT_FALSE(input.idle) << "seed " << seed;
        ASSERT_TRUE(intent.value >= 2 && intent.value <= 262'144) << "seed " << seed;
        ++shares;
      } else {
        ASSERT_EQ(intent.want, Want::kMemoryLow);
        ASSERT_TRUE(intent.value > 0 && intent.value <= found->second->requests.batch.memory->value) << "seed " << seed;
        ++low;
      }
    }
    ASSERT_TRUE(input.idle || plan.without_weight.empty());
    for (const auto& each : plan.without_weight) ASSERT_TRUE(offline.contains(each)) << "seed " << seed;
    without += plan.without_weight.size();
  }
  EXPECT_GT(shares, 500U);
  EXPECT_GT(low, 100U);
  EXPECT_GT(without, 100U);
}

// Of the limits and the class weights one at most asks for the shares of a group; where the limits would, and offline
// work is not idle, exactly one.
TEST(ClassWeightsProperty, OneAsksForTheSharesOfAGroup) {
  std::size_t by_limits = 0, by_weights = 0;
  for (std::uint64_t seed = 1; seed <= kPrioritySeeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    const auto classes = any_classes(random);
    const bool idle = random() % 3 == 0;
    std::set<std::string> own;
    for (const model::Task& task : tasks) own.insert(task.path);
    const auto groups = [](const std::vector<Intent>& intents) {
      std::set<std::string> out;
      for (const Intent& intent : intents) {
        if (intent.want == Want::kCpuShares) out.insert(intent.group);
      }
      return out;
    };
    const auto limits = groups(batch_limits({all, 100, false, group_shares_of_limits(classes, idle)}));
    const auto weights = groups(class_weights({all, classes, idle}).intents);
    for (const auto& group : groups(batch_limits({all, 100, false, true}))) {
      const bool wanted = !own.contains(group) || !idle;
      ASSERT_EQ(limits.contains(group) != weights.contains(group), wanted) << "seed " << seed << " " << group;
    }
    for (const auto& group : weights) ASSERT_FALSE(limits.contains(group)) << "seed " << seed << " " << group;
    by_limits += limits.size();
    by_weights += weights.size();
  }
  EXPECT_GT(by_limits, 500U);
  EXPECT_GT(by_weights, 500U);
}

// A larger request, weight or percent gives no less.
TEST(ClassWeightsProperty, MoreIsNeverLess) {
  for (std::uint64_t seed = 1; seed <= kPrioritySeeds; ++seed) {
    std::mt19937_64 random(seed);
    auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    auto classes = any_classes(random);
    const auto values = [&] {
      std::map<std::pair<std::string, Want>, std::int64_t> out;
      for (const Intent& intent : class_weights({all, classes, false}).intents) {
        out[{intent.group, intent.want}] = intent.value;
      }
      return out;
    };
    const auto before = values();
    for (model::Task& task : tasks) {
      auto& request = task.requests.batch;
      if (request.cpu) *request.cpu += {static_cast<std::int64_t>(random() % 5'000)};
      if (request.memory) *request.memory += {static_cast<std::int64_t>(random() % 5'000)};
    }
    for (model::WorkClass& each : classes) {
      if (each.cpu_weight < 10'000) each.cpu_weight += static_cast<std::int64_t>(random() % 300);
      if (each.memory_low_percent < 100) each.memory_low_percent += static_cast<std::int64_t>(random() % 30);
    }
    const auto after = values();
    for (const auto& [what, value] : before) {
      ASSERT_TRUE(after.contains(what)) << "seed " << seed << " " << what.first;
      ASSERT_GE(after.at(what), value) << "seed " << seed << " " << what.first;
    }
  }
}

TEST(ClassWeightsProperty, TheOrderOfTasksChangesNothing) {
  for (std::uint64_t seed = 1; seed <= kPrioritySeeds / 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    auto all = testing::pointers(tasks);
    const auto classes = any_classes(random);
    PriorityInput input = any_priorities(random, all);
    const bool idle = random() % 2 == 0;
    const PriorityPlan priorities = cpu_priority(input);
    const ClassWeightsPlan weights = class_weights({all, classes, idle});
    std::ranges::shuffle(all, random);
    input.tasks = all;
    const PriorityPlan priorities_again = cpu_priority(input);
    ASSERT_EQ(priorities_again.intents, priorities.intents) << "seed " << seed;
    ASSERT_EQ(priorities_again.refused, priorities.refused) << "seed " << seed;
    const ClassWeightsPlan weights_again = class_weights({all, classes, idle});
    ASSERT_EQ(weights_again.intents, weights.intents) << "seed " << seed;
    ASSERT_EQ(weights_again.without_weight, weights.without_weight) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tidemark::policy::protect
