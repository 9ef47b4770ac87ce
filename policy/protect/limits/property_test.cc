#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "policy/protect/limits/limits.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/protect/testing/tasks.h"

namespace tidemark::policy::protect {
namespace {

constexpr int kSeeds = 3'000;

LimitsInput any_input(std::mt19937_64& random, std::span<const model::Task* const> tasks) {
  constexpr std::int64_t kRatios[] = {100, 100, 0, -7, 101, 133, 250, 500, INT64_MAX};
  return {tasks, kRatios[random() % std::size(kRatios)], random() % 4 == 0, random() % 3 != 0};
}

using Values = std::map<std::pair<std::string, Want>, std::int64_t>;
Values values_of(const std::vector<Intent>& intents) {
  Values out;
  for (const Intent& intent : intents) out[{intent.group, intent.want}] = intent.value;
  return out;
}

// -1 is no limit.
bool at_least(std::int64_t a, std::int64_t b) {
  return a == kNoLimit || (b != kNoLimit && a >= b);
}

// For any tasks: intents are within the kernel's range, one per cgroup, in order, and only for cgroups of running tasks
// of QoS BE.
TEST(LimitsProperty, StayInTheKernelsRangeAndInOurCgroups) {
  std::size_t wanted = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    std::set<std::string> ours;
    for (const model::Task& task : tasks) {
      if (!may_be_written(task) || task.qos_raw != model::Qos::kBe) continue;
      ours.insert(task.path);
      for (const auto& each : task.containers) ours.insert(each.path);
    }
    const auto intents = batch_limits(any_input(random, all));
    wanted += intents.size();
    std::set<std::pair<std::string, Want>> seen;
    for (const Intent& intent : intents) {
      ASSERT_TRUE(!intent.group.empty() && ours.contains(intent.group)) << "seed " << seed << " " << intent.group;
      ASSERT_TRUE(seen.insert({intent.group, intent.want}).second) << "seed " << seed << " " << intent.group;
      ASSERT_EQ(intent.strategy, model::Strategy::kBatchLimits);
      ASSERT_TRUE(intent.cpus.empty());
      switch (intent.want) {
        case Want::kCpuShares:
          ASSERT_TRUE(intent.value >= 2 && intent.value <= 262'144) << "seed " << seed;
          break;
        case Want::kCpuQuota:
          ASSERT_TRUE(intent.value == -1 || (intent.value >= 1000 && intent.value < std::int64_t{1} << 44))
              << "seed " << seed;
          break;
        default:
          ASSERT_EQ(intent.want, Want::kMemoryLimit);
          ASSERT_TRUE(intent.value == -1 || intent.value > 0) << "seed " << seed;
      }
    }
    ASSERT_TRUE(std::ranges::is_sorted(seen));
    ASSERT_TRUE(std::ranges::is_sorted(intents, {}, [](const Intent& i) { return std::pair(i.group, i.want); }));
  }
  EXPECT_GT(wanted, static_cast<std::size_t>(kSeeds));
}

// A v1 kernel refuses a child's quota above its parent's.
TEST(LimitsProperty, PodLimitIsNeverBelowAContainers) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    const Values values = values_of(batch_limits(any_input(random, all)));
    for (const model::Task& task : tasks) {
      for (const auto& each : task.containers) {
        for (const Want want : {Want::kCpuQuota, Want::kMemoryLimit}) {
          const auto child = values.find({each.path, want});
          if (child == values.end()) continue;
          const auto parent = values.find({task.path, want});
          ASSERT_NE(parent, values.end()) << "seed " << seed;
          if (child->second == kNoLimit) continue;  // it uses its pod's
          ASSERT_TRUE(at_least(parent->second, child->second))
              << "seed " << seed << " " << parent->second << " " << child->second;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, kSeeds / 2);
}

TEST(LimitsProperty, OrderOfTasksDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    auto all = testing::pointers(tasks);
    LimitsInput input = any_input(random, all);
    const auto before = batch_limits(input);
    std::ranges::shuffle(all, random);
    input.tasks = all;
    ASSERT_EQ(batch_limits(input), before) << "seed " << seed;
  }
}

// A larger limit of a container makes no value of any cgroup smaller; a larger request no shares.
TEST(LimitsProperty, MoreIsNeverLess) {
  int grown = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(seed);
    auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    const LimitsInput input = any_input(random, all);
    const Values before = values_of(batch_limits(input));
    for (model::Task& task : tasks) {
      if (task.containers.empty()) continue;
      auto& container = task.containers[random() % task.containers.size()];
      const auto more = static_cast<std::int64_t>(random() % 100'000);
      for (model::SaidAmounts* each : {&container.requests.batch, &container.limits.batch}) {
        if (each->cpu) *each->cpu += {more};
        if (each->memory) *each->memory += {more};
      }
      task.requests = task.limits = {};
      testing::sum_up(task);
    }
    for (const auto& [what, value] : values_of(batch_limits(input))) {
      const auto was = before.find(what);
      ASSERT_NE(was, before.end()) << "seed " << seed;
      ASSERT_TRUE(at_least(value, was->second)) << "seed " << seed << " " << what.first << " " << value;
      grown += value > was->second ? 1 : 0;
    }
  }
  EXPECT_GT(grown, kSeeds / 2);
}

// Under a common quota no task has its own, and nothing else changes; with class weights, only the tasks' own shares
// are missing.
TEST(LimitsProperty, LeavesValuesOfOtherStrategies) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto tasks = testing::any_tasks(random);
    const auto all = testing::pointers(tasks);
    std::set<std::string> own;
    for (const model::Task& task : tasks) own.insert(task.path);
    const Values plain = values_of(batch_limits({all, 100, false, true}));
    for (const auto& [what, value] : values_of(batch_limits({all, 100, true, true}))) {
      ASSERT_EQ(value, what.second == Want::kCpuQuota ? kNoLimit : plain.at(what)) << "seed " << seed;
    }
    const Values left = values_of(batch_limits({all, 100, false, false}));
    for (const auto& [what, value] : plain) {
      const bool is_left = what.second == Want::kCpuShares && own.contains(what.first);
      ASSERT_EQ(left.contains(what), !is_left) << "seed " << seed << " " << what.first;
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::protect
