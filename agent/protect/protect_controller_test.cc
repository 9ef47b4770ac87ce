// What stands in the kernel's files of a node, second by second, by whoever's word.
#include "agent/protect/protect_controller.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "agent/evict/eviction_observer.h"
#include "agent/testing/guarded_node.h"
#include "policy/suppress/suppress.h"

namespace tidemark::agent {
namespace {

using model::Strategy;

class Protect : public testing::GuardedNode {};

constexpr std::string_view kQuota80 =
    R"("enable":true,"cpuSuppressPolicy":"cfsQuota","cpuSuppressThresholdPercent":80)";

TEST_F(Protect, UntilAllIsKnownNothingIsWritten) {
  start();
  seconds(3, false);
  EXPECT_EQ(stance_of(Strategy::kCpuSuppress), "keep");
  say_node();
  seconds(3, true);
  EXPECT_EQ(stance_of(Strategy::kCpuSuppress), "keep");
  EXPECT_TRUE(rules.taken.empty());
}

// Contract 7.3: 4 cores × 80 % less what online work uses; downward at once, upward by 10 % of the machine a second.
TEST_F(Protect, OfflineWorkGivesWayAtOnceAndComesBackInSteps) {
  loads[pods.at("web").path] = 200;
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_EQ(quota(), 300'000) << "3200 - 200 milli-cores";
  loads[pods.at("web").path] = 2'200;
  seconds(1);
  EXPECT_EQ(quota(), 100'000);
  loads[pods.at("web").path] = 200;
  seconds(1);
  EXPECT_EQ(quota(), 140'000) << "a tenth of 400,000 more";
  seconds(10);
  EXPECT_EQ(quota(), 300'000);
}

TEST_F(Protect, BatchPodsHaveTheirLimits) {
  start();
  say_all(R"("enable":false)");
  seconds(2);
  EXPECT_EQ(quota(pods.at("job").path), 50'000);
  EXPECT_EQ(value(base::cat("memory/", pods.at("job").path, "/memory.limit_in_bytes")), base::cat(64 << 20));
  EXPECT_EQ(quota(), -1) << "suppression is off";
  EXPECT_EQ(quota(pods.at("web").path), -1);
}

TEST_F(Protect, OffHoldsOfflineWorkToItsLeastAtOnceAndGivesBackWhenItHasEnded) {
  start();
  say_all(kQuota80);
  seconds(2);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  seconds(5);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  end("job");
  seconds(2);
  EXPECT_EQ(quota(), -1);
  EXPECT_TRUE(read_found(run.root() + "/run", "b1")->files.empty());
  say_node();
  offline("job", 0);
  list_pods();
  seconds(2);
  EXPECT_GT(quota(), policy::kSuppressQuotaMin_us);
}

// kube-proxy, or what collects logs, has no requests mostly: it lies among BestEffort pods, and would get nothing.
TEST_F(Protect, OffHoldsEachPodByItselfBesideOnesThatAreNotOffline) {
  add("proxy", model::KubeQos::kBestEffort, 0).ns = "kube-system";
  list_pods();
  const std::string job = pods.at("job").path, proxy = pods.at("proxy").path;
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_GT(quota(), policy::kSuppressQuotaMin_us);
  EXPECT_EQ(guard->status().online_in_besteffort, "kube-system/proxy");
  runs_in(proxy, "17\n");
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(proxy), -1);
  EXPECT_EQ(quota(job), policy::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  EXPECT_EQ(guard->status().refused, 0);
  offline("late", 0);
  list_pods();
  seconds(1);
  EXPECT_EQ(quota(pods.at("late").path), policy::kSuppressQuotaMin_us);
  say_node();
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us + 40'000) << "in steps: a tenth of 400,000 more";
  EXPECT_EQ(quota(job), -1);
  say_node(R"("tidemark.io/state":"off")");
  end("job");
  end("late");
  seconds(2);
  EXPECT_TRUE(read_found(run.root() + "/run", "b1")->files.empty()) << "that somebody else runs there is no reason";
}

// A v1 kernel refuses the least of all offline work while a pod below it may use more: while all of it is held by one
// quota nobody has his own (contract 7.8), by whoever's word it is held.
TEST_F(Protect, OffIsObeyedWhereSuppressionIsSwitchedOffToo) {
  start();
  say_all(R"("enable":false,"cpuSuppressPolicy":"cfsQuota")");
  seconds(2);
  const std::string pod = pods.at("job").path, container = pods.at("job").containers[0].path;
  ASSERT_EQ(quota(pod), 50'000);
  ASSERT_EQ(quota(container), 50'000);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us) << "with the mark, not with the next second";
  EXPECT_EQ(quota(pod), -1);
  EXPECT_EQ(quota(container), -1);
  EXPECT_EQ(guard->status().refused, 0);
  say_node();
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(pod), 50'000);
  EXPECT_EQ(quota(container), 50'000);
  EXPECT_EQ(guard->status().refused, 0);
}

// Contract 7.3, 7.4: where the kubelet's CPU manager is static containers alone are narrowed, and the real limit is the
// narrowest of them and their group.
TEST_F(Protect, WhereContainersAloneAreNarrowedThatIsWhatOfflineWorkHas) {
  std::filesystem::create_directories(run.root() + "/kubelet");
  std::ofstream(run.root() + "/kubelet/cpu_manager_state") << R"({"policyName":"static"})";
  start();
  say_all(R"("enable":true,"cpuSuppressPolicy":"cpuset","cpuSuppressThresholdPercent":65)");
  seconds(3);
  ASSERT_EQ(value("cpuset/kubepods/besteffort/cpuset.cpus"), "0-3");
  EXPECT_EQ(guard->container_cpus(), 3) << "of 4 processors 65 %, rounded up";
  EXPECT_EQ(besteffort_in_force(guard->suppress_seen(), guard->container_cpus()).cpus, 3);
  say_node(R"("tidemark.io/state":"observe")");
  seconds(1);
  EXPECT_EQ(guard->container_cpus(), std::nullopt) << "only shown";
  EXPECT_EQ(besteffort_in_force(guard->suppress_seen(), guard->container_cpus()).cpus, 4);
}

// Only our own settings ask for it: in the place of Koordinator's agent nothing of the kind is done.
TEST_F(Protect, TheOrderBeforeAKernelOutOfMemoryIsSetWhereItIsAskedForAndTakenBack) {
  const std::string container = pods.at("job").containers[0].path;
  const auto process = [&](int pid, int value) {
    node.proc.write(base::cat(pid, "/stat"), base::cat(pid, " (java) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0\n"));
    node.proc.write(base::cat(pid, "/oom_score_adj"), base::cat(value, "\n"));
  };
  const auto stands = [&](int pid) {
    int value = 0;
    std::ifstream(node.proc.path(base::cat(pid, "/oom_score_adj"))) >> value;
    return value;
  };
  const auto say = [&](std::string_view modes) {
    say_spec(base::cat(R"({"extensions":{"Object":{"tidemark":{"schema":1,"agent":{"modes":{)", modes, "}}}}}}"));
    seconds(1);
  };
  process(7, -997);
  process(8, 5);
  node.processes(container, "7\n");
  node.processes(pods.at("web").containers[0].path, "8\n");
  start();
  say_all();
  seconds(11);
  EXPECT_EQ(stance_of(Strategy::kOomOrder), "observe");
  EXPECT_EQ(stands(7), -997);
  say(R"("default":"enforce")");
  EXPECT_EQ(stands(7), 1000);
  EXPECT_EQ(stands(8), 5) << "it is online";
  const auto status = [&]() -> const StrategyStatus& {
    return guard->status().strategies.at(static_cast<std::size_t>(Strategy::kOomOrder));
  };
  EXPECT_EQ(status().in_force, 1);
  EXPECT_EQ(status().says, "1 groups");
  process(9, 0);
  node.processes(container, "7\n9\n");
  seconds(11);
  EXPECT_EQ(stands(9), 1000) << "a process that came";
  start();
  say_node();
  say(R"("default":"enforce","oomOrder":"observe")");
  EXPECT_EQ(stands(7), -997) << "also by whoever comes after";
  EXPECT_EQ(stands(9), 0);
  seconds(11);
  EXPECT_EQ(status().in_force, 0);
}

// What a strategy only observes does not happen: what others leave to it where it is enforced they do themselves.
TEST_F(Protect, WhatIsOnlyObservedTakesNothingFromTheOthers) {
  pods.at("job").identity.work_class = "spark";
  list_pods();
  const std::string pod = pods.at("job").path;
  const std::string shares = base::cat("cpu/", pod, "/cpu.shares"), idle = base::cat("cpu/", pod, "/cpu.idle");
  const auto say = [&](std::string_view modes, std::string_view be) {
    say_spec(base::cat(
        R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"cfsQuota"},)",
        R"("resourceQOSStrategy":{"beClass":{"cpuQOS":{)", be, R"(}}},"extensions":{"Object":{"tidemark":{)",
        R"("schema":1,"agent":{"classes":[{"name":"spark","order":1,"cpuWeight":300}],"modes":{)", modes, "}}}}}}"));
    seconds(2);
  };
  constexpr std::string_view kNot = R"("enable":false)", kIdle = R"("enable":true,"groupIdentity":-1)";
  start();
  say_node();
  say("", kNot);
  EXPECT_EQ(value(shares), "1536") << "512 of 500 milli-cores × 300 %";
  EXPECT_EQ(quota(pod), -1) << "all of offline work is held by one";
  say(R"("classWeights":"observe")", kNot);
  EXPECT_EQ(value(shares), "512") << "as its batch resources say";
  say(R"("cpuSuppress":"observe")", kNot);
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(pod), 50'000);
  EXPECT_EQ(value(shares), "1536");
  say(R"("cpuPriority":"observe","classWeights":"observe")", kIdle);
  EXPECT_EQ(value(idle), "0");
  EXPECT_EQ(value(shares), "512");
  say(R"("cpuPriority":"observe")", kIdle);
  EXPECT_EQ(value(shares), "1536");
  say("", kIdle);
  EXPECT_EQ(value(idle), "1");
}

TEST_F(Protect, WhatNoFileHereMeetsIsCounted) {
  machinery.capabilities.effective.reset(static_cast<std::size_t>(policy::Knob::kMemoryLimit));
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_EQ(guard->status().unmet, 2) << "the memory limit of a pod and of its container";
  EXPECT_NE(metrics.text().find("tidemark_agent_wishes_unmet 2"), std::string::npos);
  end("job");
  seconds(2);
  EXPECT_EQ(guard->status().unmet, 0);
}

// Contract 1.4: a pod's own CPU QoS.
TEST_F(Protect, AnAnnotationThatCannotBeReadIsToldOnceWithItsPod) {
  machinery.capabilities.effective.set(static_cast<std::size_t>(policy::Knob::kCpuBvt));
  pods.at("web").ns = "shop";
  pods.at("web").qos_raw = model::Qos::kLs;
  pods.at("web").settings = {{model::TaskSetting::kCpuQos, R"({"enable":true,"groupIdentity":7})"}};
  list_pods();
  start();
  say_node();
  say_spec(R"({"resourceQOSStrategy":{"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}}}})");
  seconds(5);
  EXPECT_NE(metrics.text().find("tidemark_agent_pod_annotations_refused 1"), std::string::npos);
  const std::size_t told = lines.find("koordinator.sh/cpuQOS cannot be read");
  ASSERT_NE(told, std::string::npos) << lines;
  EXPECT_NE(lines.find("shop/web", told), std::string::npos) << lines;
  EXPECT_EQ(lines.find("koordinator.sh/cpuQOS cannot be read", told + 1), std::string::npos) << "once";
  pods.at("web").settings.clear();
  list_pods();
  seconds(2);
  EXPECT_NE(metrics.text().find("tidemark_agent_pod_annotations_refused 0"), std::string::npos);
}

// A kernel that tells classes apart has a file in force for each pod, online ones too: off, those go back at once, and
// what is left ends with offline work.
TEST_F(Protect, OffEndsWhereEachClassHasAPriorityOfItsOwn) {
  machinery.capabilities.effective.set(static_cast<std::size_t>(policy::Knob::kCpuBvt));
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
  EXPECT_TRUE(says_nothing_in_force(condition_reason(status), condition_message(status))) << condition_message(status);
}

TEST_F(Protect, TheSwitchOnTheMachineOutranksTheClusterAndOutlivesRestarts) {
  start();
  say_all(kQuota80);
  seconds(2);
  for (const std::string& file : {run.root() + "/run/latch", run.root() + "/lib/latch"}) {
    ASSERT_TRUE(set_latch(file, {"root@n1", "disk", {}, ""}));
  }
  say_node(R"("tidemark.io/state":"on")");
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  EXPECT_TRUE(guard->status().latched);
  EXPECT_EQ(guard->status().by, "root@n1");
  ASSERT_TRUE(clear_latch(run.root() + "/run/latch"));  // as a restart of the machine does
  start();
  seconds(1, false);
  EXPECT_TRUE(guard->status().latched);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  ASSERT_TRUE(clear_latch(run.root() + "/run/latch") && clear_latch(run.root() + "/lib/latch"));
  say_all(kQuota80);
  seconds(30);
  EXPECT_EQ(quota(), 320'000);
}

TEST_F(Protect, TheKeptSwitchIsObeyedWhereItCannotBeCopied) {
  ASSERT_TRUE(set_latch(run.root() + "/lib/latch", {"root@n1", "disk", {}, ""}));
  std::filesystem::create_directories(run.root() + "/run/.latch.new");  // where a new one is written first
  start();
  say_all(kQuota80);
  seconds(3);
  EXPECT_TRUE(guard->status().latched);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
}

// The kubelet answers nobody while the API server is away.
TEST_F(Protect, TheSwitchOnTheMachineIsObeyedBeforeItIsKnownWhatRuns) {
  provider.say({});
  start();
  say_all(kQuota80);
  seconds(2, false);
  EXPECT_EQ(quota(), -1);
  ASSERT_TRUE(set_latch(run.root() + "/run/latch", {"root@n1", "disk", {}, ""}));
  seconds(1, false);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  ASSERT_TRUE(clear_latch(run.root() + "/run/latch"));
  seconds(2, false);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us) << "kept, until it is known";
  list_pods();
  seconds(30);
  EXPECT_EQ(quota(), 320'000);
}

// Where groups are systemd's: with the shares that the kubelet sets of its own groups each minute, their quota is said
// anew.
TEST_F(Protect, AQuotaThatIsResetEachMinuteIsSetAgainEachTimeAndAtOnce) {
  start();
  say_all(kQuota80);
  seconds(30);
  for (int minute = 0; minute < 30; ++minute) {
    node.cgroups.write("cpu/kubepods/besteffort/cpu.cfs_quota_us", "-1\n");
    seconds(1);
    ASSERT_EQ(quota(), 320'000) << "minute " << minute;
    ASSERT_EQ(guard->status().left, 0) << "minute " << minute;
    seconds(59);
  }
  EXPECT_EQ(lines.find("TM-AGENT-009"), std::string::npos) << "no line of the log for each";
}

// As `systemctl daemon-reload` does, three times within half a minute.
TEST_F(Protect, OffHoldsOfflineWorkAlsoWhereItsQuotaIsLeftToAnotherWriter) {
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
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us) << "with the mark, not when the other is silent";
  EXPECT_EQ(guard->status().left, 0);
  say_node();
  seconds(30);
  EXPECT_GT(quota(), policy::kSuppressQuotaMin_us);
}

TEST_F(Protect, ObservingTakesEverythingBackAndGoesOnDeciding) {
  start();
  say_all(kQuota80);
  seconds(2);
  say_node(R"("tidemark.io/state":"observe")");
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(quota(pods.at("job").path), -1);
  seconds(2);
  EXPECT_EQ(stance_of(Strategy::kCpuSuppress), "observe");
  EXPECT_NE(guard->status().strategies[0].says, "");
  EXPECT_EQ(quota(), -1);
}

TEST_F(Protect, AnAgentThatOnlyObservesByItsFlagWritesNothing) {
  mode = policy::Mode::kObserve;
  start();
  say_all(kQuota80);
  seconds(5);
  EXPECT_TRUE(rules.taken.empty());
}

TEST_F(Protect, AnAgentThatCannotWriteHereObservesWhateverItIsTold) {
  only_shows = "mkdir /sys/fs/cgroup/x: Read-only file system";
  start();
  say_all(kQuota80);
  say_node(R"("tidemark.io/state":"on")");
  seconds(12);
  EXPECT_TRUE(rules.taken.empty());
  EXPECT_EQ(stance_of(Strategy::kEviction), "observe");
  EXPECT_NE(writer.last.find(R"("reason":"Observing")"), std::string::npos) << writer.last;
  EXPECT_NE(writer.last.find("only shown: mkdir /sys/fs/cgroup/x: Read-only file system"), std::string::npos)
      << writer.last;
}

TEST_F(Protect, BesideThePeersAgentItStepsBack) {
  start();
  say_all(kQuota80);
  seconds(2);
  the_peer_comes();
  seconds(2);
  EXPECT_EQ(quota(), -1);
  EXPECT_TRUE(guard->status().peer_present);
  end("peer");
  seconds(2);
  EXPECT_EQ(quota(), -1) << "it may only be made anew";
  net::testing::run_for(loop, node.clock, policy::kPeerStays);
  seconds(2);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
}

TEST_F(Protect, ThePeersAgentBesideThePodsIsSeenAtTheStart) {
  the_peer_runs_beside_pods(4711);
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_TRUE(guard->status().peer_present);
  EXPECT_EQ(quota(), -1) << "nothing was written beside it";
  net::testing::run_for(loop, node.clock, 2 * policy::kPeerStays);
  seconds(2);
  EXPECT_TRUE(guard->status().peer_present) << "it is looked for again before it counts as gone";
  node.proc.remove("4711/comm");
  node.proc.remove("4711/status");
  net::testing::run_for(loop, node.clock, policy::kPeerLook + policy::kPeerStays);
  seconds(2);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
}

TEST_F(Protect, ThePeersAgentThatSystemdBeginsLaterIsSeenWithTheNextLook) {
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_GT(quota(), 0);
  the_peer_runs_beside_pods(4711);
  net::testing::run_for(loop, node.clock, policy::kPeerLook);
  seconds(2);
  EXPECT_TRUE(guard->status().peer_present);
  EXPECT_EQ(quota(), -1);
}

TEST_F(Protect, AProcessThatOnlyHasItsNameFreesNoNode) {
  the_peer_runs_beside_pods(4711, 1000);
  the_peer_runs_beside_pods(4712, 0, true);
  the_peer_runs_beside_pods(::getpid());
  node.proc.write("self/stat", base::cat(::getpid(), " (koordlet) S 1\n"));  // a link by that name starts ours too
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
}

// A koordlet that crashes again and again: nothing is set and put back with each of its starts.
TEST_F(Protect, ThePeersAgentThatStartsAgainAndAgainCountsAsThere) {
  start();
  say_all(kQuota80);
  the_peer_comes();
  seconds(2);
  ASSERT_EQ(quota(), -1);
  for (int crash = 0; crash < 4; ++crash) {
    pods.at("peer").containers[0].state = model::ContainerState::kWaiting;
    list_pods();
    for (int second = 0; second < 90; ++second) {
      seconds(1);
      ASSERT_EQ(quota(), -1) << crash << "/" << second;
    }
    pods.at("peer").containers[0].state = model::ContainerState::kRunning;
    list_pods();
    seconds(5);
  }
  EXPECT_TRUE(guard->status().peer_present);
}

// Anybody who may begin a pod may call a container so.
TEST_F(Protect, AContainerThatIsOnlyCalledAsThePeersAgentFreesNoNode) {
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_GT(quota(), 0);
  pods.at("job").containers[0].name = "koordlet";
  online("friend", 0);
  pods.at("friend").ns = "batch";
  pods.at("friend").containers[0].name = "koordlet";
  list_pods();
  seconds(3);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
  EXPECT_EQ(quota(pods.at("job").path), -1) << "one quota for all of it";
}

TEST_F(Protect, OffHoldsOfflineWorkBesideThePeersAgent) {
  start();
  say_all(kQuota80);
  the_peer_comes();
  seconds(2);
  ASSERT_EQ(quota(), -1);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
  EXPECT_EQ(condition_reason(guard->status()), "Off");
  EXPECT_EQ(stance_of(Strategy::kCpuPriority), "observe") << "all else is the peer's";
  say_node();
  seconds(1);
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(condition_reason(guard->status()), "PeerPresent");
  ASSERT_TRUE(set_latch(run.root() + "/run/latch", {"root@n1", "disk", {}, ""}));
  seconds(1);
  EXPECT_EQ(quota(), policy::kSuppressQuotaMin_us);
}

TEST_F(Protect, AnUpgradeLeavesWhatIsInForce) {
  start();
  say_all(kQuota80);
  seconds(2);
  const std::int64_t before = quota();
  start();
  seconds(10, false);
  EXPECT_EQ(quota(), before) << "the next one knows nothing yet";
  say_all(R"("enable":false)");
  seconds(2);
  EXPECT_EQ(quota(), -1) << "and takes back what it did not write";
}

// DESIGN 5: after three crashes in ten minutes it keeps limits and loosens nothing, for ten minutes.
TEST_F(Protect, AfterThreeUnexpectedEndsItHolds) {
  loads[pods.at("web").path] = 1'200;
  for (int ends = 0; ends < 3; ++ends) {
    start(false);
    say_all(kQuota80);
    seconds(20);
  }
  EXPECT_FALSE(guard->status().holding);
  ASSERT_EQ(quota(), 200'000);
  start(false);
  say_all(kQuota80);
  seconds(2);
  EXPECT_TRUE(guard->status().holding);
  loads[pods.at("web").path] = 200;
  seconds(5);
  EXPECT_EQ(quota(), 200'000) << "looser";
  loads[pods.at("web").path] = 2'200;
  seconds(2);
  EXPECT_EQ(quota(), 100'000) << "tighter";
  loads[pods.at("web").path] = 1'200;
  net::testing::run_for(loop, node.clock, policy::kHoldWindow);
  seconds(20);
  EXPECT_FALSE(guard->status().holding);
  EXPECT_EQ(quota(), 200'000);
  start(false);
  seconds(1);
  EXPECT_FALSE(guard->status().holding) << "what was before is forgotten";
}

TEST_F(Protect, WhereAnotherAgentWritesThisOneOnlySaysSo) {
  start();
  say_all(kQuota80);
  seconds(2);
  const auto first = std::move(guard);
  start();
  say_all(R"("enable":false)");
  seconds(3);
  EXPECT_GT(quota(), 0);
  EXPECT_EQ(condition_reason(guard->status()), "Unable");
}

TEST_F(Protect, TheConditionAndTheFileOnTheMachineSayHowItStands) {
  start();
  say_all(kQuota80);
  seconds(30);
  EXPECT_NE(writer.last.find(R"("reason":"Enforcing")"), std::string::npos) << writer.last;
  seconds(60);  // its first words were of the first second
  const int writes = writer.writes;
  seconds(120);
  EXPECT_EQ(writer.writes, writes) << "nothing new to say";
  say_node(R"("tidemark.io/state":"off")");
  seconds(11);
  EXPECT_NE(writer.last.find(R"("reason":"Off")"), std::string::npos) << writer.last;
  const auto status = read_status(run.root() + "/run");
  ASSERT_TRUE(status && *status);
  EXPECT_TRUE((*status)->off);
}

// On ten thousand nodes pods come and go all the time, and each changes how many files there are.
TEST_F(Protect, AConditionOfWhichOnlyTheWordsChangeIsWrittenOnceAMinuteAndForCountsOnceInTen) {
  ConditionController told(loop, writer, log, "n1");
  AgentStatus status;
  status.strategies.push_back({model::Strategy::kCpuSuppress, "enforce", "TM-AGENT-001", 0, ""});
  const auto pods_come = [&](std::int64_t seconds) {
    for (std::int64_t second = 0; second < seconds; ++second) {
      told.tell(status);
      net::testing::run_for(loop, node.clock, std::chrono::seconds(1));
      ++status.strategies[0].in_force;
    }
  };
  pods_come(59);
  EXPECT_EQ(writer.writes, 1);
  pods_come(240);
  EXPECT_EQ(writer.writes, 2) << "that there are any";
  pods_come(600);
  EXPECT_EQ(writer.writes, 3) << "how many there are";
  status.off = true;
  told.tell(status);
  net::testing::run_for(loop, node.clock, std::chrono::seconds(1));
  EXPECT_EQ(writer.writes, 4) << "what it comes to is told at once";
  net::testing::run_for(loop, node.clock, kConditionPause);
  status.strategies[0].in_force = 1;
  told.tell(status);
  net::testing::run_for(loop, node.clock, std::chrono::seconds(1));
  EXPECT_EQ(writer.writes, 4);
  status.strategies[0].in_force = 0;
  told.tell(status);
  net::testing::run_for(loop, node.clock, std::chrono::seconds(1));
  EXPECT_EQ(writer.writes, 5) << "that nothing is in force any more, too";
}

TEST_F(Protect, AConditionThatCannotBeWrittenIsTriedAgainAndToldOnce) {
  writer.refuse = Error{ErrorKind::kUnavailable, "away", 0, 0};
  start();
  say_all(kQuota80);
  seconds(120);
  EXPECT_GE(writer.writes, 3);
  EXPECT_LE(writer.writes, 6);
  EXPECT_EQ(lines.find("condition cannot be written"), lines.rfind("condition cannot be written"));
}

// Of a node that two schedulers oversold (model/oversold.h): what begins since then waits, with all its containers.
TEST_F(Protect, WhatStartsOnAnOversoldNodeIsLimitedWithinASecond) {
  start();
  say_all(R"("enable":false)");
  seconds(2);
  ASSERT_EQ(quota("kubepods/besteffort/podjob"), 50'000);
  const std::string mark = base::cat(R"("tidemark.io/oversold":"{\"schema\":1,\"since\":\")",
                                     base::format_rfc3339(node.clock.wall()), R"(\"}")");
  say_node("", mark);
  seconds(2);
  offline("late", 0);
  pods.at("late").started = node.clock.wall();
  list_pods();
  seconds(1);
  EXPECT_EQ(quota("kubepods/besteffort/podlate"), 1'000);
  EXPECT_EQ(quota("kubepods/besteffort/podlate/latec1"), 1'000);
  EXPECT_EQ(quota("kubepods/besteffort/podjob"), 50'000) << "what was there before keeps what it was sold";
  seconds(60);
  EXPECT_EQ(quota("kubepods/besteffort/podlate"), 1'000);
  say_node();
  seconds(1);
  EXPECT_EQ(quota("kubepods/besteffort/podlate"), 50'000);
  EXPECT_EQ(quota("kubepods/besteffort/podlate/latec1"), 50'000);
}

}  // namespace
}  // namespace tidemark::agent
