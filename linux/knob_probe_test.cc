// On folders with a kernel's rules; knob_probe_machine_test.cc has the kernel that runs the test.
#include "linux/knob_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "linux/testing/probe_folder.h"

namespace tidemark::linux {
namespace {

using Files = std::set<File>;

constexpr std::string_view kOwn = "tidemark-probe-77-4711";

std::string stat_line(int pid, int start) {
  return base::cat(pid, " (a name) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ", start, " 0 0\n");
}

struct KnobProbe : ::testing::TestWithParam<Version> {
  testing::Tree tree, proc;
  testing::ProbeFolder rim{tree, GetParam()};

  KnobProbe() { proc.write("self/stat", stat_line(77, 4711)); }

  Result<KnobReport> run(std::string_view below = "") {
    const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
    return probe_knobs(hierarchies, Folder::open(proc.root()).value(), below, rim);
  }
  KnobReport probe(std::string_view below = "") {
    auto report = run(below);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return {};
    std::ranges::sort(rim.made);
    std::ranges::sort(rim.removed);
    EXPECT_EQ(rim.made, rim.removed) << "nothing is left";
    EXPECT_EQ(report->left, "");
    EXPECT_TRUE(std::ranges::equal(report->trials, kTriedFiles, {}, &KnobTrial::file));
    return std::move(*report);
  }
  static Files effective(const KnobReport& report) {
    Files out;
    for (const KnobTrial& one : report.trials) {
      EXPECT_TRUE(!one.effective || one.accepted);
      EXPECT_TRUE(!one.accepted || one.exists);
      EXPECT_TRUE(one.effective || !one.why.empty()) << "a refusal has its reason";
      if (one.effective) out.insert(one.file);
    }
    return out;
  }
  static const KnobTrial& of(const KnobReport& report, File file) {
    return *std::ranges::find(report.trials, file, &KnobTrial::file);
  }
  // All but these.
  static Files without(const Files& missing) {
    Files out(kTriedFiles.begin(), kTriedFiles.end());
    for (const File file : missing) out.erase(file);
    return out;
  }
  std::string folder(std::string_view controller) const {
    return GetParam() == Version::kV1 ? std::string(controller) : std::string();
  }
  // The file of a new group, by its name of this version.
  std::string name(File file) const { return GetParam() == Version::kV1 ? names_of(file).v1 : names_of(file).v2; }
};
INSTANTIATE_TEST_SUITE_P(Linux, KnobProbe, ::testing::Values(Version::kV1, Version::kV2),
                         [](const auto& info) { return std::string(info.param == Version::kV1 ? "v1" : "v2"); });

TEST_P(KnobProbe, AKernelWithEverythingHasEverything) {
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({}));
  for (const KnobTrial& one : report.trials) {
    EXPECT_EQ(one.why, "");
    EXPECT_EQ(one.version, GetParam());
  }
}

TEST_P(KnobProbe, MainlineLacksVendorFiles) {
  for (const File file : {File::kCpuBvt, File::kCpuQosLevel}) rim.files[folder("cpu")].erase(name(file));
  if (GetParam() == Version::kV1) {
    for (const File file : {File::kMemoryMin, File::kMemoryLow}) rim.files["memory"].erase(name(file));
  }
  const KnobReport report = probe();
  Files missing = {File::kCpuBvt, File::kCpuQosLevel};
  if (GetParam() == Version::kV1) missing.insert({File::kMemoryMin, File::kMemoryLow});
  EXPECT_EQ(effective(report), without(missing));
  for (const File file : missing) {
    EXPECT_FALSE(of(report, file).exists);
    EXPECT_NE(of(report, file).why.find(name(file)), std::string::npos) << of(report, file).why;
  }
}

TEST_P(KnobProbe, RefusedFileExistsButIsNotAccepted) {
  rim.flawed.refusing[File::kCpuIdle] = "1";
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpuIdle}));
  EXPECT_TRUE(of(report, File::kCpuIdle).exists);
  EXPECT_FALSE(of(report, File::kCpuIdle).accepted);
  EXPECT_NE(of(report, File::kCpuIdle).why.find("Invalid argument"), std::string::npos);
}

