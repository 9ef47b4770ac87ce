#include "agent/enforcer/without_agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforcer/enforcer.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/testing/descriptor_limit.h"
#include "linux/testing/kernel_rules.h"
#include "linux/testing/tree.h"
#include "policy/protect/suppress/suppress.h"

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
  void nobody_runs_in(const std::string& group) {
    for (const auto& one : hierarchies->all()) {
      cgroups.write(base::cat(one.path.substr(cgroups.root().size() + 1), "/", group, "/cgroup.procs"), "");
    }
  }
  AgentGone gone(const std::string& offline_group) const {
    return {proc.root(), run.root(), "b1", offline_group, pods};
  }
  WithoutAgent off(const std::string& offline_group) {
    return off_without_agent(*hierarchies, rules, gone(offline_group), clock).value();
  }
  WithoutAgent on() { return on_without_agent(*hierarchies, rules, gone(kOffline), clock).value(); }
  void make(const std::string& group) {
    linux::testing::make_v1_group(cgroups, group);
    cgroups.write(base::cat("cpu/", group, "/cpu.cfs_quota_us"), "-1\n");
  }
  // As an agent does it; nothing is put back.
  void agent_writes(const policy::protect::KnobWrite& write) {
    FoundJournal journal = FoundJournal::open(run.root(), "b1").value();
    Enforcer enforcer(*hierarchies, rules, journal, clock);
    Permits permits;
    permits.fill(Permit::kKeep);
    permits[static_cast<std::size_t>(write.strategy)] = Permit::kTighten;
    enforcer.carry_out(std::vector{write}, permits);
  }
  void agent_suppressed(std::int64_t quota_us) {
    agent_writes({kOffline,
                  policy::protect::Knob::kCpuQuota,
                  quota_us,
                  {},
                  model::Strategy::kCpuSuppress,
                  model::Reason::kSuppressUnderLine});
    ASSERT_EQ(base::trim(quota()), base::cat(quota_us));
  }
  std::string quota(const std::string& group = kOffline) const {
    return journal::read_whole(base::cat(cgroups.root(), "/cpu/", group, "/cpu.cfs_quota_us"), 64)
        .value()
        .value_or("gone");
  }
  // As an agent does it that suppresses nothing: each batch pod has its own limit.
  void agent_limited_the_pod() {
    agent_writes({kPod,
                  policy::protect::Knob::kCpuQuota,
                  50'000,
                  {},
                  model::Strategy::kBatchLimits,
                  model::Reason::kLimitFromBatch});
    ASSERT_EQ(base::trim(quota(kPod)), "50000");
  }

  linux::testing::Tree cgroups, proc, run;
  linux::testing::KernelRules rules;
  KnownPods pods{{kPod}, {}};
  std::optional<linux::Hierarchies> hierarchies;
  base::testing::Clock clock;
};

TEST_F(WithoutAgentTest, LimitsAndListsUnlimitedOfflineWork) {
  runs_in("kubepods/besteffort/pod1");
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), base::cat(policy::protect::kSuppressQuotaMin_us));
  ASSERT_EQ(done.left.size(), 1U);
  EXPECT_EQ(done.left[0].group, kOffline);
  EXPECT_EQ(done.left[0].found, "-1");
  // Again, and when it has ended.
  EXPECT_EQ(off(kOffline).left.size(), 1U);
  nobody_runs_in(kPod);
  const WithoutAgent over = off(kOffline);
  EXPECT_EQ(over.put_back, 1);
  EXPECT_TRUE(over.left.empty());
  EXPECT_EQ(base::trim(quota()), "-1");
}

// A kernel of version 1 refuses the least of all while a pod below may use more.
TEST_F(WithoutAgentTest, LimitsPodsWithOwnLimits) {
  agent_limited_the_pod();
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), base::cat(policy::protect::kSuppressQuotaMin_us));
  EXPECT_EQ(base::trim(quota(kPod)), base::cat(policy::protect::kSuppressQuotaMin_us));
  EXPECT_TRUE(done.not_held.empty());
  EXPECT_TRUE(done.troubles.empty());
  EXPECT_EQ(done.gone, 0);
  nobody_runs_in(kPod);
  EXPECT_EQ(off(kOffline).put_back, 2);
  EXPECT_EQ(base::trim(quota()), "-1");
  EXPECT_EQ(base::trim(quota(kPod)), "-1");
}

