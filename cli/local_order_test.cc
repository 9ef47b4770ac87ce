// The latch of the machine with failures: all possible steps are done, and the rest is reported.
#include "cli/local_order.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "agent/enforcer/found_journal.h"
#include "agent/protect/status.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/testing/tree.h"
#include "net/loop.h"
#include "net/testing/loop.h"

namespace tidemark::cli {
namespace {

constexpr const char* kOffline = "kubepods/besteffort";

// An agent ran here and is dead; offline work runs on.
class LocalOrderTest : public ::testing::Test {
 protected:
  LocalOrderTest() {
    linux::testing::make_v1(cgroups);
    for (const std::string group : {"kubepods", kOffline, "kubepods/besteffort/pod1"}) {
      linux::testing::make_v1_group(cgroups, group);
      cgroups.write(base::cat("cpu/", group, "/cpu.cfs_quota_us"), "-1\n");
    }
    for (const char* each : {"cpu", "cpuset", "memory", "freezer", "cpuacct", "blkio", "pids"}) {
      cgroups.write(base::cat(each, "/kubepods/besteffort/pod1/cgroup.procs"), "4711\n");
    }
    proc.write("sys/kernel/random/boot_id", "b1\n");
    proc.write("self/mountinfo", "");
    agent::AgentStatus status;
    status.offline_group = kOffline;
    EXPECT_TRUE(agent::write_status(order.places.run_dir, status));
    agent_kept_pods(R"("labels":{"koordinator.sh/qosClass":"BE"})");
  }
  // Of the kubelet's list the pod "1".
  void agent_kept_pods(std::string_view labels) {
    run.write("pods.json", base::cat(R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{)",
                                     R"("name":"job","namespace":"night","uid":"1",)", labels,
                                     R"(},"spec":{"containers":[{"name":"main","image":"x"}]},)",
                                     R"("status":{"phase":"Running","qosClass":"BestEffort"}}]})"));
  }
  LocalReport give() { return net::testing::run_task(loop, clock, give_local_order(loop, order)); }
  std::string quota() const {
    return std::string(base::trim(
        journal::read_whole(cgroups.path("cpu/kubepods/besteffort/cpu.cfs_quota_us"), 64).value().value_or("gone")));
  }

  linux::testing::Tree cgroups, proc, run, lib;
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  LocalOrder order{
      .by = "root@n1", .why = "disk", .places = {cgroups.root(), proc.root(), run.root(), lib.path("latch")}};
};

TEST_F(LocalOrderTest, LimitsOfflineWorkAndWritesLatch) {
  const LocalReport report = give();
  EXPECT_FALSE(report.failed()) << render_text(report, order);
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(quota(), "2000");
  EXPECT_EQ(agent::read_latch(lib.path("latch"))->why, "disk");
}

TEST_F(LocalOrderTest, DoesNotLimitKnownOnlinePod) {
  agent_kept_pods(R"("labels":{})");
  const LocalReport report = give();
  EXPECT_FALSE(report.failed()) << render_text(report, order);
  EXPECT_EQ(quota(), "-1");
}

TEST_F(LocalOrderTest, ReportsUnreadablePodList) {
  run.write("pods.json", "{");
  const LocalReport report = give();
  EXPECT_TRUE(report.failed());
  EXPECT_NE(render_text(report, order).find("not done: the pods that an agent kept"), std::string::npos)
      << render_text(report, order);
}

TEST_F(LocalOrderTest, OnRestoresOriginalValuesOnce) {
  give();
  ASSERT_EQ(quota(), "2000");
  order.off = false;
  const LocalReport report = give();
  EXPECT_FALSE(report.failed()) << render_text(report, order);
  EXPECT_EQ(quota(), "-1");
  EXPECT_NE(render_text(report, order).find("had before the machine was switched off: 1"), std::string::npos)
      << render_text(report, order);
  EXPECT_FALSE(give().put_back) << "nothing was off any more";
}

// Its word outlives the agent: `on --local` says nothing against it.
TEST_F(LocalOrderTest, ClusterOffKeepsLimits) {
  give();
  agent::AgentStatus status;
  status.offline_group = kOffline;
  status.off = true;
  ASSERT_TRUE(agent::write_status(order.places.run_dir, status));
  order.off = false;
  EXPECT_FALSE(give().failed());
  EXPECT_EQ(quota(), "2000");
}

TEST_F(LocalOrderTest, LimitsOfflineWorkOnFullDisk) {
  std::filesystem::create_directories(lib.path(".latch.new"));  // where a new one is written first
  const LocalReport report = give();
  EXPECT_TRUE(report.failed());
  EXPECT_EQ(quota(), "2000");
  EXPECT_TRUE(agent::read_latch(agent::run_latch(run.root())));
  EXPECT_TRUE(agent::read_latch(lib.path("latch"))) << "one that says nothing";
  EXPECT_NE(render_text(report, order).find("not done: the switch of this machine"), std::string::npos);
  EXPECT_EQ(render_json(report, order).at("notDone")->as_array().size(), 1U);
}

TEST_F(LocalOrderTest, ListsTasksThatAreNotLimited) {
  std::filesystem::remove(cgroups.path("cpu/kubepods/besteffort/cpu.cfs_quota_us"));
  const LocalReport report = give();
  EXPECT_TRUE(report.failed());
  const std::string text = render_text(report, order);
  EXPECT_NE(text.find("NOT HELD, offline work runs on there as before: 1\n  kubepods/besteffort/cpu.cfs_quota_us"),
            std::string::npos)
      << text;
  EXPECT_EQ(render_json(report, order).at("notHeld")->as_array().size(), 1U);
}

// It reads the order, and limits no task.
TEST_F(LocalOrderTest, AgentThatCannotWriteCountsAsNotDone) {
  const auto journal = agent::FoundJournal::open(run.root(), "b1");
  ASSERT_TRUE(journal);
  agent::AgentStatus status;
  status.off = status.latched = true;
  ASSERT_TRUE(agent::write_status(order.places.run_dir, status));
  EXPECT_FALSE(give().failed());
  status.trouble = "no space left on the device";
  ASSERT_TRUE(agent::write_status(order.places.run_dir, status));
  const LocalReport report = give();
  EXPECT_TRUE(report.failed());
  EXPECT_NE(render_text(report, order).find("not done: the agent can write nothing: no space left"), std::string::npos)
      << render_text(report, order);
}

TEST_F(LocalOrderTest, OnRemovesBothLatchesAsFarAsPossible) {
  give();
  order.off = false;
  std::filesystem::remove(lib.path("latch"));
  std::filesystem::create_directories(lib.path("latch/x"));  // cannot be removed
  const LocalReport report = give();
  EXPECT_TRUE(report.failed());
  EXPECT_FALSE(agent::read_latch(agent::run_latch(run.root())));
  EXPECT_EQ(report.troubles.size(), 1U);
}

}  // namespace
}  // namespace tidemark::cli
