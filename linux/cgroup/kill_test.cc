#include "linux/cgroup/kill.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "linux/testing/kill_folder.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct KillTest : ::testing::Test {
  testing::Tree tree;
  testing::KillFolder rim{tree};
  std::optional<Hierarchies> hierarchies;

  void discover() { hierarchies = Hierarchies::discover(tree.root(), "").value(); }
  void make_v1(const std::vector<std::string>& groups) {
    testing::make_v1(tree);
    for (const std::string& group : groups) {
      testing::make_v1_group(tree, group);
      tree.write("freezer/" + group + "/freezer.state", "THAWED\n");
    }
    discover();
  }
  void make_v2(const std::vector<std::string>& groups) {
    testing::make_v2(tree);
    for (const std::string& group : groups) {
      testing::make_v2_group(tree, "", group);
      tree.write(group + "/cgroup.kill", "");
    }
    discover();
  }
  // In all hierarchies of v1 that matter.
  void add_v1(pid_t pid, const std::string& group) { rim.add(pid, {"cpu/" + group, "freezer/" + group}); }

  Result<KillReport> kill(const std::string& path) { return KernelGroupKiller(*hierarchies, rim).kill(path); }
  Result<KillReport> ask(const std::string& path) { return KernelGroupKiller(*hierarchies, rim).ask(path); }
  std::vector<pid_t> alive() const {
    std::vector<pid_t> out;
    for (const auto& [pid, process] : rim.processes) out.push_back(pid);
    return out;
  }
  std::string state(const std::string& group) {
    std::ifstream in(tree.path("freezer/" + group + "/freezer.state"));
    std::string text;
    in >> text;
    return text;
  }
};

using Pids = std::vector<pid_t>;

TEST_F(KillTest, KillsGroupAndDescendantsOnly) {
  make_v1({"top", "top/low", "top/low/lower", "topper", "other"});
  add_v1(11, "top");
  add_v1(12, "top/low");
  add_v1(13, "top/low/lower");
  add_v1(14, "topper");
  add_v1(15, "other");
  EXPECT_EQ(kill("top").value(), (KillReport{3, 0}));
  EXPECT_EQ(alive(), (Pids{14, 15}));
  EXPECT_TRUE(rim.written.empty()) << "what does not fork is not frozen";
}

TEST_F(KillTest, KillsDeepestFirst) {
  make_v1({"top", "top/low"});
  add_v1(11, "top");
  add_v1(12, "top/low");
  Pids held;
  rim.opened = [&](pid_t pid) { held.push_back(pid); };
  ASSERT_TRUE(kill("top"));
  EXPECT_EQ(held, (Pids{12, 11}));
}

TEST_F(KillTest, V2TakesOneWrite) {
  make_v2({"top", "top/low", "other"});
  rim.add(11, {"top"});
  rim.add(12, {"top/low"});
  rim.add(13, {"other"});
  EXPECT_EQ(kill("top").value(), (KillReport{2, 0}));
  EXPECT_EQ(alive(), Pids{13});
  EXPECT_EQ(rim.written, std::vector<std::string>{"top/cgroup.kill=1"});
}

TEST_F(KillTest, ChecksKernelSupportFirst) {
  make_v1({"top"});
  EXPECT_TRUE(can_kill_groups(*hierarchies, rim));
  rim.holds_none = true;
  EXPECT_EQ(can_kill_groups(*hierarchies, rim).error().kind, ErrorKind::kUnsupported);
}

TEST_F(KillTest, AFileThatKillsIsEnoughAsWell) {
  make_v2({"top"});
  rim.holds_none = true;
  EXPECT_TRUE(can_kill_groups(*hierarchies, rim));
  tree.remove("top/cgroup.kill");
  EXPECT_FALSE(can_kill_groups(*hierarchies, rim));
}

TEST_F(KillTest, V2WithoutKillFileKillsOneByOne) {  // before Linux 5.14
  make_v2({"top", "top/low"});
  tree.remove("top/cgroup.kill");
  rim.add(11, {"top"});
  rim.add(12, {"top/low"});
  EXPECT_EQ(kill("top").value(), (KillReport{2, 0}));
  EXPECT_TRUE(alive().empty());
}

