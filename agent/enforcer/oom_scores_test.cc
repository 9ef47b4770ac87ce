// What processes have as oom_score_adj afterwards, on folders and on the kernel of this machine.
#include "agent/enforcer/oom_scores.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "agent/enforcer/found_journal.h"
#include "agent/enforcer/without_agent.h"
#include "agent/testing/kernel_node.h"
#include "base/text.h"
#include "linux/testing/descriptor_limit.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/own_group.h"

namespace tidemark::agent {
namespace {

using model::Reason;
using policy::protect::OomPlan;
using policy::protect::OomRank;
using policy::state::Permit;

// No file takes a byte more: writing fails (EFBIG), opening and reading do not.
class NoBytes {
 public:
  NoBytes() : before_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  NoBytes(const NoBytes&) = delete;
  NoBytes& operator=(const NoBytes&) = delete;
  ~NoBytes() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int);
};

class OomScoresTest : public ::testing::TestWithParam<linux::Layout> {
 protected:
  OomScoresTest() {
    node.group("yarn/c1");
    node.group("nm");
    open();
  }
  void open() {
    scores.reset();
    auto opened = OomScores::open(*node.hierarchies, node.proc.root(), run.root(), "b1");
    ASSERT_TRUE(opened) << opened.error().message;
    scores.emplace(std::move(*opened));
  }
  void process(int pid, std::int64_t value, std::int64_t start = 100) {
    node.proc.write(base::cat(pid, "/stat"),
                    base::cat(pid, " (java) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ", start, " 0 0\n"));
    node.proc.write(base::cat(pid, "/oom_score_adj"), base::cat(value, "\n"));
  }
  std::int64_t value(int pid) {
    std::ifstream in(node.proc.path(base::cat(pid, "/oom_score_adj")));
    std::int64_t out = -9999;
    in >> out;
    return out;
  }
  // Makes the list of processes unreadable: links are not followed.
  void hide(const std::string& group) {
    const std::string members = node.file("cpu", group, "cgroup.procs");
    node.cgroups.remove(members);
    std::filesystem::create_symlink("nowhere", node.cgroups.path(members));
  }
  void show(const std::string& group, std::string_view pids) {
    node.cgroups.remove(node.file("cpu", group, "cgroup.procs"));
    node.processes(group, pids);
  }

  const OomReport& enforce() { return scores->carry_out(plan, Permit::kEnforce); }
  OomEntries kept() { return read_oom_journal(run.root(), "b1").value(); }

