// The writers on a folder that keeps a kernel's rules, and the same cases on the kernel that runs the test, where it
// has v1 hierarchies: the first is no proof without the second.
#include "linux/cgroup/write.h"

#include <gtest/gtest.h>

#include <memory>
#include <ostream>

#include "linux/cgroup/limit.h"
#include "linux/cpu_set.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/own_group.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

enum class Where { kFolder, kMachine };

std::ostream& operator<<(std::ostream& out, Where where) {
  return out << (where == Where::kFolder ? "folder" : "machine");
}

// A group "top" with a child "top/low", both on processors 0 and 1, without limits.
class OnV1 : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::kFolder) {
      make_folder();
    } else {
      make_on_machine();
    }
    if (IsSkipped() || HasFatalFailure()) return;
    top = open(top_path_);
    low = open(top_path_ + "/low");
    ASSERT_TRUE(top && low);
    const CpuSet machine = root_cpus();
    if (!machine.contains(0) || !machine.contains(1)) GTEST_SKIP() << "needs processors 0 and 1";
    for (Group* group : {&*top, &*low}) {
      must(*group, File::kCpusetMems, "0");
      must(*group, File::kCpusetCpus, "0-1");
    }
  }

  WriteReport write(const Group& group, File file, std::string text, std::optional<std::string> expected = {}) {
    return compare_and_write({&group, file, std::move(text), std::move(expected)}, *writer, buffer);
  }
  void must(const Group& group, File file, const std::string& text) {
    const WriteReport report = write(group, file, text);
    EXPECT_TRUE(report.outcome == WriteOutcome::kWritten || report.outcome == WriteOutcome::kAlready)
        << text << ": " << to_string(report.outcome) << (report.error ? report.error->message : "");
  }
  void refused(const Group& group, File file, const std::string& text, int error) {
    const WriteReport report = write(group, file, text);
    ASSERT_EQ(report.outcome, WriteOutcome::kRefused)
        << text << " of " << group.place(file).text() << ": " << to_string(report.outcome);
    EXPECT_EQ(report.error->code, error) << report.error->message;
  }
  std::int64_t number(const Group& group, File file) {
    const auto value = read_value(group, file, buffer);
    EXPECT_TRUE(value && *value);
    return value && *value ? **value : -2;
  }
  std::string cpus(const Group& group) {
    const auto text = group.read(File::kCpusetCpus, buffer);
    return text && *text ? CpuSet::parse(**text).value_or(CpuSet{}).text() : "unreadable";
  }
  void expect_written(std::span<const FileWrite> writes) {
    for (const WriteReport& report : write_levelled(writes, *writer, buffer)) {
      EXPECT_EQ(report.outcome, WriteOutcome::kWritten) << (report.error ? report.error->message : "");
    }
  }

  Buffer buffer;
  std::unique_ptr<GroupWriter> writer;
  std::optional<Group> top, low;

 private:
  void make_folder() {
    tree_.emplace();
    testing::make_v1(*tree_);
    tree_->write("cpuset/cpuset.cpus", "0-3\n");
    for (const std::string group : {"top", "top/low"}) {
      testing::make_v1_group(*tree_, group);
      for (const auto& [file, text] :
           {std::pair{"cpu/%/cpu.cfs_quota_us", "-1"}, std::pair{"cpu/%/cpu.cfs_period_us", "100000"},
            std::pair{"cpu/%/cpu.cfs_burst_us", "0"}, std::pair{"cpu/%/cpu.shares", "1024"},
            std::pair{"cpu/%/cpu.idle", "0"}, std::pair{"cpuset/%/cpuset.cpus", ""},
            std::pair{"cpuset/%/cpuset.mems", ""}, std::pair{"memory/%/memory.limit_in_bytes", "9223372036854771712"},
            std::pair{"memory/%/memory.usage_in_bytes", "0"}}) {
        std::string path = file;
        path.replace(path.find('%'), 1, group);
        tree_->write(path, std::string(text) + "\n");
      }
    }
    auto found = Hierarchies::discover(tree_->root(), "");
    ASSERT_TRUE(found) << found.error().message;
    hierarchies_ = std::move(*found);
    writer = std::make_unique<testing::KernelRules>();
    top_path_ = "top";
  }
  void make_on_machine() {
    const auto mounts = read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts && *mounts);
    if (parse_mounts(testing::kMachineRoot, **mounts).empty()) GTEST_SKIP() << "no cgroup hierarchy is mounted";
    auto found = Hierarchies::discover(testing::kMachineRoot, **mounts);
    ASSERT_TRUE(found) << found.error().message;
    hierarchies_ = std::move(*found);
    for (const File file : {File::kCpuQuota, File::kCpusetCpus, File::kMemoryLimit}) {
      const auto* home = hierarchies_->home(file);
      if (!home || home->version != Version::kV1)
        GTEST_SKIP() << "this machine has no v1 hierarchies of cpu, cpuset and memory";
    }
    own_ = std::make_unique<testing::OwnGroup>(*hierarchies_);
    if (!own_->complete() || !own_->make_below("low")) GTEST_SKIP() << "may not make groups";
    writer = std::make_unique<KernelWriter>();
    top_path_ = own_->name();
  }
  std::optional<Group> open(const std::string& path) {
    auto group = Group::open(*hierarchies_, path);
    EXPECT_TRUE(group) << group.error().message;
    return group ? std::move(*group) : std::nullopt;
  }
  CpuSet root_cpus() {
    const auto root = open("");
    const auto text = root ? root->read(File::kCpusetCpus, buffer) : std::nullopt;
    return text && *text ? CpuSet::parse(**text).value_or(CpuSet{}) : CpuSet{};
  }

  std::optional<testing::Tree> tree_;
  std::optional<Hierarchies> hierarchies_;
  std::unique_ptr<testing::OwnGroup> own_;
  std::string top_path_;
};

