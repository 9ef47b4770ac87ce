// The probe on the kernel that runs the test. Groups are made below the root of each hierarchy, which is where an agent
// may have to, and removed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

TEST_F(KnobProbeOnMachine, WhatThisKernelHasWorks) {
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
TEST_F(KnobProbeOnMachine, ThrottlingAndProcessorsAreSeen) {
  bool throttled = false, held = false;
  for (int turn = 0; turn < 50 && !(throttled && held); ++turn) {
    const KnobReport report = probe();
    throttled = throttled || (of(report, File::kCpuQuota).effective && of(report, File::kCpuQuota).why.empty());
    held = held || (of(report, File::kCpusetCpus).effective && of(report, File::kCpusetCpus).why.empty());
  }
  EXPECT_TRUE(throttled);
  EXPECT_TRUE(held);
}

TEST_F(KnobProbeOnMachine, TheGroupOfOneThatWasKilledIsRemoved) {
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
