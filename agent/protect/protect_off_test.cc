// Orders to the agent: off, by the cluster or by the latch, and observe.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "agent/testing/guarded_node.h"
#include "base/json.h"
#include "model/isolation.h"
#include "policy/protect/suppress/suppress.h"
#include "policy/state/mark.h"
#include "policy/state/state.h"

namespace tidemark::agent {
namespace {

using model::Strategy;

class ProtectOff : public testing::GuardedNode {};

TEST_F(ProtectOff, OffLimitsOfflineWorkAtOnceAndRestoresAfterItEnds) {
  start();
  say_all(kQuota80);
  seconds(2);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  seconds(5);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  end("job");
  seconds(2);
  EXPECT_EQ(quota(), -1);
  EXPECT_TRUE(read_found(run.root() + "/run", "b1")->files.empty());
  say_node();
  offline("job", 0);
  list_pods();
  seconds(2);
  EXPECT_GT(quota(), policy::protect::kSuppressQuotaMin_us);
}

TEST_F(ProtectOff, ReportsTheMarkThatItObeys) {
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_EQ(model::mark_read_by_agent(condition_message(guard->status())), 0) << "the node has none";
  const auto mark = [&](std::int64_t generation, policy::state::Wish wish) {
    policy::state::NodeMarks marks;
    marks.generation = generation;
    policy::state::StateOrder order;
    order.wish = wish;
    order.by = "ann";
    order.why = "; mark 99";
    marks.node = policy::state::StateMark{generation, {order}};
    const auto state = policy::state::label_of(marks, node.clock.wall());
    std::string detail;
    base::JsonWriter(detail).value(policy::state::format_marks(marks, state));
    say_node(base::cat(R"("tidemark.io/state":")", model::to_string(state), R"(")"),
             base::cat(R"("tidemark.io/state-detail":)", detail));
  };
  for (const auto& [generation, wish] :
       {std::pair(7, policy::state::Wish::kOff), std::pair(8, policy::state::Wish::kOn),
        std::pair(9, policy::state::Wish::kOff)}) {
    mark(generation, wish);
    EXPECT_EQ(guard->status().off, wish == policy::state::Wish::kOff);
    EXPECT_EQ(model::mark_read_by_agent(condition_message(guard->status())), generation)
        << condition_message(guard->status());
  }
}

// kube-proxy, or what collects logs, has no requests mostly: it lies among BestEffort pods, and would get nothing.
TEST_F(ProtectOff, OffLimitsEachPodBesideOnlinePods) {
  add("proxy", model::KubeQos::kBestEffort, 0).ns = "kube-system";
  list_pods();
  const std::string job = pods.at("job").path, proxy = pods.at("proxy").path;
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_GT(quota(), policy::protect::kSuppressQuotaMin_us);
  EXPECT_EQ(guard->status().online_in_besteffort, "kube-system/proxy");
  runs_in(proxy, "17\n");
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(proxy), -1);
  EXPECT_EQ(quota(job), policy::protect::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  EXPECT_EQ(guard->status().refused, 0);
  offline("late", 0);
  list_pods();
  seconds(1);
  EXPECT_EQ(quota(pods.at("late").path), policy::protect::kSuppressQuotaMin_us);
  say_node();
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us + 40'000) << "in steps: a tenth of 400,000 more";
  EXPECT_EQ(quota(job), -1);
  say_node(R"("tidemark.io/state":"off")");
  end("job");
  end("late");
  seconds(2);
  EXPECT_TRUE(read_found(run.root() + "/run", "b1")->files.empty()) << "that another program runs there is no reason";
}

// A v1 kernel refuses the minimum quota of all offline work while a pod below it may use more: while one quota limits
// all offline work, no pod has its own quota (contract 7.8), whichever order limits it.
TEST_F(ProtectOff, OffWorksWithoutSuppression) {
  start();
  say_all(R"("enable":false,"cpuSuppressPolicy":"cfsQuota")");
  seconds(2);
  const std::string pod = pods.at("job").path, container = pods.at("job").containers[0].path;
  ASSERT_EQ(quota(pod), 50'000);
  ASSERT_EQ(quota(container), 50'000);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  EXPECT_EQ(quota(pod), -1);
  EXPECT_EQ(quota(container), -1);
  EXPECT_EQ(guard->status().refused, 0);
  say_node();
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(pod), 50'000);
  EXPECT_EQ(quota(container), 50'000);
  EXPECT_EQ(guard->status().refused, 0);
}

// A kernel that tells classes apart has a file in force for each pod, online ones too: off, those go back at once, and
// what is left ends with offline work.
TEST_F(ProtectOff, OffEndsWithPriorityPerClass) {
  machinery.capabilities.effective.set(static_cast<std::size_t>(policy::protect::Knob::kCpuBvt));
  const std::string web = pods.at("web").path, job = pods.at("job").path;
  for (const std::string& each : {std::string("kubepods"), std::string("kubepods/burstable"),
                                  std::string("kubepods/besteffort"), web, web + "/webc1", job, job + "/jobc1"}) {
    node.cgroups.write(base::cat("cpu/", each, "/cpu.bvt_warp_ns"), "0\n");
  }
  const auto bvt = [&](const std::string& group) { return value(base::cat("cpu/", group, "/cpu.bvt_warp_ns")); };
  start();
  say_node();
  say_spec(R"({"resourceQOSStrategy":{"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}},)"
           R"("beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}}})");
  seconds(2);
  ASSERT_EQ(bvt(web), "2");
  ASSERT_EQ(bvt(job), "-1");
  say_node(R"("tidemark.io/state":"off")");
  seconds(2);
  EXPECT_EQ(bvt(web), "0");
  EXPECT_EQ(bvt("kubepods/burstable"), "0");
  EXPECT_EQ(bvt(job), "-1");
  EXPECT_EQ(bvt("kubepods/besteffort"), "-1");
  end("job");
  seconds(2);
  EXPECT_EQ(bvt("kubepods/besteffort"), "0");
  EXPECT_TRUE(read_found(run.root() + "/run", "b1")->files.empty());
  const AgentStatus& status = guard->status();
  EXPECT_TRUE(model::says_nothing_in_force(condition_reason(status), condition_message(status)))
      << condition_message(status);
}

