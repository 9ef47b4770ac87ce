#include "agent/tasks/task_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/testing/provider.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using model::TaskKind;

struct TaskListTest : ::testing::Test {
  testing::Provider pods{"kubelet", TaskKind::kPod};
  testing::Provider yarn{"yarn", TaskKind::kCopilotTask};
  testing::Provider other{"other", TaskKind::kCopilotTask};
  testing::Provider hosts{"hosts", TaskKind::kHostApplication};
  TaskList list{{&pods, &yarn, &other, &hosts}};

  // "name<above", in the order of the list.
  std::string listed() {
    std::vector<std::string> texts;
    const TaskSnapshot& now = *list.snapshot();
    texts.reserve(now.tasks.size());
    for (const ListedTask& each : now.tasks) {
      texts.push_back(each.above ? base::cat(each.task->name, "<", now.tasks[*each.above].task->name)
                                 : each.task->name);
    }
    return base::join(texts, " ");
  }
  std::string refused() {
    std::vector<std::string> texts;
    texts.reserve(list.snapshot()->refused.size());
    for (const RefusedTask& each : list.snapshot()->refused) {
      texts.push_back(base::cat(each.task->identity.source, "/", each.task->name, ": ", to_string(each.why), " (",
                                each.owner->name, ")"));
    }
    return base::join(texts, "; ");
  }
};

TEST_F(TaskListTest, EachGroupHasOneOwner) {
  pods.say({"web kubepods/burstable/podw", "batch kubepods/besteffort/podb", "pending"});
  yarn.say({"c1 kubepods/besteffort/hadoop-yarn/c1", "c2 kubepods/besteffort/hadoop-yarn/c2"});
  hosts.say({"nginx host-latency-sensitive/nginx"});
  EXPECT_EQ(listed(), "pending nginx c1 c2 batch web");
  EXPECT_EQ(refused(), "");
}

// The word of a kubelet outranks all; of two that are alike the first provider's counts.
TEST_F(TaskListTest, PodWinsOverCopilotOverHostApplication) {
  pods.say({"web kubepods/podw"});
  yarn.say({"liar kubepods/podw", "c1 yarn/c1"});
  other.say({"c1-again yarn/c1"});
  hosts.say({"app kubepods/podw", "app2 yarn/c1"});
  EXPECT_EQ(listed(), "web c1");
  EXPECT_EQ(refused(),
            "yarn/liar: the group is another task's (web); hosts/app: the group is another task's (web); "
            "other/c1-again: the group is another task's (c1); hosts/app2: the group is another task's (c1)");
}

TEST_F(TaskListTest, ConfirmedTaskWins) {
  yarn.say({"before yarn/c1", "alone yarn/c2"});
  EXPECT_FALSE(list.snapshot()->tasks.at(0).unconfirmed);
  yarn.forget();
  other.say({"now yarn/c1"});
  EXPECT_EQ(listed(), "now alone");
  EXPECT_FALSE(list.snapshot()->tasks.at(0).unconfirmed);
  EXPECT_TRUE(list.snapshot()->tasks.at(1).unconfirmed);
}

TEST_F(TaskListTest, TaskOwnsNestedHostApplication) {
  pods.say({"web kubepods/podw"});
  yarn.say({"c1 yarn/c1"});
  hosts.say({"app kubepods/podw/helper", "deep kubepods/podw/ctr/x/y", "app2 yarn/c1/part", "next kubepods/podwide"});
  EXPECT_EQ(listed(), "web next c1");
  EXPECT_EQ(refused(),
            "hosts/deep: the group lies in a task's, which is limited and evicted as a whole (web); "
            "hosts/app: the group lies in a task's, which is limited and evicted as a whole (web); "
            "hosts/app2: the group lies in a task's, which is limited and evicted as a whole (c1)");
}

TEST_F(TaskListTest, YarnContainersInNodeManagerPodAreSeparate) {
  pods.say({"nm kubepods/burstable/podn"});
  yarn.say({"c1 kubepods/burstable/podn/ctr/hadoop-yarn/c1", "c2 kubepods/burstable/podn/ctr/hadoop-yarn/c2"});
  EXPECT_EQ(listed(), "nm c1<nm c2<nm");
  EXPECT_EQ(refused(), "");
}

// Else a copilot could have a pod's container killed as its own.
TEST_F(TaskListTest, ACopilotCannotClaimAPodsContainer) {
  pods.say({"web kubepods/burstable/podw"});
  yarn.say({"liar kubepods/burstable/podw/0123abcd"});
  EXPECT_EQ(listed(), "web");
  EXPECT_EQ(refused(), "yarn/liar: the group is a pod's container (web)");
}

TEST_F(TaskListTest, GroupWithPodCannotBeClaimed) {
  pods.say({"web kubepods/burstable/podw"});
  yarn.say({"liar kubepods/burstable"});
  hosts.say({"all kubepods"});
  EXPECT_EQ(listed(), "web");
  EXPECT_EQ(refused(), "hosts/all: the group has a pod in it (web); yarn/liar: the group has a pod in it (web)");
}

// As `host-application-config` names YARN's parent for Koordinator (copilot contract 13).
TEST_F(TaskListTest, HostApplicationKeepsTheRest) {
  yarn.say({"c1 kubepods/besteffort/hadoop-yarn/c1"});
  hosts.say({"yarn-task kubepods/besteffort/hadoop-yarn"});
  EXPECT_EQ(listed(), "yarn-task c1<yarn-task");
  EXPECT_EQ(refused(), "");
}

TEST_F(TaskListTest, TheNearestGroupAboveIsTheOwner) {
  hosts.say({"outer a", "inner a/b", "beside a-b"});
  yarn.say({"leaf a/b/c", "last a/d"});
  EXPECT_EQ(listed(), "outer inner<outer leaf<inner last<outer beside");
}

TEST_F(TaskListTest, ShowsStatusOfEachProvider) {
  pods.say({"a"});
  pods.stand(ProviderState::kHeld);
  const auto now = list.snapshot();
  ASSERT_EQ(now->sources.size(), 4u);
  EXPECT_EQ(now->sources[0].name, "kubelet");
  EXPECT_EQ(now->sources[0].state, ProviderState::kHeld);
  EXPECT_EQ(now->sources[0].tasks, 1u);
  EXPECT_EQ(to_string(now->sources[1].state), "waiting");
}

}  // namespace
}  // namespace tidemark::agent
