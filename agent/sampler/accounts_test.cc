#include "agent/sampler/accounts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "agent/testing/provider.h"

namespace tidemark::agent {
namespace {

using model::TaskKind;

std::string name_of(const ListedTask* task) {
  return task ? task->task->name : "system";
}

TEST(Accounts, EveryGroupHasOneOwner) {
  testing::Provider pods("kubelet", TaskKind::kPod), yarn("yarn", TaskKind::kCopilotTask);
  pods.say({"a kubepods/pod1", "b kubepods/pod10", "waiting"});
  yarn.say({"task kubepods/pod1/nm/container_1"});
  TaskList list({&pods, &yarn});
  const TaskSnapshot& tasks = *list.snapshot();
  EXPECT_EQ(name_of(owner_of(tasks, "kubepods/pod1/c1")), "a");
  EXPECT_EQ(name_of(owner_of(tasks, "kubepods/pod1/nm/container_1")), "task");
  EXPECT_EQ(name_of(owner_of(tasks, "kubepods/pod10")), "b");
  EXPECT_EQ(name_of(owner_of(tasks, "kubepods/pod2")), "system") << "one without a group owns nothing";
  EXPECT_EQ(name_of(owner_of(tasks, "")), "system");

  const auto accounts = accounts_of(tasks);
  ASSERT_EQ(accounts.size(), 3u) << "one without a group is not measured";
  EXPECT_EQ(accounts[0].path, "kubepods/pod1");
  EXPECT_TRUE(accounts[0].counts);
  EXPECT_TRUE(accounts[0].online);
  EXPECT_EQ(accounts[1].path, "kubepods/pod1/nm/container_1");
  EXPECT_FALSE(accounts[1].counts) << "pod1 has its use in its own";
  EXPECT_FALSE(accounts[1].online);
}

TEST(Accounts, ContainersWithAGroupAreMeasured) {
  auto task = std::make_shared<model::Task>();
  task->path = "kubepods/pod1";
  task->qos = model::Qos::kBe;
  task->containers.resize(2);
  task->containers[0].id = "1";
  task->containers[0].path = "kubepods/pod1/1";
  task->containers[1].name = "not made yet";
  TaskSnapshot tasks;
  tasks.tasks.push_back({{3, 1}, std::move(task), std::nullopt});
  const auto accounts = accounts_of(tasks);
  ASSERT_EQ(accounts.size(), 1u);
  EXPECT_FALSE(accounts[0].online) << "offline by its class";
  ASSERT_EQ(accounts[0].containers.size(), 1u);
  EXPECT_EQ(accounts[0].containers[0], (ContainerSpec{"1", "kubepods/pod1/1"}));
}

}  // namespace
}  // namespace tidemark::agent