TEST_P(KnobProbe, ValueThatReadsBackDifferentlyIsNotAccepted) {
  for (const File file : kTriedFiles) {
    rim.flawed.deaf = {file};
    rim.made.clear();
    rim.removed.clear();
    const KnobReport report = probe();
    EXPECT_EQ(effective(report), without({file}));
    EXPECT_TRUE(of(report, file).exists);
    EXPECT_FALSE(of(report, file).accepted);
    EXPECT_NE(of(report, file).why.find("was taken and reads as"), std::string::npos) << of(report, file).why;
  }
}

TEST_P(KnobProbe, FileThatCannotBeRestoredIsNotUsed) {
  rim.flawed.refusing[File::kCpuQosLevel] = "0";
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpuQosLevel}));
  EXPECT_TRUE(of(report, File::kCpuQosLevel).accepted);
  EXPECT_TRUE(of(report, File::kCpuQosLevel).why.starts_with("what was there cannot be put back: "));
}

TEST_P(KnobProbe, ExistingValueIsNoTrial) {
  rim.files[folder("cpu")][name(File::kCpuQosLevel)] = "-1";  // handed down from the group above
  rim.flawed.deaf = {File::kCpuQosLevel};
  EXPECT_EQ(effective(probe()), without({File::kCpuQosLevel}));
}

TEST_P(KnobProbe, QuotaWithoutThrottlingHasNoEffect) {
  rim.throttles = false;
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpuQuota}));
  EXPECT_TRUE(of(report, File::kCpuQuota).accepted);
  EXPECT_NE(of(report, File::kCpuQuota).why.find("never throttled"), std::string::npos);
}

// Contract 7.2: 2 … 262144 shares; a weight of v2 is 1 … 10000.
TEST_P(KnobProbe, LeastWeightRacesDefaultAndIsRestored) {
  probe();
  EXPECT_EQ(rim.weights_raced, GetParam() == Version::kV1 ? std::pair(std::string("2"), std::string("1024"))
                                                          : std::pair(std::string("1"), std::string("100")));
  EXPECT_EQ(rim.weight_of_trial_at_its_end, GetParam() == Version::kV1 ? "1024" : "100");
}

TEST_P(KnobProbe, WeightWithoutPreferenceHasNoEffect) {
  rim.raced = [] { return RaceReport{0, {std::chrono::milliseconds(9), std::chrono::milliseconds(11)}}; };
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpuShares}));
  EXPECT_TRUE(of(report, File::kCpuShares).accepted);
  EXPECT_EQ(of(report, File::kCpuShares).why,
            "the process with the least of it had a processor for 9 ms, the one beside it for 11 ms");
}

// A virtual machine on a busy host may stand still during one of the two runs.
TEST_P(KnobProbe, OneEvenRaceDecidesNothing) {
  int races = 0;
  rim.raced = [&] {
    const bool first = races++ == 0;
    return RaceReport{0, {std::chrono::milliseconds(first ? 11 : 1), std::chrono::milliseconds(first ? 9 : 19)}};
  };
  EXPECT_EQ(of(probe(), File::kCpuShares).why, "");
  EXPECT_EQ(races, 2);
}

// That others had the processor meanwhile changes nothing, as long as the two had some of it.
TEST_P(KnobProbe, ShortRaceCanShowEffect) {
  rim.raced = [] { return RaceReport{0, {std::chrono::milliseconds(1), std::chrono::milliseconds(6)}}; };
  EXPECT_EQ(of(probe(), File::kCpuShares).why, "");
}

TEST_P(KnobProbe, UndecidedWeightCountsWithReason) {
  using std::chrono::milliseconds;
  const std::vector<Result<RaceReport>> undecided = {
      RaceReport{0, {milliseconds(0), milliseconds(5)}},   // too little to tell
      RaceReport{0, {milliseconds(9), milliseconds(9)}},   // even, and cut short
      RaceReport{0, {milliseconds(7), milliseconds(13)}},  // neither even nor far behind
      RaceReport{0, {milliseconds(14), milliseconds(6)}},  // the wrong one is ahead: by no weight
      RaceReport{EACCES, {}},
      fail(ErrorKind::kDeadline, "no end in time"),
  };
  for (const auto& each : undecided) {
    rim.raced = [&] { return each; };
    const KnobReport report = probe();
    EXPECT_EQ(effective(report), without({}));
    EXPECT_NE(of(report, File::kCpuShares).why, "");
  }
}