TEST_F(WithoutAgentTest, ReportsRefusedLimit) {
  cgroups.write(base::cat("cpu/", kPod, "/cpu.cfs_quota_us"), "50000\n");  // by an unknown program
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), "-1");
  ASSERT_EQ(done.not_held.size(), 1U);
  EXPECT_EQ(done.not_held[0].group, kOffline);
  EXPECT_NE(done.not_held[0].why.find("Invalid argument"), std::string::npos) << done.not_held[0].why;
}

// More processes than one check reads, as with a fork bomb: `off --local` must still work then.
TEST_F(WithoutAgentTest, UnreadableGroupStopsNothingElse) {
  const std::string odd = "kubepods/besteffort/odd";
  make(odd);
  pods.offline.insert(odd);
  for (const auto& one : hierarchies->all()) {
    std::string many;
    for (int pid = 1'000'000; many.size() < (std::size_t{64} << 10); ++pid) many += base::cat(pid, "\n");
    cgroups.write(base::cat(one.path.substr(cgroups.root().size() + 1), "/", odd, "/cgroup.procs"), many);
  }
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), base::cat(policy::protect::kSuppressQuotaMin_us)) << "it counts as busy";
  EXPECT_TRUE(done.not_held.empty());
  ASSERT_FALSE(done.troubles.empty());
  EXPECT_NE(done.troubles[0].message.find("odd"), std::string::npos) << done.troubles[0].message;
}

// kube-proxy must not be limited.
TEST_F(WithoutAgentTest, OnlinePodIsNotLimited) {
  const std::string proxy = "kubepods/besteffort/podproxy";
  make(proxy);
  pods.online.insert(proxy);
  runs_in(proxy);
  EXPECT_TRUE(off(kOffline).left.empty());
  EXPECT_EQ(base::trim(quota()), "-1");
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_TRUE(done.troubles.empty());
  EXPECT_EQ(base::trim(quota(kPod)), base::cat(policy::protect::kSuppressQuotaMin_us));
  EXPECT_EQ(base::trim(quota()), "-1") << "it would hold the other one too";
  EXPECT_EQ(base::trim(quota(proxy)), "-1");
  nobody_runs_in(kPod);
  EXPECT_TRUE(off(kOffline).left.empty());
}

TEST_F(WithoutAgentTest, BesideOnlinePodKeepsAgentLimitsUntilOfflineWorkEnds) {
  const std::string proxy = "kubepods/besteffort/podproxy";
  make(proxy);
  pods.online.insert(proxy);
  agent_suppressed(120'000);
  runs_in(proxy);
  runs_in(kPod);
  EXPECT_TRUE(off(kOffline).not_held.empty());
  EXPECT_EQ(base::trim(quota(kPod)), base::cat(policy::protect::kSuppressQuotaMin_us));
  EXPECT_EQ(base::trim(quota()), "120000");
  nobody_runs_in(kPod);
  EXPECT_TRUE(off(kOffline).left.empty()) << "that the other one runs is no reason";
  EXPECT_EQ(base::trim(quota()), "-1");
}

TEST_F(WithoutAgentTest, ReportsUnknownPodAndDoesNotLimitIt) {
  pods = {};
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), "-1");
  EXPECT_EQ(base::trim(quota(kPod)), "-1");
  ASSERT_EQ(done.troubles.size(), 1U);
  EXPECT_TRUE(done.troubles[0].message.starts_with(base::cat(kPod, " is not limited"))) << done.troubles[0].message;
  agent_limited_the_pod();  // of offline work alone
  EXPECT_TRUE(off(kOffline).troubles.empty());
  EXPECT_EQ(base::trim(quota()), base::cat(policy::protect::kSuppressQuotaMin_us));
}

// On kernels that tell classes apart each pod has a file, and online ones end never.
TEST_F(WithoutAgentTest, RestoresHarmlessPriorityOfRunningGroup) {
  const std::string web = "kubepods/podweb";
  make(web);
  for (const std::string& group : {web, std::string(kPod)}) {
    cgroups.write(base::cat("cpu/", group, "/cpu.bvt_warp_ns"), "0\n");
    agent_writes({group,
                  policy::protect::Knob::kCpuBvt,
                  group == web ? 2 : -1,
                  {},
                  model::Strategy::kCpuPriority,
                  model::Reason::kPriorityByClass});
    runs_in(group);
  }
  const WithoutAgent done = off(kOffline);
  const auto bvt = [&](const std::string& group) {
    return std::string(base::trim(
        journal::read_whole(cgroups.path(base::cat("cpu/", group, "/cpu.bvt_warp_ns")), 64).value().value_or("gone")));
  };
  EXPECT_EQ(bvt(web), "0");
  EXPECT_EQ(bvt(kPod), "-1");
  EXPECT_TRUE(std::ranges::none_of(done.left, [&](const LeftBehind& each) { return each.group == web; }));
}