INSTANTIATE_TEST_SUITE_P(Write, OnV1, ::testing::Values(Where::kFolder, Where::kMachine),
                         ::testing::PrintToStringParamName());

TEST_P(OnV1, AValueIsWrittenOnce) {
  WriteReport report = write(*low, File::kCpuShares, "512");
  EXPECT_EQ(report.outcome, WriteOutcome::kWritten);
  EXPECT_EQ(report.found, "1024");
  EXPECT_EQ(number(*low, File::kCpuShares), 512);
  report = write(*low, File::kCpuShares, "512");
  EXPECT_EQ(report.outcome, WriteOutcome::kAlready);
  EXPECT_EQ(report.found, "512");
}

TEST_P(OnV1, AnotherValueThanTheExpectedOneIsLeftAlone) {
  must(*low, File::kCpuShares, "300");
  const WriteReport report = write(*low, File::kCpuShares, "1024", "512");
  EXPECT_EQ(report.outcome, WriteOutcome::kOther);
  EXPECT_EQ(report.found, "300");
  EXPECT_EQ(number(*low, File::kCpuShares), 300);
  EXPECT_EQ(write(*low, File::kCpuShares, "1024", "300").outcome, WriteOutcome::kWritten);
}

TEST_P(OnV1, MemoryIsComparedInWholePages) {
  must(*low, File::kMemoryLimit, "10000000");
  EXPECT_EQ(number(*low, File::kMemoryLimit), 10'000'000 / 4096 * 4096) << "the kernel rounds down";
  EXPECT_EQ(write(*low, File::kMemoryLimit, "10000000").outcome, WriteOutcome::kAlready);
  EXPECT_EQ(write(*low, File::kMemoryLimit, "-1", "10000000").outcome, WriteOutcome::kWritten);
  EXPECT_EQ(number(*low, File::kMemoryLimit), kUnlimited);
  EXPECT_EQ(write(*low, File::kMemoryLimit, "-1").outcome, WriteOutcome::kAlready);
}

TEST_P(OnV1, AFileThatTheGroupLacksIsMissing) {
  const WriteReport report = write(*low, File::kCpuBvt, "-1");
  EXPECT_EQ(report.outcome, low->has(File::kCpuBvt) ? WriteOutcome::kWritten : WriteOutcome::kMissing);
}

