// Whatever providers claim: nothing on the node is counted twice, and nothing is left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/task_list.h"
#include "agent/testing/provider.h"
#include "base/random.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using model::TaskKind;

constexpr int kRounds = 500;
constexpr int kNames = 3;  // of a folder: few, so that claims meet
constexpr int kDepthMax = 4;
constexpr int kClaimsMax = 8;  // of a provider

std::string some_path(base::Random& random) {
  std::string path;
  const auto depth = 1 + random.below(kDepthMax);
  for (std::uint64_t i = 0; i < depth; ++i) {
    if (i > 0) path += '/';
    path += static_cast<char>('a' + random.below(kNames));
    if (random.below(4) == 0) path += '-';  // which comes before '/' among characters
  }
  return path;
}

struct TaskListProperty : ::testing::Test {
  testing::Provider pods{"kubelet", TaskKind::kPod};
  testing::Provider yarn{"yarn", TaskKind::kCopilotTask};
  testing::Provider hosts{"hosts", TaskKind::kHostApplication};
  TaskList list{{&pods, &yarn, &hosts}};
  base::Random random{42};
  std::vector<std::string> leaves;  // processes are in these; each uses 1

  void claim(testing::Provider& provider, std::string_view prefix) {
    std::vector<std::string> claims;
    const auto count = random.below(kClaimsMax);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string path = random.below(6) == 0 ? "" : some_path(random);
      claims.push_back(path.empty() ? base::cat(prefix, i) : base::cat(prefix, i, " ", path));
    }
    provider.say(claims);
  }
};

TEST_F(TaskListProperty, EveryUseHasOneOwner) {
  for (int round = 0; round < kRounds; ++round) {
    claim(pods, "p");
    claim(yarn, "y");
    claim(hosts, "h");
    leaves.clear();
    for (int i = 0; i < 20; ++i) leaves.push_back(some_path(random));

    const TaskSnapshot& now = *list.snapshot();
    // What a sampler reads: all of a group. What it reports: less the groups of the owners right below.
    std::vector<std::int64_t> own(now.tasks.size());
    for (std::size_t i = 0; i < now.tasks.size(); ++i) {
      const std::string& path = now.tasks[i].task->path;
      if (path.empty()) continue;
      own[i] = std::ranges::count_if(leaves, [&](const std::string& leaf) { return in_group(leaf, path); });
    }
    const std::vector<std::int64_t> whole = own;
    for (std::size_t i = 0; i < now.tasks.size(); ++i) {
      if (const auto above = now.tasks[i].above) own[*above] -= whole[i];
    }
    std::int64_t sum = 0;
    for (const std::int64_t each : own) {
      ASSERT_GE(each, 0) << "round " << round;
      sum += each;
    }
    const auto owned = std::ranges::count_if(leaves, [&](const std::string& leaf) {
      return std::ranges::any_of(now.tasks, [&](const ListedTask& each) {
        return !each.task->path.empty() && in_group(leaf, each.task->path);
      });
    });
    ASSERT_EQ(sum, owned) << "round " << round;
  }
}

TEST_F(TaskListProperty, TheRulesHold) {
  for (int round = 0; round < kRounds; ++round) {
    claim(pods, "p");
    claim(yarn, "y");
    claim(hosts, "h");
    const TaskSnapshot& now = *list.snapshot();
    std::set<std::string> paths;
    std::set<std::uint32_t> slots;
    for (std::size_t i = 0; i < now.tasks.size(); ++i) {
      const ListedTask& each = now.tasks[i];
      ASSERT_TRUE(slots.insert(each.handle.slot).second) << "one task a slot";
      if (each.task->path.empty()) {
        ASSERT_FALSE(each.above);
        continue;
      }
      ASSERT_TRUE(paths.insert(each.task->path).second) << "one owner a group";
      // The nearest above, by looking at all of them.
      std::optional<std::size_t> nearest;
      for (std::size_t j = 0; j < now.tasks.size(); ++j) {
        const std::string& other = now.tasks[j].task->path;
        if (j == i || other.empty() || !in_group(each.task->path, other)) continue;
        if (!nearest || other.size() > now.tasks[*nearest].task->path.size()) nearest = j;
      }
      ASSERT_EQ(each.above, nearest) << each.task->path;
      if (each.above) {
        ASSERT_LT(*each.above, i) << "an owner stands before what lies in it";
        const TaskKind above = now.tasks[*each.above].task->kind;
        if (each.task->kind == TaskKind::kHostApplication) {
          ASSERT_EQ(above, TaskKind::kHostApplication);
        }
        if (each.task->kind == TaskKind::kPod) {
          ASSERT_EQ(above, TaskKind::kPod) << "no other provider has a pod";
        }
      }
    }
    // No pod's claim is ever lost to another kind's.
    for (const RefusedTask& each : now.refused) {
      if (each.task->kind == TaskKind::kPod) {
        ASSERT_EQ(each.owner->kind, TaskKind::kPod);
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::agent
