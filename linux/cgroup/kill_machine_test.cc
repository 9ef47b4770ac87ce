// What ends a group, on the kernel that runs the test: processes of our own, in a group of our own.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/kill.h"
#include "linux/cgroup/processes.h"
#include "linux/testing/own_group.h"

namespace tidemark::linux {
namespace {

using testing::kMachineRoot;
using testing::OwnGroup;

// As the kernel can, or one by one: v1 as it is, v2 as before Linux 5.14.
enum class Way { kAsTheKernelCan, kOneByOne };

std::ostream& operator<<(std::ostream& out, Way way) {
  return out << (way == Way::kOneByOne ? "one_by_one" : "as_the_kernel_can");
}

class WithoutKillFile final : public GroupWriter {
 public:
  Result<std::optional<std::size_t>> put(const Group& group, File file, std::string_view text) override {
    if (file == File::kKill) return fail(ErrorKind::kUnsupported, group.place(file).text(), " is not there");
    return kernel_.put(group, file, text);
  }

 private:
  KernelWriter kernel_;
};

class OlderKernel final : public KillRim {
 public:
  GroupWriter& writer() override { return writer_; }
  pid_t self() const override { return kernel_.self(); }
  Result<std::optional<Fd>> open_process(pid_t pid) override { return kernel_.open_process(pid); }
  Result<bool> signal(const Fd& process, int signal) override { return kernel_.signal(process, signal); }
  void wait(std::span<const Fd> processes, base::Duration at_most) override { kernel_.wait(processes, at_most); }

 private:
  WithoutKillFile writer_;
  KernelKillRim kernel_;
};

constexpr unsigned kLifeS = 60;  // of a process that no test kills

class KillOnMachine : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    Buffer buffer;
    const auto mounts = read_path("/proc/self/mountinfo", buffer);
    if (!mounts || !*mounts || parse_mounts(kMachineRoot, **mounts).empty())
      GTEST_SKIP() << "no cgroup hierarchy is mounted at " << kMachineRoot;
    hierarchies = Hierarchies::discover(kMachineRoot, **mounts).value();
    own.emplace(*hierarchies);
    if (!own->complete() || !own->make_below("low"))
      GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
    ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // of what those that are ended have forked
  }
  void TearDown() override {
    if (!own) return;
    for (const pid_t pid : begun) ::kill(pid, SIGKILL);  // where a case failed
    killer().kill(own->name());
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }

  KernelGroupKiller killer() {
    return KernelGroupKiller(*hierarchies, GetParam() == Way::kOneByOne ? static_cast<KillRim&>(older) : kernel);
  }

  // A process in that group that ends by no signal but SIGKILL, except SIGTERM where it hears it; it has begun when
  // this answers. With `forks` it makes others of its kind, as fast as it can.
  pid_t begin(const std::string& group, bool hears_sigterm, bool forks = false) {
    std::vector<std::string> lists;
    for (const Hierarchy& one : hierarchies->all()) {
      // Not in unified/: a runtime leaves it alone where v1 has the controllers.
      if (hierarchies->layout() == Layout::kHybrid && one.version == Version::kV2) continue;
      // An empty cpuset of v1 accepts no process.
      if (one.version == Version::kV1 && one.controllers.test(static_cast<std::size_t>(Controller::kCpuset))) continue;
      lists.push_back(one.path + "/" + group + "/cgroup.procs");
    }
    const pid_t child = ::fork();
    if (child == 0) live(lists, hears_sigterm, forks);
    begun.push_back(child);
    await(1);
    return child;
  }
  void await(int processes) {
    for (char byte = 0; processes > 0; --processes) {
      ASSERT_EQ(::read(ready[0], &byte, 1), 1);
      ASSERT_EQ(byte, 'x') << "it may not join the group";
    }
  }
  [[noreturn]] void live(const std::vector<std::string>& lists, bool hears_sigterm, bool forks) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    timespec began{}, now{};
    ::clock_gettime(CLOCK_MONOTONIC, &began);
    for (const std::string& list : lists) {
      std::ofstream out(list);
      if (out << "0" << std::flush) continue;
      [[maybe_unused]] const ssize_t told = ::write(ready[1], "-", 1);
      ::_exit(1);
    }
    if (!hears_sigterm) ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN);  // the kernel buries their children
    [[maybe_unused]] ssize_t told = ::write(ready[1], "x", 1);
    if (!forks) {
      ::alarm(kLifeS);
      for (;;) ::pause();
    }
    do {
      if (::fork() == 0) told = ::write(ready[1], "x", 1);
      ::clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - began.tv_sec < kLifeS);
    ::_exit(0);
  }
  int how_it_ended(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  void expect_nobody_in(const std::string& path) {
    const auto group = Group::open(*hierarchies, path).value();
    ASSERT_TRUE(group);
    Buffer buffer;
    std::vector<pid_t> pids;
    EXPECT_TRUE(read_processes(*group, File::kProcesses, buffer, pids).value());
    EXPECT_TRUE(pids.empty()) << pids.size() << " in " << path;
  }

  std::optional<Hierarchies> hierarchies;
  std::optional<OwnGroup> own;
  KernelKillRim kernel;
  OlderKernel older;
  int ready[2] = {-1, -1};
  std::vector<pid_t> begun;
};

