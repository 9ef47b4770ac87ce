#include "agent/sampler/kernel_events.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>

#include "agent/testing/provider.h"
#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::agent {
namespace {

using Kind = linux::KernelIncidentKind;

struct KernelEventsTest : ::testing::Test {
  linux::testing::Tree tree;
  testing::Provider pods{"kubelet", model::TaskKind::kPod};
  TaskList list{{&pods}};
  std::int64_t sequence = 0;

  KernelEventsTest() {
    linux::testing::make_v1(tree);
    tree.write("kmsg", "");
    pods.say({"a kubepods/pod1", "b kubepods/pod2"});
  }
  KernelEvents opened(std::string_view mountinfo = "") {
    const auto hierarchies = linux::Hierarchies::discover(tree.root(), mountinfo).value();
    return std::move(*KernelEvents::open(tree.path("kmsg"), linux::KernelLog::From::kNow, hierarchies));
  }
  void say(std::string_view text) {
    std::ofstream(tree.path("kmsg"), std::ios::app) << base::cat("6,", ++sequence, ",1000,-;", text, "\n");
  }
  static std::string chosen(std::string_view limit, std::string_view group, int pid) {
    return base::cat("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=", limit,
                     ",task_memcg=", group, ",task=java,pid=", pid, ",uid=0");
  }
  static std::string killed(int pid) {
    return base::cat("Memory cgroup out of memory: Killed process ", pid,
                     " (java) total-vm:9kB, anon-rss:2048kB, file-rss:1kB, UID:0");
  }
  TaskHandle handle(std::string_view name) {
    for (const ListedTask& one : list.snapshot()->tasks) {
      if (one.task->name == name) return one.handle;
    }
    return {};
  }
};

TEST_F(KernelEventsTest, AKillIsOneEventWithItsOwner) {
  KernelEvents events = opened();
  say("eth0: link up");
  say(chosen("/kubepods/pod2", "/kubepods/pod2/c1", 41));
  say(chosen("/kubepods", "/kubepods/pod1/c1", 42));
  say(killed(41));
  say(killed(42));
  ASSERT_TRUE(*events.read(*list.snapshot()));
  const auto taken = events.take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].kind, Kind::kOomKill);
  EXPECT_EQ(taken[0].owner, handle("b"));
  EXPECT_EQ(taken[0].limit_owner, handle("b"));
  EXPECT_EQ(taken[0].anon_bytes, 2 << 20);
  EXPECT_EQ(taken[1].owner, handle("a"));
  EXPECT_EQ(taken[1].limit_owner, std::nullopt) << "the limit of all pods has no owner";
  EXPECT_EQ(taken[1].task, "java");
  EXPECT_EQ(events.count(Kind::kOomKill), 2);
  EXPECT_TRUE(events.take().empty());
}

TEST_F(KernelEventsTest, EventsWithoutGroup) {
  KernelEvents events = opened();
  say("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [stress:17]");
  say(killed(9));
  ASSERT_TRUE(*events.read(*list.snapshot()));
  const auto taken = events.take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].kind, Kind::kSoftLockup);
  EXPECT_EQ(taken[0].cpu, 3);
  EXPECT_EQ(taken[0].owner, std::nullopt);
  EXPECT_EQ(taken[1].kind, Kind::kOomKilled) << "the line before it was not seen";
}

TEST_F(KernelEventsTest, PartialMountOfGroups) {
  const std::string mounted =
      base::cat("35 31 0:32 /outer/kubepods-host ", tree.root(), "/memory rw - cgroup cgroup rw,memory\n");
  KernelEvents events = opened(mounted);
  say(chosen("/outer/kubepods-host/kubepods/pod1", "/outer/kubepods-host/kubepods/pod1/c1", 1));
  say(chosen("/inner/kubepods-host/kubepods/pod1", "/inner/kubepods-host/kubepods/pod1/c1", 2));
  ASSERT_TRUE(*events.read(*list.snapshot()));
  const auto taken = events.take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].owner, handle("a"));
  EXPECT_EQ(taken[1].owner, std::nullopt) << "another group of that name";
}

TEST_F(KernelEventsTest, HostGroupsInContainerNamespace) {
  const std::string mounted = base::cat("35 31 0:32 /../../.. ", tree.root(), "/memory rw - cgroup cgroup rw,memory\n");
  KernelEvents events = opened(mounted);
  say(chosen("/kubepods/pod1", "/kubepods/pod1/c1", 1));
  ASSERT_TRUE(*events.read(*list.snapshot()));
  const auto taken = events.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].owner, handle("a"));
}

TEST_F(KernelEventsTest, ReadsEndlessLogInParts) {
  KernelEvents events = opened();
  for (int at = 0; at < KernelEvents::kMessagesMax + 10; ++at) say(chosen("/x", "/x", at));
  EXPECT_FALSE(*events.read(*list.snapshot()));
  EXPECT_TRUE(*events.read(*list.snapshot()));
  EXPECT_EQ(events.count(Kind::kOomKill), KernelEvents::kMessagesMax + 10);
  const auto taken = events.take();
  ASSERT_EQ(taken.size(), KernelEvents::kEventsMax);
  EXPECT_EQ(taken.back().pid, KernelEvents::kMessagesMax + 9) << "the newest stay";
  EXPECT_EQ(events.dropped(), KernelEvents::kMessagesMax + 10 - static_cast<int>(KernelEvents::kEventsMax));
}

TEST_F(KernelEventsTest, ReportsMissingLog) {
  const auto hierarchies = linux::Hierarchies::discover(tree.root(), "").value();
  const auto none = KernelEvents::open(tree.path("no"), linux::KernelLog::From::kNow, hierarchies);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tidemark::agent