// unified/ may have an empty cgroup of that name, while the controllers of v1 have the processes.
TEST_F(KillTest, KillsInBothVersionsOfHybridMachine) {
  tree.write("unified/cgroup.controllers", "");
  testing::make_v2_group(tree, "unified", "top");
  tree.write("unified/top/cgroup.kill", "");
  make_v1({"top"});
  ASSERT_EQ(hierarchies->layout(), Layout::kHybrid);
  add_v1(11, "top");
  rim.add(12, {"cpu/top", "unified/top"});
  EXPECT_EQ(kill("top").value(), (KillReport{2, 0}));
  EXPECT_TRUE(alive().empty());
}

TEST_F(KillTest, FreezesAndThawsForkingGroup) {
  make_v1({"top", "top/low"});
  add_v1(11, "top/low");
  rim.processes[11].forks = true;
  EXPECT_EQ(kill("top").value(), (KillReport{2, 0})) << "the first, and the one that came of it";
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(state("top"), "THAWED");
  EXPECT_EQ(rim.written,
            (std::vector<std::string>{"freezer/top/freezer.state=FROZEN", "freezer/top/freezer.state=THAWED"}));
}

// A pod that was paused, or that an agent froze and did not live to thaw: in v1 its processes die only then.
TEST_F(KillTest, ThawsGroupFrozenByOthers) {
  make_v1({"top", "top/low"});
  add_v1(11, "top/low");
  tree.write("freezer/top/low/freezer.state", "FROZEN\n");
  EXPECT_EQ(kill("top").value().left, 0u);
  EXPECT_TRUE(alive().empty());
  EXPECT_EQ(state("top/low"), "THAWED");
}

TEST_F(KillTest, ReportsUnkillableProcessAndThaws) {
  make_v1({"top"});
  add_v1(11, "top");
  add_v1(12, "top");
  rim.processes[11].stuck = true;
  EXPECT_EQ(kill("top").value(), (KillReport{1, 1}));
  EXPECT_EQ(state("top"), "THAWED");
}

// A process that holds much is dead for all others long before its memory is free: that is no kill that failed.
TEST_F(KillTest, WaitsForSlowProcessWithLimit) {
  make_v1({"top"});
  add_v1(11, "top");
  add_v1(12, "top");
  rim.processes[11].dies_after = kKillRounds * kKillRoundPatience + kKillLastPatience;
  EXPECT_EQ(kill("top").value(), (KillReport{2, 0}));
  add_v1(13, "top");
  rim.processes[13].dies_after = kKillRounds * kKillRoundPatience + 2 * kKillLastPatience;
  EXPECT_EQ(kill("top").value(), (KillReport{0, 1}));
}

TEST_F(KillTest, DoesNotWaitTwiceForKilledProcess) {
  make_v1({"top"});
  add_v1(11, "top");
  rim.processes[11].dies_after = 2 * kKillRounds * kKillRoundPatience;
  KernelGroupKiller killer(*hierarchies, rim);
  EXPECT_EQ(killer.kill_again("top").value(), (KillReport{0, 1}));
  EXPECT_EQ(killer.kill_again("top").value(), (KillReport{1, 0})) << "by now it has ended";
}

TEST_F(KillTest, ABrokenFreezerStopsNothing) {
  make_v1({"top"});
  add_v1(11, "top");
  rim.processes[11].forks = true;
  rim.refused_files["freezer/top/freezer.state"] = EIO;
  const auto report = kill("top");  // one goes and one comes, without end
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("freezer.state"), std::string::npos) << report.error().message;
}

// A number is taken by another process while the list is read.
TEST_F(KillTest, LeavesProcessThatLeftGroup) {
  make_v1({"top", "other"});
  add_v1(11, "top");
  add_v1(12, "top");
  rim.opened = [&](pid_t pid) {
    if (pid == 11) add_v1(11, "other");
  };
  EXPECT_EQ(kill("top").value(), (KillReport{1, 0}));
  EXPECT_EQ(alive(), Pids{11});
}

TEST_F(KillTest, MoreThanARoundHolds) {
  make_v1({"top"});
  const auto count = static_cast<pid_t>(3 * kKillProcessesARound);
  for (pid_t pid = 100; pid < 100 + count; ++pid) rim.processes[pid].groups = {"cpu/top", "freezer/top"};
  rim.show();
  EXPECT_EQ(kill("top").value(), (KillReport{3 * kKillProcessesARound, 0}));
}

