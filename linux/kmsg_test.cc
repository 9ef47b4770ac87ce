#include "linux/kmsg.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

TEST(Kmsg, ARecord) {
  const auto read =
      parse_kernel_message("30,1234,5678901,-,caller=T1;eth0: link; up\n SUBSYSTEM=net\n DEVICE=+pci:0\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->priority, 6) << "30 is priority 6 of facility 3";
  EXPECT_EQ(read->sequence, 1234);
  EXPECT_EQ(read->since_boot_us, 5'678'901);
  EXPECT_EQ(read->text, "eth0: link; up");
  for (const std::string_view record : {"", "text", "6,1;x", "x,1,2,-;y", "6,1,-2,-;y", ";"})
    EXPECT_FALSE(parse_kernel_message(record)) << record;
}

TEST(Kmsg, AKillByTheLimitOfAGroup) {
  const auto incident = classify_kernel_message(
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri,mems_allowed=0,oom_memcg=/kubepods/burstable/"
      "pod1,"
      "task_memcg=/kubepods/burstable/pod1/c1,task=a,b (c),pid=4711,uid=0");
  ASSERT_TRUE(incident);
  EXPECT_EQ(incident->kind, KernelIncidentKind::kOomKill);
  EXPECT_EQ(incident->pid, 4711);
  EXPECT_EQ(incident->task, "a,b (c)");
  EXPECT_EQ(incident->group, "/kubepods/burstable/pod1/c1");
  EXPECT_EQ(incident->limit_group, "/kubepods/burstable/pod1");
}

TEST(Kmsg, AKillBecauseTheMachineIsFull) {
  const auto incident = classify_kernel_message(
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/"
      "x,task=java,pid=9,uid=1000");
  ASSERT_TRUE(incident);
  EXPECT_EQ(incident->limit_group, "");
  EXPECT_EQ(incident->group, "/x");
}

TEST(Kmsg, NamesTheKilledProcess) {
  for (const std::string_view begin : {"Memory cgroup out of memory: Killed", "Out of memory: Killed",
                                       "Out of memory (oom_kill_allocating_task): Killed"}) {
    const auto incident = classify_kernel_message(
        std::string(begin) + " process 4711 (a (b)) total-vm:9kB, anon-rss:2048kB, file-rss:1kB, UID:0");
    ASSERT_TRUE(incident) << begin;
    EXPECT_EQ(incident->kind, KernelIncidentKind::kOomKilled);
    EXPECT_EQ(incident->pid, 4711);
    EXPECT_EQ(incident->anon_bytes, 2048 * 1024);
  }
  const std::string line = "Out of memory: Killed process 1 (a (b)) total-vm:9kB, anon-rss:xkB";
  const auto incident = classify_kernel_message(line);
  ASSERT_TRUE(incident);
  EXPECT_EQ(incident->task, "a (b)");
  EXPECT_FALSE(incident->anon_bytes) << "what is not said is not zero";
}

TEST(Kmsg, HangsAndLockups) {
  const auto hung = classify_kernel_message("INFO: task kworker/0:1:12 blocked for more than 122 seconds.");
  ASSERT_TRUE(hung);
  EXPECT_EQ(hung->kind, KernelIncidentKind::kHungTask);
  EXPECT_EQ(hung->task, "kworker/0:1");
  EXPECT_EQ(hung->pid, 12);
  EXPECT_EQ(hung->seconds, 122);
  const auto soft = classify_kernel_message("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [java:815]");
  ASSERT_TRUE(soft);
  EXPECT_EQ(soft->kind, KernelIncidentKind::kSoftLockup);
  EXPECT_EQ(soft->cpu, 3);
  EXPECT_EQ(soft->seconds, 22);
  EXPECT_EQ(soft->pid, 815);
  const auto hard = classify_kernel_message("NMI watchdog: Watchdog detected hard LOCKUP on cpu 7dModules linked in:");
  ASSERT_TRUE(hard);
  EXPECT_EQ(hard->kind, KernelIncidentKind::kHardLockup);
  EXPECT_EQ(hard->cpu, 7);
  EXPECT_EQ(classify_kernel_message("rcu: INFO: rcu_preempt self-detected stall on CPU")->kind,
            KernelIncidentKind::kRcuStall);
}

TEST(Kmsg, IgnoresOtherMessages) {
  for (const std::string_view text : {"", "eth0: link up", "INFO: task x:1 is fine", "INFO: lockdep is turned off.",
                                      "x invoked oom-killer: gfp_mask=0x1", "say: oom-kill:constraint=x",
                                      "Out of memory and no killable processes..."}) {
    EXPECT_FALSE(classify_kernel_message(text)) << text;
  }
}

TEST(Kmsg, AFileOfRecords) {
  testing::Tree tree;
  tree.write("kmsg", "6,1,10,-;one\n DEVICE=x\nnonsense\n4,2,20,-;two\n4,3,30,-;unfinish");
  auto log = KernelLog::open(tree.path("kmsg"), KernelLog::From::kBeginning);
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ(log->next().value()->text, "one");
  EXPECT_EQ(log->next().value()->text, "two");
  EXPECT_FALSE(log->next().value()) << "a line is read when it is whole";
  tree.write("kmsg", "6,1,10,-;one\n DEVICE=x\nnonsense\n4,2,20,-;two\n4,3,30,-;unfinished\n");
  EXPECT_EQ(log->next().value()->text, "unfinished");
  EXPECT_EQ(log->lost(), 0);

  auto now = KernelLog::open(tree.path("kmsg"), KernelLog::From::kNow);
  ASSERT_TRUE(now);
  EXPECT_FALSE(now->next().value());
}

TEST(Kmsg, MissingLogIsUnsupported) {
  testing::Tree tree;
  EXPECT_EQ(KernelLog::open(tree.path("kmsg"), KernelLog::From::kNow).error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tidemark::linux
