#include "agent/enforcer/without_agent.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/testing/clock.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/tree.h"
#include "policy/suppress/suppress.h"

namespace tidemark::agent {
namespace {

constexpr const char* kOffline = "kubepods/besteffort";
constexpr const char* kQuota = "cpu/kubepods/besteffort/cpu.cfs_quota_us";

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
  std::string quota() const {
    return journal::read_whole(base::cat(cgroups.root(), "/", kQuota), 64).value().value_or("gone");
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