TEST_F(KillTest, RefusesGroupOfInitAndCaller) {
  make_v1({"top", "top/low", "own"});
  add_v1(1, "top/low");
  add_v1(11, "top");
  add_v1(rim.own, "own");
  add_v1(12, "own");
  for (const char* group : {"top", "own"}) {
    for (const auto& report : {kill(group), ask(group)}) {
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().kind, ErrorKind::kDenied);
    }
  }
  EXPECT_EQ(alive(), (Pids{1, 11, 12, rim.own}));
  EXPECT_TRUE(rim.told.empty());
}

TEST_F(KillTest, RefusesGroupOfInitAndCallerInOneWrite) {
  make_v2({"top", "top/low"});
  rim.add(1, {"top/low"});
  rim.add(11, {"top"});
  EXPECT_FALSE(kill("top"));
  EXPECT_EQ(alive(), (Pids{1, 11}));
}

TEST_F(KillTest, RefusesRootAndPathsThatLeadUp) {
  make_v1({"top"});
  rim.add(11, {"cpu", "freezer"});
  add_v1(12, "top");
  for (const char* path : {"", "/", ".", "..", "top/..", "top/../..", "/top", "top/", "top//x", "./top"}) {
    for (const auto& report : {kill(path), ask(path)}) {
      ASSERT_FALSE(report) << path;
      EXPECT_EQ(report.error().kind, ErrorKind::kInvalid) << path;
    }
  }
  EXPECT_EQ(alive(), (Pids{11, 12}));
}

TEST_F(KillTest, MissingGroupHasNoProcesses) {
  make_v1({});
  EXPECT_EQ(kill("gone").value(), KillReport{});
  EXPECT_EQ(ask("gone").value(), KillReport{});
}

TEST_F(KillTest, ALinkIsNotFollowed) {
  make_v1({"top"});
  add_v1(11, "top");
  std::filesystem::create_symlink("top", tree.path("cpu/alias"));
  EXPECT_FALSE(kill("alias"));
  EXPECT_EQ(alive(), Pids{11});
}

TEST_F(KillTest, ProcessesOfAnotherNamespaceNeedTheHosts) {
  make_v1({"top"});
  add_v1(11, "top");
  add_v1(12, "top");
  rim.processes[12].foreign = true;
  rim.show();
  const auto report = kill("top");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kDenied);
  EXPECT_NE(report.error().message.find("the agent needs the host's pid namespace"), std::string::npos)
      << report.error().message;
  EXPECT_EQ(alive(), Pids{12});
}

TEST_F(KillTest, OneWriteReachesEveryNamespace) {
  make_v2({"top"});
  rim.processes[12].foreign = true;
  rim.add(12, {"top"});
  EXPECT_EQ(kill("top").value(), (KillReport{1, 0}));
}

TEST_F(KillTest, AskedProcessMayStay) {
  make_v1({"top", "top/low"});
  add_v1(11, "top");
  add_v1(12, "top/low");
  rim.processes[12].hears_sigterm = false;
  EXPECT_EQ(ask("top").value(), (KillReport{2, 1}));
  EXPECT_EQ(alive(), Pids{12});
  EXPECT_EQ(rim.told, (std::set<pid_t>{11, 12}));
  EXPECT_TRUE(rim.written.empty());
}

TEST_F(KillTest, AsksAllExceptSpared) {
  make_v1({"top"});
  add_v1(11, "top");
  add_v1(12, "top");
  EXPECT_EQ(KernelGroupKiller(*hierarchies, rim).ask("top", {11}).value(), (KillReport{1, 1}));
  EXPECT_EQ(alive(), Pids{11});
}

TEST_F(KillTest, AsksAllProcesses) {
  make_v1({"top"});
  constexpr pid_t kFirst = 1000, kCount = static_cast<pid_t>(kKillProcessesARound) + 1;
  for (pid_t pid = kFirst; pid < kFirst + kCount; ++pid) add_v1(pid, "top");
  EXPECT_EQ(ask("top").value(), (KillReport{kCount, 0}));
  EXPECT_EQ(rim.told.size(), static_cast<std::size_t>(kCount));
}

TEST_F(KillTest, TooDeepGroupsCountAsLeft) {
  std::string deep = "top";
  for (int depth = 0; depth <= kKillDepthMax; ++depth) deep += "/d";
  make_v1({"top", deep});
  add_v1(11, "top");
  const auto report = kill("top");
  EXPECT_EQ(alive(), Pids{});
  EXPECT_EQ(report.value(), (KillReport{1, 1}));
}

}  // namespace
}  // namespace tidemark::linux
