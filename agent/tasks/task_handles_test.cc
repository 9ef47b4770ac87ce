// What keeps files open for tasks keeps them by handle.
#include <gtest/gtest.h>

#include <string_view>

#include "agent/tasks/task_list.h"
#include "agent/testing/provider.h"
#include "base/testing/allocations.h"

namespace tidemark::agent {
namespace {

struct TaskHandles : ::testing::Test {
  testing::Provider pods{"kubelet", model::TaskKind::kPod};
  TaskList list{{&pods}};

  TaskHandle handle(std::string_view name) {
    for (const ListedTask& each : list.snapshot()->tasks) {
      if (each.task->name == name) return each.handle;
    }
    ADD_FAILURE() << name << " is not listed";
    return {};
  }
};

TEST_F(TaskHandles, StayAsLongAsATaskAndItsGroup) {
  pods.say({"a kubepods/poda", "b kubepods/podb"});
  const TaskHandle a = handle("a"), b = handle("b");
  EXPECT_NE(a.slot, b.slot);
  pods.say({"b kubepods/podb", "c kubepods/podc", "a kubepods/poda"});
  EXPECT_EQ(handle("a"), a);
  EXPECT_EQ(handle("b"), b);
  EXPECT_EQ(handle("c").slot, 2u);

  pods.say({"b kubepods/podb"});
  EXPECT_EQ(list.snapshot()->find(a), nullptr);
  ASSERT_NE(list.snapshot()->find(b), nullptr);
  EXPECT_EQ(list.snapshot()->find(b)->task->name, "b");
  pods.say({"a kubepods/poda", "b kubepods/podb"});
  EXPECT_EQ(handle("a").slot, a.slot);  // slots stay small numbers
  EXPECT_NE(handle("a").turn, a.turn);  // and are not mistaken for what was there before
  EXPECT_EQ(list.snapshot()->find(a), nullptr);
}

TEST_F(TaskHandles, ASlotDoesNotChangeItsOwnerWithinASnapshot) {
  pods.say({"a kubepods/poda"});
  const TaskHandle a = handle("a");
  pods.say({"b kubepods/podb"});
  EXPECT_NE(handle("b").slot, a.slot);
}

TEST_F(TaskHandles, AnotherGroupIsAnotherHandle) {
  pods.say({"a"});
  const TaskHandle without = handle("a");
  pods.say({"a kubepods/burstable/poda"});
  EXPECT_NE(handle("a"), without);
}

TEST_F(TaskHandles, DuplicateWithoutGroupIsListedOnce) {
  pods.say({"a", "a", "b"});
  EXPECT_EQ(list.snapshot()->tasks.size(), 2u);
}

TEST_F(TaskHandles, NothingNewAllocatesNothing) {
  pods.say({"a kubepods/poda", "b kubepods/podb"});
  const auto before = list.snapshot();
  const long allocated = base::testing::allocations();
  for (int i = 0; i < 100; ++i) {
    if (list.snapshot() != before) FAIL() << "another snapshot of the same";
  }
  EXPECT_EQ(base::testing::allocations() - allocated, 0);
}

TEST_F(TaskHandles, SnapshotIsImmutable) {
  pods.say({"a kubepods/poda"});
  const auto before = list.snapshot();
  pods.say({"b kubepods/podb"});
  const auto after = list.snapshot();
  EXPECT_EQ(before->tasks.at(0).task->name, "a");
  EXPECT_EQ(after->tasks.at(0).task->name, "b");
  EXPECT_GT(after->change, before->change);
}

}  // namespace
}  // namespace tidemark::agent
