#include "agent/enforcer/without_agent.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforcer/enforcer.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/tree.h"
#include "policy/suppress/suppress.h"

namespace tidemark::agent {
namespace {

constexpr const char* kOffline = "kubepods/besteffort";
constexpr const char* kPod = "kubepods/besteffort/pod1";

// An agent ran here, and had nothing written when it died.
class WithoutAgentTest : public ::testing::Test {
 protected:
  WithoutAgentTest() {
    linux::testing::make_v1(cgroups);
    hierarchies.emplace(linux::Hierarchies::discover(cgroups.root(), "").value());
    for (const std::string group : {"kubepods", kOffline, "kubepods/besteffort/pod1"}) {
      linux::testing::make_v1_group(cgroups, group);
      cgroups.write(base::cat("cpu/", group, "/cpu.cfs_quota_us"), "-1\n");
    }
  }
  void runs_in(const std::string& group) {
    for (const auto& one : hierarchies->all()) {
      cgroups.write(base::cat(one.path.substr(cgroups.root().size() + 1), "/", group, "/cgroup.procs"), "4711\n");
    }
  }
  WithoutAgent off(const std::string& offline_group) {
    return off_without_agent(*hierarchies, rules, {proc.root(), run.root(), "b1", offline_group}, clock).value();
  }
  std::string quota(const std::string& group = kOffline) const {
    return journal::read_whole(base::cat(cgroups.root(), "/cpu/", group, "/cpu.cfs_quota_us"), 64)
        .value()
        .value_or("gone");
  }
  // As an agent does it that suppresses nothing: each batch pod has its own limit.
  void agent_limited_the_pod() {
    FoundJournal journal = FoundJournal::open(run.root(), "b1").value();
    Enforcer enforcer(*hierarchies, rules, journal, clock);
    Permits permits;
    permits.fill(Permit::kEnforce);
    enforcer.carry_out(
        std::vector{policy::KnobWrite{
            kPod, policy::Knob::kCpuQuota, 50'000, {}, model::Strategy::kBatchLimits, model::Reason::kLimitFromBatch}},
        permits);
    ASSERT_EQ(base::trim(quota(kPod)), "50000");
  }

  linux::testing::Tree cgroups, proc, run;
  linux::testing::KernelRules rules;
  std::optional<linux::Hierarchies> hierarchies;
  base::testing::Clock clock;
};

TEST_F(WithoutAgentTest, OfflineWorkThatNobodyHeldIsHeldAndListed) {
  runs_in("kubepods/besteffort/pod1");
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), base::cat(policy::kSuppressQuotaMin_us));
  ASSERT_EQ(done.left.size(), 1U);
  EXPECT_EQ(done.left[0].group, kOffline);
  EXPECT_EQ(done.left[0].found, "-1");
  // Again, and when it has ended.
  EXPECT_EQ(off(kOffline).left.size(), 1U);
  for (const auto& one : hierarchies->all()) {
    cgroups.write(base::cat(one.path.substr(cgroups.root().size() + 1), "/kubepods/besteffort/pod1/cgroup.procs"), "");
  }
  const WithoutAgent over = off(kOffline);
  EXPECT_EQ(over.put_back, 1);
  EXPECT_TRUE(over.left.empty());
  EXPECT_EQ(base::trim(quota()), "-1");
}

// A kernel of version 1 refuses the least of all while a pod below may use more.
TEST_F(WithoutAgentTest, PodsWithLimitsOfTheirOwnAreHeldWithTheRest) {
  agent_limited_the_pod();
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), base::cat(policy::kSuppressQuotaMin_us));
  EXPECT_EQ(base::trim(quota(kPod)), base::cat(policy::kSuppressQuotaMin_us));
  EXPECT_TRUE(done.not_held.empty());
  EXPECT_TRUE(done.troubles.empty());
  EXPECT_EQ(done.gone, 0);
  for (const auto& one : hierarchies->all()) {
    cgroups.write(base::cat(one.path.substr(cgroups.root().size() + 1), "/", kPod, "/cgroup.procs"), "");
  }
  EXPECT_EQ(off(kOffline).put_back, 2);
  EXPECT_EQ(base::trim(quota()), "-1");
  EXPECT_EQ(base::trim(quota(kPod)), "-1");
}

TEST_F(WithoutAgentTest, WhatTheKernelRefusesToHoldIsTold) {
  cgroups.write(base::cat("cpu/", kPod, "/cpu.cfs_quota_us"), "50000\n");  // by nobody whom we know
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), "-1");
  ASSERT_EQ(done.not_held.size(), 1U);
  EXPECT_EQ(done.not_held[0].group, kOffline);
  EXPECT_NE(done.not_held[0].why.find("Invalid argument"), std::string::npos) << done.not_held[0].why;
}

// More processes than a look takes, as of somebody who forks without end: it is the night for this command.
TEST_F(WithoutAgentTest, AGroupThatCannotBeLookedAtStopsNothing) {
  const std::string odd = "kubepods/besteffort/odd";
  linux::testing::make_v1_group(cgroups, odd);
  cgroups.write(base::cat("cpu/", odd, "/cpu.cfs_quota_us"), "-1\n");
  for (const auto& one : hierarchies->all()) {
    std::string many;
    for (int pid = 1'000'000; many.size() < (std::size_t{64} << 10); ++pid) many += base::cat(pid, "\n");
    cgroups.write(base::cat(one.path.substr(cgroups.root().size() + 1), "/", odd, "/cgroup.procs"), many);
  }
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), base::cat(policy::kSuppressQuotaMin_us)) << "it counts as busy";
  EXPECT_TRUE(done.not_held.empty());
  ASSERT_FALSE(done.troubles.empty());
  EXPECT_NE(done.troubles[0].message.find("odd"), std::string::npos) << done.troubles[0].message;
}

TEST_F(WithoutAgentTest, WithoutAJournalNothingIsWrittenAndThatIsTold) {
  std::filesystem::create_directories(run.path(".found.journal.new"));  // where a new one is written first
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), "-1");
  ASSERT_EQ(done.troubles.size(), 1U);
}

TEST_F(WithoutAgentTest, WhereNobodyRunsOrItMayNotBeWrittenNothingIs) {
  EXPECT_TRUE(off(kOffline).left.empty());
  EXPECT_EQ(quota(), "-1\n");
  runs_in("kubepods/besteffort/pod1");
  EXPECT_TRUE(off("").left.empty());
  EXPECT_TRUE(off("kubepods/no-such-group").left.empty());
  EXPECT_EQ(quota(), "-1\n");
}

}  // namespace
}  // namespace tidemark::agent