TEST_P(OnV1, AChildHasNoLargerQuotaThanItsParent) {
  must(*top, File::kCpuQuota, "50000");
  refused(*low, File::kCpuQuota, "60000", EINVAL);
  must(*low, File::kCpuQuota, "50000");
  refused(*top, File::kCpuQuota, "40000", EINVAL);
  must(*top, File::kCpuQuota, "-1");
  must(*low, File::kCpuQuota, "60000");
  refused(*low, File::kCpuQuota, "999", EINVAL);
}

TEST_P(OnV1, QuotasMoveTogetherInEitherDirection) {
  must(*top, File::kCpuQuota, "50000");
  must(*low, File::kCpuQuota, "50000");
  for (const auto& [parent, child] : {std::pair{"90000", "80000"}, std::pair{"30000", "20000"},
                                      std::pair{"-1", "70000"}, std::pair{"40000", "40000"}}) {
    const FileWrite writes[] = {{&*low, File::kCpuQuota, child, {}}, {&*top, File::kCpuQuota, parent, {}}};
    expect_written(writes);
    EXPECT_EQ(number(*top, File::kCpuQuota), base::parse_int(parent));
    EXPECT_EQ(number(*low, File::kCpuQuota), base::parse_int(child));
  }
}

TEST_P(OnV1, AChildHasNoOtherProcessorsThanItsParent) {
  must(*low, File::kCpusetCpus, "0");
  refused(*top, File::kCpusetCpus, "1", EBUSY);
  must(*top, File::kCpusetCpus, "0");
  refused(*low, File::kCpusetCpus, "1", EACCES);
}

TEST_P(OnV1, ProcessorsMoveTogether) {
  for (const char* cpus_wanted : {"0", "1", "0-1", "0"}) {  // from 0 to 1 neither order of two plain writes is taken
    const FileWrite writes[] = {{&*top, File::kCpusetCpus, cpus_wanted, {}},
                                {&*low, File::kCpusetCpus, cpus_wanted, {}}};
    expect_written(writes);
    EXPECT_EQ(cpus(*top), cpus_wanted);
    EXPECT_EQ(cpus(*low), cpus_wanted);
  }
}

TEST_P(OnV1, ABurstIsNoLargerThanTheQuota) {
  if (!low->has(File::kCpuBurst)) GTEST_SKIP() << "this kernel has no burst";
  must(*low, File::kCpuQuota, "50000");
  refused(*low, File::kCpuBurst, "50001", EINVAL);
  must(*low, File::kCpuBurst, "50000");
  refused(*low, File::kCpuQuota, "40000", EINVAL);
}

TEST_P(OnV1, AnIdleGroupHasNoSharesToSet) {
  if (!low->has(File::kCpuIdle)) GTEST_SKIP() << "this kernel has no cpu.idle";
  must(*low, File::kCpuIdle, "1");
  refused(*low, File::kCpuShares, "512", EINVAL);
  must(*low, File::kCpuIdle, "0");
  must(*low, File::kCpuShares, "512");
}

TEST_P(OnV1, OneRefusalStopsNothingElse) {
  const FileWrite writes[] = {
      {&*top, File::kCpuQuota, "999", {}}, {&*low, File::kCpuQuota, "50000", {}}, {&*low, File::kCpuShares, "7", "9"}};
  const auto reports = write_levelled(writes, *writer, buffer);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].outcome, WriteOutcome::kRefused);
  EXPECT_EQ(reports[0].error->code, EINVAL);
  EXPECT_EQ(reports[0].found, "-1");
  EXPECT_EQ(reports[1].outcome, WriteOutcome::kWritten);
  EXPECT_EQ(reports[2].outcome, WriteOutcome::kOther);
  EXPECT_EQ(number(*low, File::kCpuShares), 1024);
}

// A folder shows each step; a kernel only what comes of them.
struct Steps : ::testing::Test {
  testing::Tree tree;
  Buffer buffer;
  testing::KernelRules rules;
};