TEST_P(KnobProbe, UnmetMemoryLimitHasNoEffect) {
  rim.limits_memory = false;
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kMemoryLimit}));
  EXPECT_NE(of(report, File::kMemoryLimit).why.find("a group that may have"), std::string::npos)
      << of(report, File::kMemoryLimit).why;
}

// Kernels from 4.5 to 4.11 let go at once of what a process may lose: it never has more than the limit.
TEST_P(KnobProbe, UnreachedMemoryLimitCountsWithReason) {
  const std::vector<Result<FillReport>> undecided = {
      FillReport{0, true},   // and had less all the time
      FillReport{0, false},  // ended by the kernel, for something else
      FillReport{EINVAL, false},
      fail(ErrorKind::kDeadline, "no end in time"),
  };
  for (const auto& each : undecided) {
    rim.filled = [&] { return each; };
    const KnobReport report = probe();
    EXPECT_EQ(effective(report), without({}));
    EXPECT_NE(of(report, File::kMemoryLimit).why, "");
  }
}

TEST_P(KnobProbe, UndecidedQuotaCountsWithReason) {
  for (const bool started : {true, false}) {
    rim.spun = [&]() -> Result<SpinReport> {
      if (!started) return fail(ErrorKind::kDeadline, "no end in time");
      CpuSet cpus;
      cpus.add(2);
      return SpinReport{0, std::chrono::microseconds(700), std::chrono::milliseconds(40), cpus};
    };
    const KnobReport report = probe();
    EXPECT_EQ(effective(report), without({}));
    EXPECT_EQ(of(report, File::kCpuQuota).why,
              started ? "the process of the trial had a processor for only 0 ms" : "no end in time");
    EXPECT_EQ(of(report, File::kCpusetCpus).why.empty(), started);
  }
}

TEST_P(KnobProbe, ProcessThatCannotJoinTriesNothing) {
  rim.spun = [] { return SpinReport{EACCES, {}, {}, {}}; };
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({}));
  for (const File file : {File::kCpuQuota, File::kCpusetCpus}) {
    EXPECT_NE(of(report, file).why.find("Permission denied"), std::string::npos) << of(report, file).why;
  }
}

TEST_P(KnobProbe, CpusetWithoutRestrictionHasNoEffect) {
  rim.spun = [] {
    CpuSet cpus;
    for (const int cpu : {0, 1, 2, 3}) cpus.add(cpu);
    return SpinReport{0, std::chrono::microseconds(700), std::chrono::milliseconds(40), cpus};
  };
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpusetCpus}));
  EXPECT_EQ(of(report, File::kCpusetCpus).why, "a process in a group with processors 2 may run on 0-3");
}

TEST_P(KnobProbe, AnIdleGroupThatKeepsItsWeightIsNotIdle) {
  rim.flawed.idle_in_name_only = true;
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpuIdle}));
  EXPECT_TRUE(of(report, File::kCpuIdle).accepted);
  EXPECT_NE(of(report, File::kCpuIdle).why.find("in an idle group"), std::string::npos);
}

// Contract 7.7: kernel.sched_group_identity_enabled.
TEST_P(KnobProbe, DisabledIdentityHasNoEffect) {
  proc.write("sys/kernel/sched_group_identity_enabled", "0\n");
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kCpuBvt}));
  EXPECT_NE(of(report, File::kCpuBvt).why.find("sched_group_identity_enabled is 0"), std::string::npos);
  proc.write("sys/kernel/sched_group_identity_enabled", "1\n");
  EXPECT_EQ(effective(probe()), without({}));
}

