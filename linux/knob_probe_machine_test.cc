// The probe on the kernel that runs the test. Groups are made below the root of each hierarchy, which is where an agent
// may have to, and removed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/memory.h"
#include "linux/knob_probe.h"
#include "linux/testing/own_group.h"

namespace tidemark::linux {
namespace {

using testing::kMachineRoot;

struct KnobProbeOnMachine : ::testing::Test {
  std::optional<Hierarchies> hierarchies;
  const Folder proc = Folder::open("/proc").value();
  KernelProbeRim rim;

  void SetUp() override {
    Buffer buffer;
    const auto mounts = read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts) << mounts.error().message;
    if (!*mounts || parse_mounts(kMachineRoot, **mounts).empty())
      GTEST_SKIP() << "no cgroup hierarchy is mounted at " << kMachineRoot;
    hierarchies = Hierarchies::discover(kMachineRoot, **mounts).value();
    if (::access((hierarchies->all().front().path + "/cgroup.procs").c_str(), W_OK) != 0)
      GTEST_SKIP() << "may not make groups below " << kMachineRoot;
  }

  KnobReport probe() {
    auto report = probe_knobs(*hierarchies, proc, "", rim);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return {};
    EXPECT_EQ(report->left, "");
    EXPECT_EQ(ours(), std::vector<std::string>{});
    return std::move(*report);
  }
  std::string members_of(const testing::OwnGroup& group, File file) const {
    return base::cat(hierarchies->all()[hierarchies->home(file)->hierarchy].path, "/", group.name(), "/cgroup.procs");
  }
  static void put(const Group& group, File file, std::int64_t value) {
    KernelWriter writer;
    ASSERT_TRUE(writer.put(group, file, value_text(file, *group.version(file), value).value()));
  }
  // The groups of this program's probes that are there.
  std::vector<std::string> ours() const {
    const std::string prefix = base::cat(kProbePrefix, ::getpid(), "-");
    std::vector<std::string> out;
    for (const Hierarchy& one : hierarchies->all()) {
      for (const auto& entry : std::filesystem::directory_iterator(one.path)) {
        if (entry.path().filename().string().starts_with(prefix)) out.push_back(entry.path());
      }
    }
    return out;
  }
};

const KnobTrial& of(const KnobReport& report, File file) {
  return *std::ranges::find(report.trials, file, &KnobTrial::file);
}

TEST_F(KnobProbeOnMachine, FilesOfThisKernelWork) {
  const KnobReport report = probe();
  for (const KnobTrial& one : report.trials) {
    if (!one.exists) continue;
    EXPECT_TRUE(one.accepted) << one.why;
    if (one.file != File::kCpuBvt) EXPECT_TRUE(one.effective) << one.why;  // that one has a switch
  }
  for (const File file : {File::kCpuShares, File::kCpuQuota, File::kCpusetCpus, File::kMemoryLimit}) {
    EXPECT_EQ(of(report, file).exists, hierarchies->home(file) != nullptr) << of(report, file).why;
  }
}

// A machine that is busy at one moment may let no trial come to an end; not at all of fifty.
TEST_F(KnobProbeOnMachine, EffectOfEachIsSeen) {
  std::map<File, std::string> unseen = {
      {File::kCpuShares, ""}, {File::kCpuQuota, ""}, {File::kCpusetCpus, ""}, {File::kMemoryLimit, ""}};
  for (int turn = 0; turn < 50 && !unseen.empty(); ++turn) {
    const KnobReport report = probe();
    for (auto each = unseen.begin(); each != unseen.end();) {
      const KnobTrial& trial = of(report, each->first);
      ASSERT_TRUE(trial.effective) << trial.why;
      each->second = trial.why;
      each = trial.why.empty() ? unseen.erase(each) : std::next(each);
    }
  }
  for (const auto& [file, why] : unseen) ADD_FAILURE() << names_of(file).v2 << ": " << why;
}

// As many as there are processors, in a group that may have far more of them than a new one: what the two of the race
// have is little, and still by their weights.
TEST_F(KnobProbeOnMachine, AWeightIsSeenOnABusyMachineToo) {
  const testing::OwnGroup busy(*hierarchies);
  if (!busy.complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
  const auto group = Group::open(*hierarchies, busy.name()).value();
  ASSERT_TRUE(group);
  put(*group, File::kCpuShares, 4096);
  std::vector<pid_t> busy_ones;
  for (long at = 0; at < ::sysconf(_SC_NPROCESSORS_ONLN); ++at) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (volatile bool on = true; on;) {
      }
      ::_exit(0);
    }
    busy_ones.push_back(child);
    std::ofstream(members_of(busy, File::kCpuShares)) << child;
  }
  std::string why = "nothing tried";
  for (int turn = 0; turn < 10 && !why.empty(); ++turn) {
    const KnobReport report = probe();
    EXPECT_TRUE(of(report, File::kCpuShares).effective);
    why = of(report, File::kCpuShares).why;
  }
  for (const pid_t each : busy_ones) {
    ::kill(each, SIGKILL);
    ::waitpid(each, nullptr, 0);
  }
  EXPECT_EQ(why, "");
}

// A trial leaves no line in the kernel's log.
TEST_F(KnobProbeOnMachine, MemoryLimitTrialKillsNothing) {
  const testing::OwnGroup own(*hierarchies);
  if (!own.complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
  const auto group = Group::open(*hierarchies, own.name()).value();
  ASSERT_TRUE(group);
  put(*group, File::kMemoryLimit, 512 * ::sysconf(_SC_PAGESIZE));
  const Fd members(::open(members_of(own, File::kMemoryLimit).c_str(), O_WRONLY | O_CLOEXEC));
  const auto filled = fill_in_group({.group = members.get(), .grace = std::chrono::seconds(60)});
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(filled->refused, 0);
  EXPECT_TRUE(filled->whole);
  Buffer buffer;
  const auto events = read_memory_events(*group, buffer);
  ASSERT_TRUE(events && *events);
  EXPECT_GT((*events)->max.value_or(0), 0);
  EXPECT_EQ((*events)->oom_kill.value_or(0), 0);
}

TEST_F(KnobProbeOnMachine, RemovesGroupOfKilledProbe) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto* home = hierarchies->home(File::kCpuShares);
  ASSERT_TRUE(home);
  const std::string left = base::cat(hierarchies->all()[home->hierarchy].path, "/", kProbePrefix, child, "-1");
  ASSERT_EQ(::mkdir(left.c_str(), 0755), 0);
  probe();
  EXPECT_FALSE(std::filesystem::exists(left));
  ::rmdir(left.c_str());
}

}  // namespace
}  // namespace tidemark::linux