TEST_P(KillOnMachine, KillsGroupAndDescendants) {
  const pid_t above = begin(own->name(), false), below = begin(own->name() + "/low", false);
  const auto lower = killer().kill(own->name() + "/low");
  ASSERT_TRUE(lower) << lower.error().message;
  EXPECT_EQ(*lower, (KillReport{1, 0}));
  EXPECT_EQ(how_it_ended(below), SIGKILL);
  EXPECT_EQ(::kill(above, 0), 0);
  const auto report = killer().kill(own->name());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(*report, (KillReport{1, 0}));
  EXPECT_EQ(how_it_ended(above), SIGKILL);
  EXPECT_EQ(killer().kill(own->name()).value(), KillReport{}) << "no process is in it any more";
}

TEST_P(KillOnMachine, AskedProcessMayStayUntilKilled) {
  const pid_t hears = begin(own->name(), true), deaf = begin(own->name() + "/low", false);
  const auto asked = killer().ask(own->name());
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked->killed, 2u);
  EXPECT_EQ(how_it_ended(hears), SIGTERM);
  EXPECT_EQ(::kill(deaf, 0), 0);
  EXPECT_EQ(killer().kill(own->name()).value(), (KillReport{1, 0}));
  EXPECT_EQ(how_it_ended(deaf), SIGKILL);
}

TEST_P(KillOnMachine, KillsForkBomb) {
  constexpr const char* kProcessesMost = "48";
  constexpr int kForksSeen = 40;
  const auto group = Group::open(*hierarchies, own->name()).value();
  ASSERT_TRUE(group);
  if (!group->has(File::kPidsLimit)) GTEST_SKIP() << "no limit of processes: nothing would hold the bomb";
  ASSERT_TRUE(kernel.writer().put(*group, File::kPidsLimit, kProcessesMost));
  const pid_t first = begin(own->name(), false, true);
  await(kForksSeen);
  // On a machine that is busy it may take more than one, as it does with an agent: how long is no matter of this test.
  constexpr int kKillsMost = 40;
  auto report = killer().kill(own->name());
  for (int i = 1; i < kKillsMost && (!report || report->left > 0); ++i) report = killer().kill(own->name());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->left, 0u);
  EXPECT_EQ(how_it_ended(first), SIGKILL);
  expect_nobody_in(own->name());
  if (group->version(File::kFreeze) != Version::kV1 || !group->has(File::kFreeze)) return;
  Buffer buffer;
  EXPECT_EQ(group->read(File::kFreeze, buffer).value(), "THAWED\n");
}

// In v1 a frozen process does not die before it is thawed.
TEST_P(KillOnMachine, KillsFrozenGroup) {
  const pid_t child = begin(own->name() + "/low", false);
  const auto group = Group::open(*hierarchies, own->name() + "/low").value();
  ASSERT_TRUE(group);
  if (!group->has(File::kFreeze)) GTEST_SKIP() << "this machine freezes no groups";
  const bool v1 = group->version(File::kFreeze) == Version::kV1;
  ASSERT_TRUE(kernel.writer().put(*group, File::kFreeze, v1 ? "FROZEN" : "1"));
  const auto report = killer().kill(own->name());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(*report, (KillReport{1, 0}));
  EXPECT_EQ(how_it_ended(child), SIGKILL);
}

TEST_P(KillOnMachine, DoesNotKillGroupOfCaller) {
  // A process of the group stands for this one.
  const pid_t child = begin(own->name(), false);
  class Inside final : public KillRim {
   public:
    Inside(KillRim& kernel, pid_t self) : kernel_(kernel), self_(self) {}
    GroupWriter& writer() override { return kernel_.writer(); }
    pid_t self() const override { return self_; }
    Result<std::optional<Fd>> open_process(pid_t pid) override { return kernel_.open_process(pid); }
    Result<bool> signal(const Fd& process, int signal) override { return kernel_.signal(process, signal); }
    void wait(std::span<const Fd> processes, base::Duration at_most) override { kernel_.wait(processes, at_most); }

   private:
    KillRim& kernel_;
    pid_t self_;
  } inside(kernel, child);
  const auto report = KernelGroupKiller(*hierarchies, inside).kill(own->name());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(::kill(child, 0), 0);
}

INSTANTIATE_TEST_SUITE_P(Kill, KillOnMachine, ::testing::Values(Way::kAsTheKernelCan, Way::kOneByOne),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tidemark::linux