TEST_F(ProtectOff, LatchOverridesClusterAndSurvivesRestarts) {
  start();
  say_all(kQuota80);
  seconds(2);
  for (const std::string& file : {run.root() + "/run/latch", run.root() + "/lib/latch"}) {
    ASSERT_TRUE(set_latch(file, {"root@n1", "disk", {}, ""}));
  }
  say_node(R"("tidemark.io/state":"on")");
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  EXPECT_TRUE(guard->status().latched);
  EXPECT_EQ(guard->status().by, "root@n1");
  ASSERT_TRUE(clear_latch(run.root() + "/run/latch"));  // as a restart of the machine does
  start();
  seconds(1, false);
  EXPECT_TRUE(guard->status().latched);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  ASSERT_TRUE(clear_latch(run.root() + "/run/latch") && clear_latch(run.root() + "/lib/latch"));
  say_all(kQuota80);
  seconds(30);
  EXPECT_EQ(quota(), 320'000);
}

TEST_F(ProtectOff, KeptLatchWorksIfItCannotBeCopied) {
  ASSERT_TRUE(set_latch(run.root() + "/lib/latch", {"root@n1", "disk", {}, ""}));
  std::filesystem::create_directories(run.root() + "/run/.latch.new");  // where a new one is written first
  start();
  say_all(kQuota80);
  seconds(3);
  EXPECT_TRUE(guard->status().latched);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
}

// The kubelet answers no request while the API server is away.
TEST_F(ProtectOff, LatchWorksBeforeTasksAreKnown) {
  provider.say({});
  start();
  say_all(kQuota80);
  seconds(2, false);
  EXPECT_EQ(quota(), -1);
  ASSERT_TRUE(set_latch(run.root() + "/run/latch", {"root@n1", "disk", {}, ""}));
  seconds(1, false);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  ASSERT_TRUE(clear_latch(run.root() + "/run/latch"));
  seconds(2, false);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us) << "kept, until it is known";
  list_pods();
  seconds(30);
  EXPECT_EQ(quota(), 320'000);
}

// As `systemctl daemon-reload` does, three times within half a minute.
TEST_F(ProtectOff, OffTightensQuotaLeftToAnotherWriter) {
  start();
  say_all(kQuota80);
  seconds(2);
  for (int reload = 0; reload < 3; ++reload) {
    node.cgroups.write("cpu/kubepods/besteffort/cpu.cfs_quota_us", "-1\n");
    seconds(11);
  }
  ASSERT_EQ(guard->status().left, 1);
  ASSERT_EQ(quota(), -1);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us) << "with the mark, not when the other is silent";
  EXPECT_EQ(guard->status().left, 0);
  say_node();
  seconds(30);
  EXPECT_GT(quota(), policy::protect::kSuppressQuotaMin_us);
}

