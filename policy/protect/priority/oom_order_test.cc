#include "policy/protect/priority/oom_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::policy::protect {
namespace {

using model::KubeQos;

constexpr model::MemoryBytes kMachine{std::int64_t{100} << 30};

model::Task pod(const std::string& name, KubeQos kube, std::optional<std::int64_t> request_gib = std::nullopt) {
  model::Task task;
  task.kube_qos = kube;
  task.phase = model::PodPhase::kRunning;
  task.name = name;
  task.path = "kubepods/pod" + name;
  model::TaskContainer container;
  container.name = "main";
  container.path = task.path + "/c";
  if (request_gib) container.requests.native.memory = model::MemoryBytes{*request_gib << 30};
  task.containers.push_back(std::move(container));
  return task;
}
model::Task offline(model::Task task) {
  task.qos_raw = task.qos = model::Qos::kBe;
  return task;
}
model::Task infrastructure(model::Task task) {
  task.infrastructure = true;
  return task;
}
model::Task yarn(const std::string& name) {
  model::Task task = offline({});
  task.kind = model::TaskKind::kCopilotTask;
  task.phase = model::PodPhase::kRunning;
  task.path = "yarn/" + name;
  return task;
}

OomPlan plan_of(const std::vector<model::Task>& tasks, model::MemoryBytes machine = kMachine) {
  std::vector<const model::Task*> all;
  for (const model::Task& each : tasks) all.push_back(&each);
  return oom_order({all, machine});
}

TEST(OomOrder, CoversOnlyOfflineWorkAndItsDependencies) {
  const OomPlan plan =
      plan_of({pod("web", KubeQos::kBurstable, 4), offline(pod("job", KubeQos::kBestEffort)), yarn("c-2"),
               infrastructure(yarn("c-1")), infrastructure(pod("nm", KubeQos::kBestEffort))});
  EXPECT_EQ(plan.intents, (std::vector<OomIntent>{{"kubepods/podjob/c", OomRank::kOffline},
                                                  {"kubepods/podnm/c", OomRank::kInfrastructure},
                                                  {"yarn/c-1", OomRank::kOfflineInfrastructure},
                                                  {"yarn/c-2", OomRank::kOffline}}));
}

TEST(OomOrder, SkipsTasksWithoutCgroupEndedOrOfTheHost) {
  std::vector<model::Task> tasks(4, offline(pod("job", KubeQos::kBestEffort)));
  tasks[0].phase = model::PodPhase::kSucceeded;
  tasks[1].path.clear();
  tasks[2].kind = model::TaskKind::kHostApplication;
  tasks[3].containers[0].role = model::ContainerRole::kUnlisted;
  EXPECT_TRUE(plan_of(tasks).intents.empty());
}

// The kubelet's values: 1000 − 1000 × 4 of 100 GiB; without a request 999; of BestEffort 1000, which is held at 999.
TEST(OomOrder, ThresholdIsNotBelowTheScoresOfOnlinePods) {
  EXPECT_EQ(plan_of({}).line, 900);
  EXPECT_EQ(plan_of({pod("web", KubeQos::kBurstable, 4)}).line, 960);
  EXPECT_EQ(plan_of({pod("web", KubeQos::kBurstable, 40), pod("db", KubeQos::kGuaranteed, 40)}).line, 900);
  EXPECT_EQ(plan_of({pod("web", KubeQos::kBurstable)}).line, 999);
  EXPECT_EQ(plan_of({pod("web", KubeQos::kBestEffort)}).line, 999);
  EXPECT_EQ(plan_of({pod("web", KubeQos::kBurstable, 4)}, model::MemoryBytes()).line, 999) << "how large is it?";
  EXPECT_EQ(plan_of({offline(pod("job", KubeQos::kBestEffort)), infrastructure(pod("nm", KubeQos::kBestEffort))}).line,
            900)
      << "neither is online";
  model::Task critical = pod("proxy", KubeQos::kBurstable);
  critical.priority_number = 2'000'001'000;
  EXPECT_EQ(plan_of({critical}).line, 900);
}

TEST(OomOrder, OfflineWorkIsAlwaysFirst) {
  for (const std::int64_t found : {-1000, -997, 0, 999, 1000}) {
    EXPECT_EQ(oom_score_adj(OomRank::kOffline, found, 900), 1000);
  }
}

TEST(OomOrder, InfrastructureComesAfterItsTasks) {
  EXPECT_EQ(oom_score_adj(OomRank::kInfrastructure, 1000, 960), 960);
  for (const std::int64_t found : {-997, 0, 920, 999}) {
    EXPECT_EQ(oom_score_adj(OomRank::kInfrastructure, found, 960), found);
  }
}

TEST(OomOrder, MasterIsBetweenItsTasksAndOnlineWork) {
  EXPECT_EQ(oom_score_adj(OomRank::kOfflineInfrastructure, -997, 960), 960);
  EXPECT_EQ(oom_score_adj(OomRank::kOfflineInfrastructure, 1000, 960), 960);
  EXPECT_EQ(oom_score_adj(OomRank::kOfflineInfrastructure, 930, 960), 930);
}

// For any tasks: values in range, stable after one step, tasks before the infrastructure that they depend on, and no
// online pod.
TEST(OomOrder, Property) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<model::Task> tasks;
    for (int i = 0; i < 6; ++i) {
      const auto kube = static_cast<KubeQos>(random() % 3);
      model::Task task = random() % 4 == 0 ? yarn(std::to_string(i)) : pod(std::to_string(i), kube);
      if (!task.containers.empty() && random() % 2 == 0) {
        task.containers[0].requests.native.memory = model::MemoryBytes{static_cast<std::int64_t>(random() >> 1)};
      }
      if (random() % 3 == 0) task = offline(std::move(task));
      task.infrastructure = random() % 3 == 0;
      tasks.push_back(std::move(task));
    }
    const model::MemoryBytes machine{random() % 3 == 0 ? 0
                                                       : static_cast<std::int64_t>(random() >> (random() % 40 + 1))};
    const OomPlan plan = plan_of(tasks, machine);
    ASSERT_GE(plan.line, kOomLineMin);
    ASSERT_LE(plan.line, kOomLineMax);
    for (const OomIntent& intent : plan.intents) {
      const auto owner =
          std::ranges::find_if(tasks, [&](const model::Task& task) { return intent.group.starts_with(task.path); });
      ASSERT_NE(owner, tasks.end());
      ASSERT_TRUE(owner->infrastructure || owner->qos_raw == model::Qos::kBe);
      const auto found = static_cast<std::int64_t>(random() % 2001) - 1000;
      const std::int64_t given = oom_score_adj(intent.rank, found, plan.line);
      ASSERT_GE(given, kOomMin);
      ASSERT_LE(given, kOomMax);
      ASSERT_EQ(oom_score_adj(intent.rank, given, plan.line), given);
      ASSERT_EQ(given == kOomMax, intent.rank == OomRank::kOffline);
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::protect