// Each group that an agent wrote to is held open, and a shell gives a command 1024 descriptors.
TEST_F(WithoutAgentTest, MorePodsThanDescriptorsAreHandled) {
  std::vector<std::string> limited;
  for (int pod = 0; pod < 20; ++pod) {
    const std::string& group = limited.emplace_back(base::cat(kOffline, "/podof", pod));
    make(group);
    agent_writes({group,
                  policy::protect::Knob::kCpuQuota,
                  50'000,
                  {},
                  model::Strategy::kBatchLimits,
                  model::Reason::kLimitFromBatch});
  }
  {
    const linux::testing::DescriptorLimit few(20);
    const WithoutAgent done = off(kOffline);
    ASSERT_FALSE(done.left.empty());
    EXPECT_NE(done.left.back().why.find("Too many open files"), std::string::npos) << done.left.back().why;
    EXPECT_FALSE(done.troubles.empty());
    EXPECT_EQ(done.gone, 0);
  }
  EXPECT_TRUE(off(kOffline).left.empty());
  for (const std::string& group : limited) EXPECT_EQ(base::trim(quota(group)), "-1") << group;
}

TEST_F(WithoutAgentTest, OnRestoresWhatOffChanged) {
  runs_in(kPod);
  off(kOffline);
  ASSERT_EQ(base::trim(quota()), base::cat(policy::protect::kSuppressQuotaMin_us));
  EXPECT_EQ(on().put_back, 1);
  EXPECT_EQ(base::trim(quota()), "-1") << "nothing had held it";
  EXPECT_TRUE(read_found(run.root(), "b1")->files.empty());
}

TEST_F(WithoutAgentTest, OnKeepsAgentValues) {
  agent_suppressed(120'000);
  agent_limited_the_pod();
  runs_in(kPod);
  off(kOffline);
  off(kOffline);  // a second `off` changes nothing
  ASSERT_EQ(base::trim(quota()), base::cat(policy::protect::kSuppressQuotaMin_us));
  ASSERT_EQ(base::trim(quota(kPod)), base::cat(policy::protect::kSuppressQuotaMin_us));
  EXPECT_EQ(on().put_back, 2);
  EXPECT_EQ(base::trim(quota()), "120000");
  EXPECT_EQ(base::trim(quota(kPod)), "50000");
  EXPECT_EQ(on().put_back, 0);
  EXPECT_EQ(read_found(run.root(), "b1")->files.size(), 2U) << "an agent that comes puts them back";
}

// A pod with no limit of its own, to which an agent had nothing to change.
TEST_F(WithoutAgentTest, OnRestoresAgentValueEqualToOriginal) {
  agent_writes(
      {kPod, policy::protect::Knob::kCpuQuota, -1, {}, model::Strategy::kBatchLimits, model::Reason::kLimitFromBatch});
  runs_in(kPod);
  off(kOffline);
  ASSERT_EQ(base::trim(quota(kPod)), base::cat(policy::protect::kSuppressQuotaMin_us));
  on();
  EXPECT_EQ(base::trim(quota(kPod)), "-1");
}

TEST_F(WithoutAgentTest, ReportsMissingJournalAndWritesNothing) {
  std::filesystem::create_directories(run.path(".found.journal.new"));  // where a new one is written first
  runs_in(kPod);
  const WithoutAgent done = off(kOffline);
  EXPECT_EQ(base::trim(quota()), "-1");
  ASSERT_EQ(done.troubles.size(), 1U);
}

TEST_F(WithoutAgentTest, WritesNothingWithoutProcessesOrPermission) {
  EXPECT_TRUE(off(kOffline).left.empty());
  EXPECT_EQ(quota(), "-1\n");
  runs_in("kubepods/besteffort/pod1");
  EXPECT_TRUE(off("").left.empty());
  EXPECT_TRUE(off("kubepods/no-such-group").left.empty());
  EXPECT_EQ(quota(), "-1\n");
}

}  // namespace
}  // namespace tidemark::agent