TEST_P(KnobProbe, ProbesBelowNamedGroup) {
  if (GetParam() == Version::kV1) {
    testing::make_v1_group(tree, "agent/own");
    tree.write("cpuset/agent/own/cpuset.cpus", "3\n");
    tree.write("cpuset/agent/cpuset.cpus", "2-3\n");
    tree.write("cpuset/agent/own/cpuset.mems", "0\n");
  } else {
    testing::make_v2_group(tree, "", "agent/own");
    tree.write("agent/own/cpuset.cpus.effective", "3\n");
  }
  EXPECT_EQ(effective(probe("agent/own")), without({}));
  EXPECT_TRUE(std::ranges::all_of(
      rim.made, [](const std::string& group) { return group.contains(base::cat("agent/own/", kOwn)); }));
}

TEST_P(KnobProbe, WithoutTheGroupThereIsNoTrial) {
  const auto report = run("nobody");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(rim.made.empty());
}

TEST_P(KnobProbe, ReportsThatNoGroupCanBeCreated) {
  for (const auto& [folder, files] : rim.files) rim.refused_folders[folder] = EROFS;
  const auto report = run();
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("Read-only file system"), std::string::npos) << report.error().message;
}

struct KnobProbeInManyHierarchies : KnobProbe {};
INSTANTIATE_TEST_SUITE_P(Linux, KnobProbeInManyHierarchies, ::testing::Values(Version::kV1),
                         [](const auto&) { return std::string("v1"); });

TEST_P(KnobProbeInManyHierarchies, RefusalInOneHierarchyDoesNotStopOthers) {
  rim.refused_folders["memory"] = EACCES;
  const KnobReport report = probe();
  EXPECT_EQ(effective(report), without({File::kMemoryLimit, File::kMemoryMin, File::kMemoryLow}));
  EXPECT_NE(of(report, File::kMemoryLimit).why.find("Permission denied"), std::string::npos);
}

TEST_P(KnobProbe, GroupsOfProbesThatWereKilledAreRemoved) {
  proc.write("5/stat", stat_line(5, 100));
  const bool v1 = GetParam() == Version::kV1;
  const auto make = [&](std::string_view group) {
    v1 ? testing::make_v1_group(tree, group) : testing::make_v2_group(tree, "", group);
  };
  const auto in_cpu = [&](std::string_view group) { return base::cat(v1 ? "cpu/" : "", group); };
  const std::vector<std::string> dead = {"tidemark-probe-5-99", "tidemark-probe-6-1", "tidemark-probe-6-1-beside",
                                         "tidemark-probe-77-4711", "tidemark-probe-77-4711-beside"};
  for (const std::string& each : dead) make(each);
  make("tidemark-probe-6-3");
  tree.write(in_cpu("tidemark-probe-6-3/cgroup.procs"), "123\n");
  const std::vector<std::string> kept = {"tidemark-probe-5-100", "tidemark-probe-5-100-beside", "tidemark-probe-",
                                         "tidemark-probe-6",     "tidemark-probe-x-1",          "pod"};
  for (const std::string& each : kept) make(each);
  ASSERT_TRUE(run());
  const auto there = [&](std::string_view group) { return std::filesystem::exists(tree.path(in_cpu(group))); };
  for (const std::string& each : dead) EXPECT_FALSE(there(each)) << each;
  for (const std::string& each : kept) EXPECT_TRUE(there(each)) << each;
  EXPECT_TRUE(there("tidemark-probe-6-3")) << "a process is in it";
}

TEST_P(KnobProbe, ReportsGroupThatCannotBeRemoved) {
  rim.spun = [&] {
    for (const std::string& group : rim.made) tree.folder(group + "/somebody-s");
    return SpinReport{};
  };
  const auto report = run();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(report->left.find(kOwn), std::string::npos) << report->left;
}

TEST_P(KnobProbe, GroupRemovedMeanwhileDecidesNothing) {
  rim.spun = [&] {
    for (const std::string& group : rim.made) tree.remove(group);
    return SpinReport{ENODEV, {}, {}, {}};
  };
  EXPECT_TRUE(run());
}

}  // namespace
}  // namespace tidemark::linux