TEST_F(ProtectOff, ObserveRestoresAllAndKeepsDeciding) {
  start();
  say_all(kQuota80);
  seconds(2);
  say_node(R"("tidemark.io/state":"observe")");
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(pods.at("job").path), -1);
  seconds(2);
  EXPECT_EQ(permit_of(Strategy::kCpuSuppress), "restore");
  EXPECT_NE(guard->status().strategies[0].says, "");
  EXPECT_EQ(quota(), -1);
}

TEST_F(ProtectOff, ObserveFlagWritesNothing) {
  mode = model::Mode::kObserve;
  start();
  say_all(kQuota80);
  seconds(5);
  EXPECT_TRUE(rules.taken.empty());
}

// Safe start of an agent that only observes tightens nothing either.
TEST_F(ProtectOff, ObserveInSafeStartWritesNothing) {
  mode = model::Mode::kObserve;
  for (int ends = 0; ends < 4; ++ends) {
    start(false);
    say_node();
    say_spec(base::cat(R"({"resourceUsedThresholdWithBE":{)", kQuota80,
                       R"(},"resourceQOSStrategy":{"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}}})"));
    seconds(20);
  }
  ASSERT_TRUE(guard->status().holding);
  EXPECT_TRUE(rules.taken.empty()) << rules.taken.front();
  EXPECT_EQ(permit_of(Strategy::kCpuSuppress), "keep");
  EXPECT_EQ(permit_of(Strategy::kEviction), "restore");
  EXPECT_EQ(condition_reason(guard->status()), "Holding");
}

// An order to observe loosens nothing during safe start, and takes effect afterwards.
TEST_F(ProtectOff, SafeStartKeepsValuesDespiteObserveOrder) {
  for (int ends = 0; ends < 4; ++ends) {
    start(false);
    say_all(kQuota80);
    seconds(20);
  }
  ASSERT_TRUE(guard->status().holding);
  const std::int64_t before = quota();
  ASSERT_GT(before, 0);
  say_node(R"("tidemark.io/state":"observe")");
  seconds(5);
  EXPECT_EQ(quota(), before);
  net::testing::run_for(loop, node.clock, policy::state::kHoldWindow);
  seconds(2);
  EXPECT_EQ(quota(), -1);
}

TEST_F(ProtectOff, AgentWithoutWriteAccessAlwaysObserves) {
  only_shows = "mkdir /sys/fs/cgroup/x: Read-only file system";
  start();
  say_all(kQuota80);
  say_node(R"("tidemark.io/state":"on")");
  seconds(12);
  EXPECT_TRUE(rules.taken.empty());
  EXPECT_EQ(permit_of(Strategy::kEviction), "restore");
  EXPECT_NE(writer.last.find(R"("reason":"Observing")"), std::string::npos) << writer.last;
  EXPECT_NE(writer.last.find("only shown: mkdir /sys/fs/cgroup/x: Read-only file system"), std::string::npos)
      << writer.last;
}

// A copilot that is silent, or not there yet: its containers are listed no more, and run.
TEST_F(ProtectOff, OffLimitsUnlistedRunningWork) {
  start();
  say_all(kQuota80);
  seconds(2);
  say_node(R"("tidemark.io/state":"off")");
  const std::string container = "kubepods/besteffort/hadoop-yarn/container_1";
  make_group("kubepods/besteffort/hadoop-yarn");
  make_group(container);
  runs_in(container, "4711\n");
  end("job");
  seconds(200);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  start();
  say_all(kQuota80);
  say_node(R"("tidemark.io/state":"off")");
  seconds(2);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us) << "nor does an agent that begins anew loosen it";
  runs_in(container, "0\n");
  seconds(4);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us) << "in a pid namespace that this agent does not see";
  runs_in(container, "");
  seconds(4);
  EXPECT_EQ(quota(), -1);
}

// Nothing is killed by off: a pod that uses more memory than its limit would be, where no limit was in force.
TEST_F(ProtectOff, OffLimitsCpuSetAfterObserve) {
  mode = model::Mode::kObserve;
  start();
  say_all(kQuota80);
  seconds(2);
  const std::string limit = base::cat("memory/", pods.at("job").path, "/memory.limit_in_bytes");
  const std::string before = value(limit);
  ASSERT_NE(before, base::cat(64 << 20));
  ASSERT_EQ(quota(), -1);
  say_node(R"("tidemark.io/state":"off")");
  seconds(2);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  EXPECT_EQ(value(limit), before);
  say_node();
  seconds(2);
  EXPECT_EQ(quota(), -1);
}

}  // namespace
}  // namespace tidemark::agent
