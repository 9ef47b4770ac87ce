// Groups that come and go under the enforcer, and files that change with another one of their group.
#include <gtest/gtest.h>

#include <vector>

#include "agent/testing/enforced_groups.h"

namespace tidemark::agent {
namespace {

using linux::File;
using testing::Where;

class EnforcerGroups : public testing::EnforcedGroups {};
INSTANTIATE_TEST_SUITE_P(Enforcer, EnforcerGroups, ::testing::Values(Where::kV1, Where::kV2, Where::kMachine),
                         testing::name_of);

TEST_P(EnforcerGroups, RecreatedGroupIsAnotherGroup) {
  start();
  carry_out({quota_of("be/p1", 120'000)});
  drop("be/p1");
  make("be/p1");
  start();
  carry_out({});
  EXPECT_EQ(value("be/p1", File::kCpuQuota), quota("-1"));
  EXPECT_TRUE(journal->files().empty());
}

TEST_P(EnforcerGroups, RemovedGroupDoesNotAffectOthers) {
  start();
  carry_out({quota_of("be", 120'000), quota_of("be/p1", 110'000)});
  drop("be/p1");
  // A kernel of v1 goes on counting the quota of a group that was just removed.
  for (int tries = 0; tries < 1000 && value("be", File::kCpuQuota) != quota("90000"); ++tries) {
    carry_out({quota_of("be", 90'000), quota_of("be/p1", 80'000)});
    clock.advance(kRefusedPauseMax);
  }
  EXPECT_EQ(value("be", File::kCpuQuota), quota("90000"));
  clock.advance(kLookInterval);
  make("be/p1");
  carry_out({quota_of("be", 90'000), quota_of("be/p1", 80'000)});
  EXPECT_EQ(value("be/p1", File::kCpuQuota), quota("80000"));
  carry_out({});
  EXPECT_EQ(value("be/p1", File::kCpuQuota), quota("-1"));
}

// A group is removed from one hierarchy after the other, and a pass may come in between.
TEST_P(EnforcerGroups, GroupMissingInOneHierarchyIsDropped) {
  if (v2()) return;  // it has one hierarchy
  start();
  carry_out({cpus_of("be/p1", {0}), idle_of("be/p1")});
  ASSERT_EQ(value("be/p1", File::kCpuIdle), "1");
  drop_from(linux::Controller::kCpuset, "be/p1");
  carry_out({});
  EXPECT_EQ(value("be/p1", File::kCpuIdle), "0") << "where it is there still it is put back";
  carry_out({});
  EXPECT_TRUE(journal->files().empty());
}

TEST_P(EnforcerGroups, DoesNotRepairFileOfRemovedGroup) {
  if (v2()) return;
  start();
  carry_out({quota_of("be/p1", 120'000), cpus_of("be/p1", {0})});
  foreign("be/p1", File::kCpuQuota, "50000");
  drop_from(linux::Controller::kCpuset, "be/p1");
  clock.advance(kLookInterval);
  carry_out({quota_of("be/p1", 90'000), cpus_of("be/p1", {0})});
  EXPECT_EQ(value("be/p1", File::kCpuQuota), "50000");
  drop("be/p1");
  carry_out({});
  EXPECT_TRUE(journal->files().empty());
}

// cpu.idle takes the weight of its group; with the one the other comes back.
TEST_P(EnforcerGroups, RestoresWeightAfterIdle) {
  start();
  foreign("be/p1", File::kCpuShares, v2() ? "20" : "300");
  carry_out({idle_of("be/p1")});
  EXPECT_EQ(value("be/p1", File::kCpuIdle), "1");
  carry_out({});
  EXPECT_EQ(value("be/p1", File::kCpuIdle), "0");
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? "20" : "300");
  EXPECT_TRUE(journal->files().empty());
}

TEST_P(EnforcerGroups, RestoresWeightAfterIdleAndRestart) {
  start();
  foreign("be/p1", File::kCpuShares, v2() ? "20" : "300");
  carry_out({idle_of("be/p1")});
  start();
  carry_out({});
  EXPECT_EQ(value("be/p1", File::kCpuIdle), "0");
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? "20" : "300");
}

TEST_P(EnforcerGroups, RestoresOriginalWeightOfFormerlyIdleGroup) {
  start();
  carry_out({shares_of("be/p1", 512)});
  carry_out({idle_of("be/p1")});
  carry_out({});
  EXPECT_EQ(value("be/p1", File::kCpuShares), v2() ? "100" : "1024");
  EXPECT_TRUE(journal->files().empty());
}

// Of v1: what a runtime copies from a parent that is narrowed is not what the group would have without us.
TEST_P(EnforcerGroups, RestoresCpusOfGroupCreatedUnderReducedCpuset) {
  if (v2()) return;  // a new group has no processors of its own
  start();
  const std::string before = value("be", File::kCpusetCpus);
  if (before == "0") GTEST_SKIP() << "needs two processors";
  carry_out({cpus_of("be", {0}), cpus_of("be/p1", {0})});
  make("be/p1/c1");
  EXPECT_EQ(value("be/p1/c1", File::kCpusetCpus), "0");
  carry_out({cpus_of("be", {0}), cpus_of("be/p1", {0}), cpus_of("be/p1/c1", {0})});
  carry_out({});
  for (const char* group : {"be", "be/p1", "be/p1/c1"}) EXPECT_EQ(value(group, File::kCpusetCpus), before) << group;
}

// As when an agent that was away comes back and pods began meanwhile.
TEST_P(EnforcerGroups, RestoresCpusOfGroupFirstSeenWithReducedParent) {
  if (v2()) return;  // a new group has no processors of its own
  start();
  const std::string before = value("be", File::kCpusetCpus);
  if (before == "0") GTEST_SKIP() << "needs two processors";
  drop("be/p1");
  carry_out({cpus_of("be", {0})});
  make("be/p2");
  make("be/p2/c1");
  carry_out({cpus_of("be", {0}), cpus_of("be/p2", {0}), cpus_of("be/p2/c1", {0})});
  carry_out({});
  for (const char* group : {"be", "be/p2", "be/p2/c1"}) EXPECT_EQ(value(group, File::kCpusetCpus), before) << group;
}

}  // namespace
}  // namespace tidemark::agent