TEST_F(Steps, WhatLoosensGoesDownThenTheValuesGoUp) {
  testing::make_v2(tree);
  for (const char* group : {"a", "a/b", "a/b/c"}) {
    testing::make_v2_group(tree, "", group);
    tree.write(std::string(group) + "/cpu.max", "50000 100000\n");
    tree.write(std::string(group) + "/memory.min", "4096\n");
    tree.write(std::string(group) + "/cpu.weight", "100\n");
  }
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  std::vector<Group> groups;
  for (const char* path : {"a", "a/b", "a/b/c"}) groups.push_back(std::move(*Group::open(hierarchies, path).value()));
  const FileWrite writes[] = {{&groups[2], File::kCpuQuota, "90000", {}}, {&groups[0], File::kCpuQuota, "max", {}},
                              {&groups[1], File::kCpuQuota, "20000", {}}, {&groups[0], File::kMemoryMin, "0", {}},
                              {&groups[2], File::kMemoryMin, "8192", {}}, {&groups[0], File::kCpuShares, "1", {}}};
  const auto reports = write_levelled(writes, rules, buffer);
  for (const WriteReport& report : reports) EXPECT_EQ(report.outcome, WriteOutcome::kWritten);
  EXPECT_EQ(reports[0].found, "50000 100000");
  EXPECT_EQ(rules.taken, (std::vector<std::string>{"a/cpu.max=max", "a/b/c/cpu.max=90000", "a/b/c/memory.min=8192",  //
                                                   "a/b/cpu.max=20000", "a/cpu.weight=1", "a/memory.min=0"}));
  rules.taken.clear();
  for (const WriteReport& report : write_levelled(writes, rules, buffer))
    EXPECT_EQ(report.outcome, WriteOutcome::kAlready);
  EXPECT_TRUE(rules.taken.empty()) << "nothing is written twice";
}

TEST_F(Steps, AGroupThatGoesIsNoRefusal) {
  testing::make_v2(tree);
  testing::make_v2_group(tree, "", "a");
  tree.write("a/cpu.weight", "100\n");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  tree.remove("a");
  const FileWrite writes[] = {{&group, File::kCpuShares, "1", {}}};
  EXPECT_EQ(compare_and_write(writes[0], rules, buffer).outcome, WriteOutcome::kVanished);
  EXPECT_EQ(write_levelled(writes, rules, buffer)[0].outcome, WriteOutcome::kVanished);
}

TEST(SameValue, IsWhatTheKernelWouldSay) {
  EXPECT_TRUE(same_value(File::kCpusetCpus, Version::kV1, "0-2\n", "2,0,1"));
  EXPECT_FALSE(same_value(File::kCpusetCpus, Version::kV1, "0-2", "0-3"));
  EXPECT_TRUE(same_value(File::kCpuQuota, Version::kV2, "max 100000\n", "max"));
  EXPECT_TRUE(same_value(File::kCpuQuota, Version::kV2, "50000 100000\n", "50000"));
  EXPECT_FALSE(same_value(File::kCpuQuota, Version::kV2, "50000 100000\n", "max"));
  EXPECT_TRUE(same_value(File::kMemoryLimit, Version::kV1, "9223372036854771712\n", "-1"));
  EXPECT_TRUE(same_value(File::kMemoryHigh, Version::kV2, "8192\n", "8193"));
  EXPECT_FALSE(same_value(File::kMemoryLimit, Version::kV2, "garbage", "8192"));
  EXPECT_FALSE(same_value(File::kCpusetCpus, Version::kV1, "garbage", "garbage"))
      << "what is not understood is written anew";
}

TEST(Loosest, IsAtLeastAsLooseAsBoth) {
  EXPECT_EQ(loosest(File::kCpusetCpus, Version::kV1, "0-1", "3"), "0-1,3");
  EXPECT_EQ(loosest(File::kCpuQuota, Version::kV1, "-1", "50000"), "-1");
  EXPECT_EQ(loosest(File::kCpuQuota, Version::kV2, "50000 100000", "max"), "max");
  EXPECT_EQ(loosest(File::kMemoryMin, Version::kV2, "4096", "8192"), "8192");
  EXPECT_FALSE(loosest(File::kCpuShares, Version::kV1, "2", "1024"));
}

}  // namespace
}  // namespace tidemark::linux
