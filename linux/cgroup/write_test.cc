// The writers on a folder that keeps a kernel's rules, and the same cases on the kernel that runs the test, where it
// has v1 hierarchies: the first is no proof without the second.
#include "linux/cgroup/write.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "linux/cgroup/limit.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/tree.h"
#include "linux/testing/two_groups.h"

namespace tidemark::linux {
namespace {

using testing::Where;

struct OnV1 : testing::TwoGroups {
  OnV1() : TwoGroups(Version::kV1) {}
};
struct OnV2 : testing::TwoGroups {
  OnV2() : TwoGroups(Version::kV2) {}
};

INSTANTIATE_TEST_SUITE_P(Write, OnV2, ::testing::Values(Where::kFolder, Where::kMachine),
                         ::testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Write, OnV1, ::testing::Values(Where::kFolder, Where::kMachine),
                         ::testing::PrintToStringParamName());

// A machine is of one version, and the cases of the other skip: expected, as long as those of the one do not.
TEST(WriteOnMachine, OneVersionIsTried) {
  std::string why_not;
  for (const Version version : {Version::kV1, Version::kV2}) {
    const testing::MachineGroups groups(version);
    if (groups.why_not().empty()) return;
    why_not += (why_not.empty() ? "" : "; ") + groups.why_not();
  }
  GTEST_SKIP() << why_not;
}

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
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  must(*low, File::kMemoryLimit, "10000000");
  EXPECT_EQ(number(*low, File::kMemoryLimit), 10'000'000 / page * page) << "the kernel rounds down";
  EXPECT_EQ(write(*low, File::kMemoryLimit, "10000000").outcome, WriteOutcome::kAlready);
  EXPECT_EQ(write(*low, File::kMemoryLimit, "-1", "10000000").outcome, WriteOutcome::kWritten);
  EXPECT_EQ(number(*low, File::kMemoryLimit), kUnlimited);
  EXPECT_EQ(write(*low, File::kMemoryLimit, "-1").outcome, WriteOutcome::kAlready);
}

TEST_P(OnV1, AFileThatTheGroupLacksIsMissing) {
  for (const File file : {File::kCpuBvt, File::kCpuQosLevel}) {
    const WriteReport report = write(*low, file, "-1");
    EXPECT_EQ(report.outcome, low->has(file) ? WriteOutcome::kWritten : WriteOutcome::kMissing);
  }
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

TEST_P(OnV1, AnEmptySetIsWrittenToo) {
  for (Group* group : {&*low, &*top}) {
    WriteReport report = write(*group, File::kCpusetCpus, "");
    EXPECT_EQ(report.outcome, WriteOutcome::kWritten) << (report.error ? report.error->message : "");
    EXPECT_EQ(report.found, "0-1");
    EXPECT_EQ(cpus(*group), "");
    EXPECT_EQ(write(*group, File::kCpusetCpus, "").outcome, WriteOutcome::kAlready);
  }
  for (const char* cpus_wanted : {"0-1", "", "0"}) {
    const FileWrite writes[] = {{&*top, File::kCpusetCpus, cpus_wanted, {}},
                                {&*low, File::kCpusetCpus, cpus_wanted, {}}};
    expect_written(writes);
    EXPECT_EQ(cpus(*top), cpus_wanted);
    EXPECT_EQ(cpus(*low), cpus_wanted);
  }
}

TEST_P(OnV1, RestoresUselessLoosening) {
  must(*low, File::kCpusetCpus, "0");
  must(*top, File::kCpusetCpus, "0");
  const FileWrite writes[] = {{&*top, File::kCpusetCpus, "1", "0"}};  // to 0-1, and not on: the child has 0
  const auto reports = write_levelled(writes, *writer, buffer);
  EXPECT_EQ(reports[0].outcome, WriteOutcome::kRefused);
  ASSERT_TRUE(reports[0].error);
  EXPECT_EQ(reports[0].error->code, EBUSY);
  EXPECT_EQ(reports[0].found, "0");
  EXPECT_FALSE(reports[0].stands) << *reports[0].stands;
  EXPECT_EQ(cpus(*top), "0");
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
  must(*low, File::kCpuShares, "2048");
  must(*low, File::kCpuIdle, "1");
  refused(*low, File::kCpuShares, "512", EINVAL);
  EXPECT_EQ(low->read(File::kCpuShares, buffer).value(), "3\n");
  must(*low, File::kCpuIdle, "0");
  EXPECT_EQ(low->read(File::kCpuShares, buffer).value(), "1024\n") << "not the 2048 from before";
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

TEST_P(OnV2, AValueIsWrittenOnceAndReadBackInTheUnitOfV1) {
  const std::string weight = value_text(File::kCpuShares, Version::kV2, 2048).value();
  EXPECT_EQ(write(*low, File::kCpuShares, weight).outcome, WriteOutcome::kWritten);
  EXPECT_EQ(write(*low, File::kCpuShares, weight).outcome, WriteOutcome::kAlready);
  EXPECT_NEAR(static_cast<double>(number(*low, File::kCpuShares)), 2048, 27) << "one step of weight is 26 shares";
  EXPECT_EQ(write(*low, File::kCpuQuota, "50000").outcome, WriteOutcome::kWritten);
  EXPECT_EQ(write(*low, File::kCpuQuota, "50000").outcome, WriteOutcome::kAlready);
  EXPECT_EQ(number(*low, File::kCpuQuota), 50'000);
  EXPECT_EQ(number(*low, File::kCpuPeriod), 100'000) << "kept";
  must(*low, File::kCpuQuota, "max");
  EXPECT_EQ(number(*low, File::kCpuQuota), kUnlimited);
  must(*low, File::kMemoryLimit, "10000000");
  EXPECT_EQ(write(*low, File::kMemoryLimit, "10000000").outcome, WriteOutcome::kAlready);
  must(*low, File::kMemoryLimit, "max");
  EXPECT_EQ(number(*low, File::kMemoryLimit), kUnlimited);
}

TEST_P(OnV2, AChildMaySayMoreThanItsParentHas) {
  must(*top, File::kCpuQuota, "50000");
  must(*low, File::kCpuQuota, "60000");
  must(*top, File::kCpuQuota, "40000");
  must(*low, File::kCpusetCpus, "0");
  must(*top, File::kCpusetCpus, "1");
  EXPECT_EQ(cpus(*low), "0");
}

TEST_P(OnV2, AnEmptySetIsWrittenToo) {
  for (Group* group : {&*low, &*top}) {
    WriteReport report = write(*group, File::kCpusetCpus, "");
    EXPECT_EQ(report.outcome, WriteOutcome::kWritten) << (report.error ? report.error->message : "");
    EXPECT_EQ(report.found, "0-1");
    EXPECT_EQ(cpus(*group), "");
    EXPECT_EQ(write(*group, File::kCpusetCpus, "").outcome, WriteOutcome::kAlready);
  }
  for (const char* cpus_wanted : {"0-1", "", "0"}) {
    const FileWrite writes[] = {{&*top, File::kCpusetCpus, cpus_wanted, {}},
                                {&*low, File::kCpusetCpus, cpus_wanted, {}}};
    expect_written(writes);
    EXPECT_EQ(cpus(*top), cpus_wanted);
    EXPECT_EQ(cpus(*low), cpus_wanted);
  }
}

TEST_P(OnV2, WhatIsOutOfRangeIsRefused) {
  refused(*low, File::kCpuShares, "0", ERANGE);
  refused(*low, File::kCpuShares, "10001", ERANGE);
  refused(*low, File::kCpuQuota, "999", EINVAL);
  refused(*low, File::kCpuQuota, "x", EINVAL);
}

TEST_P(OnV2, ABurstIsNoLargerThanTheQuota) {
  if (!low->has(File::kCpuBurst)) GTEST_SKIP() << "this kernel has no burst";
  must(*low, File::kCpuQuota, "50000");
  refused(*low, File::kCpuBurst, "50001", EINVAL);
  must(*low, File::kCpuBurst, "50000");
  refused(*low, File::kCpuQuota, "40000", EINVAL);
}

TEST_P(OnV2, AnIdleGroupHasNoWeightToSet) {
  if (!low->has(File::kCpuIdle)) GTEST_SKIP() << "this kernel has no cpu.idle";
  must(*low, File::kCpuShares, "2048");
  must(*low, File::kCpuIdle, "1");
  refused(*low, File::kCpuShares, "50", EINVAL);
  EXPECT_EQ(number(*low, File::kCpuIdle), 1);
  EXPECT_EQ(low->read(File::kCpuShares, buffer).value(), "0\n");
  must(*low, File::kCpuIdle, "0");
  EXPECT_EQ(low->read(File::kCpuShares, buffer).value(), "100\n") << "not the 2048 from before";
  must(*low, File::kCpuShares, "50");
}

TEST_P(OnV2, ManyMoveTogether) {
  for (const auto& [parent, child] :
       {std::pair{"90000", "80000"}, std::pair{"30000", "20000"}, std::pair{"max", "70000"}}) {
    const FileWrite writes[] = {{&*low, File::kCpuQuota, child, {}}, {&*top, File::kCpuQuota, parent, {}}};
    expect_written(writes);
  }
  EXPECT_EQ(number(*top, File::kCpuQuota), kUnlimited);
  EXPECT_EQ(number(*low, File::kCpuQuota), 70'000);
}

// A folder shows each step; a kernel only what comes of them.
struct Steps : ::testing::Test {
  testing::Tree tree;
  Buffer buffer;
  testing::KernelRules rules;
};

TEST_F(Steps, LoosensTopDownThenSetsBottomUp) {
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

TEST_F(Steps, RemovedGroupIsNoRefusal) {
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

TEST_F(Steps, ReportsFailedRestore) {
  testing::make_v1(tree);
  tree.write("cpuset/cpuset.cpus", "0-3\n");
  for (const char* group : {"a", "a/b", "a/c"}) {
    testing::make_v1_group(tree, group);
    tree.write(std::string("cpuset/") + group + "/cpuset.cpus", "0\n");
  }
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto a = std::move(*Group::open(hierarchies, "a").value());
  const auto b = std::move(*Group::open(hierarchies, "a/b").value());
  const FileWrite writes[] = {{&a, File::kCpusetCpus, "1", {}}, {&b, File::kCpusetCpus, "1", {}}};
  const auto reports = write_levelled(writes, rules, buffer);  // a/c keeps 0, a/b has 1 by then
  EXPECT_EQ(reports[0].outcome, WriteOutcome::kRefused);
  EXPECT_EQ(reports[0].found, "0");
  EXPECT_EQ(reports[0].stands, "0-1");
  EXPECT_EQ(reports[1].outcome, WriteOutcome::kWritten);
  EXPECT_EQ(a.read(File::kCpusetCpus, buffer).value(), "0-1\n");
}

// Another program that writes right after our first write.
class Disturbed final : public GroupWriter {
 public:
  Disturbed(testing::Tree& tree, std::string file, std::string text)
      : tree_(tree), file_(std::move(file)), text_(std::move(text)) {}
  Result<std::optional<std::size_t>> put(const Group& group, File file, std::string_view text) override {
    auto done = rules_.put(group, file, text);
    if (!std::exchange(done_, true)) tree_.write(file_, text_);
    return done;
  }

 private:
  testing::Tree& tree_;
  testing::KernelRules rules_;
  std::string file_, text_;
  bool done_ = false;
};

TEST_F(Steps, KeepsConcurrentWriteIfValueWasExpected) {
  testing::make_v2(tree);
  testing::make_v2_group(tree, "", "a");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  for (const bool expected : {true, false}) {
    tree.write("a/cpuset.cpus", "0\n");
    Disturbed disturbed(tree, "a/cpuset.cpus", "3\n");
    FileWrite wanted{&group, File::kCpusetCpus, "1", {}};
    if (expected) wanted.expected = "0";
    const WriteReport report = write_levelled({&wanted, 1}, disturbed, buffer)[0];
    EXPECT_EQ(report.outcome, expected ? WriteOutcome::kOther : WriteOutcome::kWritten);
    EXPECT_EQ(report.found, expected ? "3" : "0");
    EXPECT_EQ(group.read(File::kCpusetCpus, buffer).value(), expected ? "3\n" : "1\n");
  }
}

TEST(SameValue, ComparesAsTheKernelDoes) {
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
  EXPECT_EQ(loosest(File::kCpusetCpus, Version::kV1, "", "0-1"), "0-1");
  EXPECT_EQ(loosest(File::kCpusetCpus, Version::kV2, "", "0-1"), "") << "the parent's, which are all it may have";
  EXPECT_EQ(loosest(File::kCpusetMems, Version::kV2, "0", "\n"), "");
  EXPECT_EQ(loosest(File::kCpuQuota, Version::kV1, "-1", "50000"), "-1");
  EXPECT_EQ(loosest(File::kCpuQuota, Version::kV2, "50000 100000", "max"), "max");
  EXPECT_EQ(loosest(File::kMemoryMin, Version::kV2, "4096", "8192"), "8192");
  EXPECT_FALSE(loosest(File::kCpuShares, Version::kV1, "2", "1024"));
}

}  // namespace
}  // namespace tidemark::linux