  testing::KernelNode node{GetParam()};
  linux::testing::Tree run;
  OomPlan plan{{{"nm", OomRank::kInfrastructure}, {"yarn/c1", OomRank::kOffline}}, 960};
  std::optional<OomScores> scores;
};

TEST_P(OomScoresTest, TasksAreKilledBeforeTheirInfrastructure) {
  process(7, -997);
  process(8, 0);
  process(9, 1000);
  process(10, -997);
  node.processes("yarn/c1", "7\n8\n");
  node.processes("nm", "9\n10\n");
  const OomReport& report = enforce();
  EXPECT_EQ(report.deeds.size(), 3U);
  EXPECT_EQ(value(7), 1000);
  EXPECT_EQ(value(8), 1000);
  EXPECT_EQ(value(9), 960);
  EXPECT_EQ(value(10), -997) << "it ends after its tasks as it is";
  EXPECT_EQ(
      kept(),
      (OomEntries{{7, {100, "yarn/c1", -997, 1000}}, {8, {100, "yarn/c1", 0, 1000}}, {9, {100, "nm", 1000, 960}}}));
  EXPECT_TRUE(enforce().deeds.empty()) << "nothing is written twice";
}

TEST_P(OomScoresTest, RestoresUnlistedProcessesAndTheirChildren) {
  process(7, -997);
  node.processes("yarn/c1", "7\n");
  enforce();
  process(8, 1000, 200);  // begun by 7
  node.processes("yarn/c1", "7\n8\n");
  enforce();
  EXPECT_EQ(kept().at(8), (OomEntry{200, "yarn/c1", -997, 1000}));
  plan.intents.clear();
  enforce();
  EXPECT_EQ(value(7), -997);
  EXPECT_EQ(value(8), -997);
  enforce();
  EXPECT_TRUE(kept().empty());
}

// As one that is moved from the group of its pod into that of its container: both list it, one look after the other.
TEST_P(OomScoresTest, ProcessMovingBetweenGroupsIsWrittenOnce) {
  plan.intents = {{"nm", OomRank::kOffline}, {"yarn/c1", OomRank::kOffline}};
  process(8, 0);
  node.processes("nm", "8\n");
  node.processes("yarn/c1", "8\n");
  EXPECT_EQ(enforce().deeds.size(), 1U);
  EXPECT_EQ(value(8), 1000);
  EXPECT_EQ(kept().at(8).found, 0);
}

TEST_P(OomScoresTest, ObserveRestoresAllAndWritesNothing) {
  process(7, 0);
  process(9, 1000);
  node.processes("yarn/c1", "7\n");
  node.processes("nm", "9\n");
  EXPECT_TRUE(scores->carry_out(plan, Permit::kRestore).deeds.empty());
  enforce();
  EXPECT_EQ(scores->carry_out(plan, Permit::kRestore).deeds.size(), 2U);
  EXPECT_EQ(value(7), 0);
  EXPECT_EQ(value(9), 1000);
}

TEST_P(OomScoresTest, TightenOnlyRaisesAndRestoresNothing) {
  process(7, 0);
  process(9, 1000);
  node.processes("yarn/c1", "7\n");
  node.processes("nm", "9\n");
  scores->carry_out(plan, Permit::kTighten);
  EXPECT_EQ(value(7), 1000);
  EXPECT_EQ(value(9), 1000);
  plan.intents.clear();
  scores->carry_out(plan, Permit::kTighten);
  scores->carry_out(plan, Permit::kKeep);
  EXPECT_EQ(value(7), 1000);
}

TEST_P(OomScoresTest, OffKeepsRaisedValuesOfRunningProcesses) {
  process(7, 0);
  process(9, 1000);
  node.processes("yarn/c1", "7\n");
  node.processes("nm", "9\n");
  enforce();
  process(8, 0);
  node.processes("yarn/c1", "7\n8\n");
  scores->wind_down();
  EXPECT_EQ(value(7), 1000);
  EXPECT_EQ(value(8), 0) << "nothing new begins";
  EXPECT_EQ(value(9), 1000) << "it is as it was found";
  node.proc.remove("7");
  scores->wind_down();
  scores->wind_down();
  EXPECT_TRUE(kept().empty());
}

TEST_P(OomScoresTest, NextAgentRestoresValuesOfDeadAgent) {
  process(7, 0);
  process(9, 1000);
  node.processes("yarn/c1", "7\n");
  node.processes("nm", "9\n");
  enforce();
  open();
  EXPECT_EQ(scores->entries().size(), 2U);
  scores->carry_out(plan, Permit::kRestore);
  EXPECT_EQ(value(7), 0);
  EXPECT_EQ(value(9), 1000);
}

// The agent died between journal and kernel: a value that was never written is not restored, and no second writer is
// reported.
TEST_P(OomScoresTest, ForgetsValuesThatWereNeverWritten) {
  process(7, 0);
  ASSERT_TRUE(write_oom_journal(run.root(), {{7, {100, "yarn/c1", 0, 1000}}}, "b1"));
  open();
  EXPECT_TRUE(scores->carry_out({}, Permit::kEnforce).deeds.empty());
  EXPECT_EQ(value(7), 0);
  EXPECT_TRUE(scores->entries().empty());
}

// It died before the kernel had the last one, and what stands there is the one before.
TEST_P(OomScoresTest, RestoresEarlierValueAfterInterruptedWrite) {
  process(7, 0);
  node.processes("yarn/c1", "7\n");
  enforce();
  plan.intents = {{"yarn/c1", OomRank::kInfrastructure}};
  enforce();
  EXPECT_EQ(kept().at(7), (OomEntry{100, "yarn/c1", 0, 960, 1000}));
  process(7, 1000);
  open();
  EXPECT_EQ(scores->carry_out(plan, Permit::kRestore).deeds.at(0).reason, Reason::kAgentPutBack);
  EXPECT_EQ(value(7), 0);
}

TEST_P(OomScoresTest, RestoresChildStartedBeforeNewValue) {
  process(7, 0);
  node.processes("yarn/c1", "7\n");
  enforce();
  process(8, 1000, 200);  // begun by 7
  node.processes("yarn/c1", "7\n8\n");
  plan.intents = {{"yarn/c1", OomRank::kInfrastructure}};
  enforce();
  EXPECT_EQ(value(8), 960);
  EXPECT_EQ(kept().at(8).found, 0);
}

TEST_P(OomScoresTest, ProcessInUnreadableGroupKeepsItsValue) {
  process(7, 0);
  node.processes("yarn/c1", "7\n");
  enforce();
  hide("yarn/c1");
  EXPECT_NE(enforce().trouble, "");
  EXPECT_EQ(value(7), 1000) << "one process names its group still";
  EXPECT_TRUE(kept().contains(7));
  show("yarn/c1", "7\n");
  EXPECT_EQ(enforce().trouble, "");
  scores->carry_out(plan, Permit::kRestore);
  EXPECT_EQ(value(7), 0);
}

TEST_P(OomScoresTest, ReportsUnreadableProcessAndRestoresLater) {
  process(7, -997);
  node.processes("yarn/c1", "7\n");
  enforce();
  {
    const linux::testing::DescriptorLimit none_left(0);
    const OomReport& report = scores->carry_out(plan, Permit::kRestore);
    EXPECT_NE(report.trouble.find("Too many open files"), std::string::npos) << report.trouble;
    EXPECT_EQ(report.refused, 0);
  }
  EXPECT_EQ(kept().at(7).found, -997);
  scores->carry_out(plan, Permit::kRestore);
  EXPECT_EQ(value(7), -997);
}

// A kernel's no, by EACCES, is for good; anything else is of this moment.
TEST_P(OomScoresTest, RetriesFailedWrite) {
  process(7, -997);
  node.processes("yarn/c1", "7\n");
  enforce();
  {
    const NoBytes nothing_is_written;
    const OomReport& report = scores->carry_out(plan, Permit::kRestore);
    EXPECT_NE(report.trouble, "");
    EXPECT_EQ(report.refused, 0);
  }
  process(7, 1000);  // in a folder the text is gone; a kernel has its value still
  scores->carry_out(plan, Permit::kRestore);
  EXPECT_EQ(value(7), -997);
}

TEST_P(OomScoresTest, OffWithoutAgentReportsFailures) {
  process(9, 1000);
  node.processes("nm", "9\n");
  enforce();
  scores.reset();
  node.proc.remove("9/stat");
  std::filesystem::create_symlink("nowhere", node.proc.path("9/stat"));
  linux::testing::KernelRules writer;
  const auto off = off_without_agent(*node.hierarchies, writer, {node.proc.root(), run.root(), "b1", ""}, node.clock);
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_EQ(off->put_back, 0);
  ASSERT_EQ(off->troubles.size(), 1U);
  EXPECT_NE(off->troubles[0].message.find("9/stat"), std::string::npos) << off->troubles[0].message;
}

TEST_P(OomScoresTest, DoesNotRestoreReusedPid) {
  process(7, 0);
  node.processes("yarn/c1", "7\n");
  enforce();
  process(7, 1000, 555);
  node.processes("yarn/c1", "");
  EXPECT_TRUE(scores->carry_out({}, Permit::kEnforce).deeds.empty());
  EXPECT_EQ(value(7), 1000);
  EXPECT_TRUE(kept().empty());
}

TEST_P(OomScoresTest, LeavesForeignValue) {
  process(7, 0);
  node.processes("yarn/c1", "7\n");
  enforce();
  process(7, 300);
  const OomReport& report = scores->carry_out({}, Permit::kEnforce);
  ASSERT_EQ(report.deeds.size(), 1U);
  EXPECT_EQ(report.deeds[0].reason, Reason::kAgentNotOurs);
  EXPECT_EQ(value(7), 300);
}

TEST_P(OomScoresTest, SpreadsManyWritesOverPasses) {
  std::string pids;
  constexpr int kFirst = 1000, kCount = static_cast<int>(kOomWritesAPass) + 10;
  for (int pid = kFirst; pid < kFirst + kCount; ++pid) {
    process(pid, 0);
    pids += base::cat(pid, "\n");
  }
  node.processes("yarn/c1", pids);
  EXPECT_TRUE(enforce().more);
  EXPECT_FALSE(enforce().more);
  EXPECT_EQ(scores->entries().size(), static_cast<std::size_t>(kCount));
}

TEST_P(OomScoresTest, MissingProcessIsNoErrorAndForeignOnesAreReported) {
  node.processes("yarn/c1", "7\n0\n");
  plan.intents.push_back({"yarn/c9", OomRank::kOffline});
  const OomReport& report = enforce();
  EXPECT_TRUE(report.deeds.empty());
  EXPECT_EQ(report.trouble, "");
  EXPECT_EQ(report.foreign, 1);
}

TEST_P(OomScoresTest, WithoutAgentListsRunningAndRestoresTheRest) {
  process(7, 0);
  process(8, 0);
  process(9, 1000);
  node.processes("yarn/c1", "7\n8\n");
  node.processes("nm", "9\n");
  enforce();
  scores.reset();
  linux::testing::KernelRules writer;
  const auto off = off_without_agent(*node.hierarchies, writer, {node.proc.root(), run.root(), "b1", ""}, node.clock);
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_EQ(off->put_back, 1);
  EXPECT_EQ(value(9), 1000);
  ASSERT_EQ(off->left.size(), 1U);
  EXPECT_EQ(off->left[0].group, "yarn/c1");
  EXPECT_EQ(off->left[0].file, "oom_score_adj of 2 processes");
  EXPECT_EQ(off->left[0].found, "0");
}

INSTANTIATE_TEST_SUITE_P(Layouts, OomScoresTest,
                         ::testing::Values(linux::Layout::kV1, linux::Layout::kHybrid, linux::Layout::kV2),
                         [](const auto& layout) { return std::string(linux::to_string(layout.param)); });

// A process of this machine in a group of ours: raised, its child too by birth, and both back to what they began with.
TEST(OomScoresOnMachine, RaisesAndRestores) {
  linux::Buffer buffer;
  const auto mounts = linux::read_path("/proc/self/mountinfo", buffer);
  ASSERT_TRUE(mounts && *mounts);
  const auto hierarchies = linux::Hierarchies::discover(linux::testing::kMachineRoot, **mounts);
  ASSERT_TRUE(hierarchies);
  linux::testing::OwnGroup own(*hierarchies);
  if (!own.complete()) GTEST_SKIP() << "may not make groups";
  const auto group = linux::Group::open(*hierarchies, own.name());
  ASSERT_TRUE(group && *group);
  auto joining = (*group)->open_to_write(linux::File::kProcesses);
  ASSERT_TRUE(joining && *joining);
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const char joined = ::write((*joining)->get(), "0\n", 2) == 2 ? 'y' : 'n';
    if (::write(told[1], &joined, 1) == 1) ::pause();
    ::_exit(0);
  }
  char joined = 0;
  EXPECT_EQ(::read(told[0], &joined, 1), 1);
  EXPECT_EQ(joined, 'y');
  linux::testing::Tree run;
  auto scores = OomScores::open(*hierarchies, "/proc", run.root(), "b1");
  const auto proc = linux::Folder::open("/proc");
  ASSERT_TRUE(scores && proc);
  const auto found = linux::read_oom_score_adj(*proc, child, buffer);
  const OomPlan plan{{{own.name(), OomRank::kOffline}}, 960};
  scores->carry_out(plan, Permit::kEnforce);
  const auto raised = linux::read_oom_score_adj(*proc, child, buffer);
  scores->carry_out(plan, Permit::kRestore);
  const auto back = linux::read_oom_score_adj(*proc, child, buffer);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int each : told) ::close(each);
  EXPECT_EQ(raised.value(), 1000);
  EXPECT_EQ(back.value(), found.value());
  EXPECT_TRUE(scores->entries().empty());
}

}  // namespace
}  // namespace tidemark::agent
