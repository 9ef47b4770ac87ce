// What stands in the kernel's files of a node, second by second.
#include "agent/protect/protect_controller.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/evict/eviction_observer.h"
#include "agent/testing/guarded_node.h"

namespace tidemark::agent {
namespace {

using model::Strategy;

class Protect : public testing::GuardedNode {};

TEST_F(Protect, WritesNothingBeforeAllIsKnown) {
  start();
  seconds(3, false);
  EXPECT_EQ(permit_of(Strategy::kCpuSuppress), "keep");
  say_node();
  seconds(3, true);
  EXPECT_EQ(permit_of(Strategy::kCpuSuppress), "keep");
  EXPECT_TRUE(rules.taken.empty());
}

// Contract 7.3: 4 cores × 80 % less what online work uses; downward at once, upward by 10 % of the machine a second.
TEST_F(Protect, SuppressesAtOnceAndGrowsInSteps) {
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

TEST_F(Protect, BatchPodsGetTheirLimits) {
  start();
  say_all(R"("enable":false)");
  seconds(2);
  EXPECT_EQ(quota(pods.at("job").path), 50'000);
  EXPECT_EQ(value(base::cat("memory/", pods.at("job").path, "/memory.limit_in_bytes")), base::cat(64 << 20));
  EXPECT_EQ(quota(), -1) << "suppression is off";
  EXPECT_EQ(quota(pods.at("web").path), -1);
}

// For the record of the node (agent/record).
TEST_F(Protect, SaysWhatBecameOfTheLimitsOfATask) {
  const auto limits = [&](std::string_view file, std::string_view container = "") {
    std::string out;
    for (const model::TaskLimit& each : guard->limits_of(pods.at("job"))) {
      if (each.file == file && each.container == container)
        out += base::cat(each.value, " ", each.state, " ", each.reason);
    }
    return out;
  };
  offline("job-2", 0);  // a cgroup whose name begins with that of another one
  list_pods();
  start();
  EXPECT_EQ(limits("cpu.cfs_quota_us"), "") << "nothing is known yet";
  say_all(R"("enable":false)");
  seconds(2);
  EXPECT_EQ(limits("cpu.cfs_quota_us"), "50000 inForce TM-LIMIT-001");
  EXPECT_EQ(limits("memory.limit_in_bytes", "main"), base::cat(64 << 20, " inForce TM-LIMIT-001"));
  EXPECT_EQ(guard->limits_of(pods.at("job")).size(), 6u) << "three files of the pod and three of its container";
  EXPECT_TRUE(guard->limits_of(pods.at("web")).empty());
  say_node(R"("tidemark.io/state":"observe")");
  seconds(1);
  EXPECT_EQ(limits("cpu.cfs_quota_us"),
            base::cat("50000 notWritten ", model::reason_id(model::Reason::kAgentObserves)));
  EXPECT_EQ(quota(pods.at("job").path), -1);
}

// Contract 7.3, 7.4: where the kubelet's CPU manager is static containers alone are narrowed, and the real limit is the
// narrowest of them and their group.
TEST_F(Protect, ContainerCpusetsAreTheLimitOfOfflineWork) {
  std::filesystem::create_directories(run.root() + "/kubelet");
  std::ofstream(run.root() + "/kubelet/cpu_manager_state") << R"({"policyName":"static"})";
  start();
  say_all(R"("enable":true,"cpuSuppressPolicy":"cpuset","cpuSuppressThresholdPercent":65)");
  seconds(3);
  ASSERT_EQ(value("cpuset/kubepods/besteffort/cpuset.cpus"), "0-3");
  EXPECT_EQ(guard->container_cpus(), 3) << "of 4 processors 65 %, rounded up";
  EXPECT_EQ(besteffort_in_force(guard->suppress_seen(), guard->suppress_plan(), guard->container_cpus()).cpus, 3);
  say_node(R"("tidemark.io/state":"observe")");
  seconds(1);
  EXPECT_EQ(guard->container_cpus(), std::nullopt) << "only shown";
  EXPECT_EQ(besteffort_in_force(guard->suppress_seen(), guard->suppress_plan(), guard->container_cpus()).cpus, 4);
}

// Only our own settings ask for it: in the place of Koordinator's agent nothing of the kind is done.
TEST_F(Protect, SetsAndRestoresOomOrder) {
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
  EXPECT_EQ(permit_of(Strategy::kOomOrder), "restore");
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
  EXPECT_EQ(stands(7), -997) << "also by the next one";
  EXPECT_EQ(stands(9), 0);
  seconds(11);
  EXPECT_EQ(status().in_force, 0);
}

// What a strategy only observes does not happen: what others leave to it where it is enforced they do themselves.
TEST_F(Protect, ObservedStrategyAffectsNoOthers) {
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

// What was tried at the start need not hold for ever, nor for each group.
TEST_F(Protect, QuotaLimitsOfflineWorkIfPriorityIsRefused) {
  machinery.own_groups = true;
  start();
  say_node();
  rules.idle_refused = EINVAL;
  say_spec(R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"idle"},)"
           R"("resourceQOSStrategy":{"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}}})");
  seconds(3);
  EXPECT_EQ(value("cpu/kubepods/besteffort/cpu.idle"), "0");
  EXPECT_GT(quota(), 0) << lines;
  rules.idle_refused = 0;
  seconds(120);  // until it is tried again
  EXPECT_EQ(value("cpu/kubepods/besteffort/cpu.idle"), "1");
  EXPECT_EQ(quota(), policy::protect::kNoLimit);
}

TEST_F(Protect, CountsValuesWithoutFile) {
  machinery.capabilities.effective.reset(static_cast<std::size_t>(policy::protect::Knob::kMemoryLimit));
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_EQ(guard->status().unmet, 2) << "the memory limit of a pod and of its container";
  EXPECT_NE(metrics.text().find("tidemark_agent_intents_unmet 2"), std::string::npos);
  end("job");
  seconds(2);
  EXPECT_EQ(guard->status().unmet, 0);
}

// Contract 1.4: a pod's own CPU QoS.
TEST_F(Protect, ReportsUnreadableAnnotationOnceWithPod) {
  machinery.capabilities.effective.set(static_cast<std::size_t>(policy::protect::Knob::kCpuBvt));
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

// Where groups are systemd's: with the shares that the kubelet sets of its own groups each minute, their quota is said
// anew.
TEST_F(Protect, RepairsQuotaResetEachMinuteAtOnce) {
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

TEST_F(Protect, UpgradeKeepsValuesInForce) {
  start();
  say_all(kQuota80);
  seconds(2);
  const std::int64_t before = quota();
  start();
  seconds(10, false);
  EXPECT_EQ(quota(), before) << "the next one knows nothing yet";
  say_all(R"("enable":false)");
  seconds(2);
  EXPECT_EQ(quota(), -1) << "and restores what it did not write";
}

// While the restore journal is unreadable, a value in the kernel may be ours or an original value.
class UnreadJournal : public Protect {
 protected:
  UnreadJournal() {
    start();
    say_all(kQuota80);
    seconds(2);
    EXPECT_EQ(quota(), 320'000);
    start();  // the next one, which has not looked yet
    std::filesystem::rename(file, file + ".kept");
  }
  void can_be_read_again() {
    std::filesystem::remove_all(file);
    std::filesystem::rename(file + ".kept", file);
  }

  const std::string file = run.root() + "/run/found.journal";
};

TEST_F(UnreadJournal, ReportsAndWritesNothingUntilReadable) {
  std::filesystem::create_directory(file);
  const std::size_t taken = rules.taken.size();
  say_all(R"("enable":false)");
  seconds(25);
  EXPECT_EQ(quota(), 320'000) << "what was in force stays";
  say_node(R"("tidemark.io/state":"off")");
  seconds(1);
  EXPECT_EQ(rules.taken.size(), taken) << "and an order changes nothing of that";
  EXPECT_EQ(condition_reason(guard->status()), "Unable");
  EXPECT_NE(writer.last.find(R"("reason":"Unable")"), std::string::npos) << writer.last;
  EXPECT_NE(writer.last.find(file), std::string::npos) << writer.last;
  const auto told = lines.find("nothing can be written on this node");
  ASSERT_NE(told, std::string::npos) << lines;
  EXPECT_EQ(lines.find("nothing can be written on this node", told + 1), std::string::npos) << "once";
  can_be_read_again();
  say_node();
  seconds(4);
  EXPECT_EQ(quota(), 320'000) << "tried each ten seconds: after 30 the next time";
  seconds(1);
  EXPECT_EQ(quota(), -1) << "what the one before wrote is put back";
  EXPECT_EQ(guard->status().trouble, "");
}

// A process without free descriptors cannot read the boot ID. If that counted as another boot, the agent would drop the
// original values of the agent before, and could not restore them.
TEST_F(Protect, OriginalValuesSurviveAgentWithoutBootId) {
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_EQ(quota(), 320'000);
  node.proc.write("sys/kernel/random/boot_id", "");
  start();
  say_all(R"("enable":false)");
  seconds(2);
  EXPECT_EQ(quota(), 320'000) << "what was in force stays";
  EXPECT_EQ(condition_reason(guard->status()), "Unable");
  EXPECT_NE(guard->status().trouble.find("boot_id"), std::string::npos) << guard->status().trouble;
  node.proc.write("sys/kernel/random/boot_id", "b1\n");
  seconds(10);
  EXPECT_EQ(quota(), -1);
}

// A command on the machine sees that an agent is there, and hears from it what is wrong.
TEST_F(UnreadJournal, LocalCommandsSeeIt) {
  std::ofstream(file) << R"({"schema":99,"boot":"b1"})" << "\n";
  say_all(kQuota80);
  seconds(1);
  EXPECT_TRUE(FoundJournal::is_held(run.root() + "/run"));
  const auto status = read_status(run.root() + "/run");
  ASSERT_TRUE(status && *status);
  EXPECT_NE((*status)->trouble.find("of a newer version than this program"), std::string::npos) << (*status)->trouble;
  EXPECT_EQ(FoundJournal::open(run.root() + "/run", "b1").error().kind, ErrorKind::kAlreadyExists);
  can_be_read_again();
  seconds(10);
  const auto later = read_status(run.root() + "/run");
  ASSERT_TRUE(later && *later);
  EXPECT_EQ((*later)->trouble, "");
  EXPECT_TRUE(FoundJournal::is_held(run.root() + "/run"));
}

// DESIGN 5: after three crashes in ten minutes it keeps limits and loosens nothing, for ten minutes.
TEST_F(Protect, SafeStartAfterThreeUnexpectedEnds) {
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
  net::testing::run_for(loop, node.clock, policy::state::kHoldWindow);
  seconds(20);
  EXPECT_FALSE(guard->status().holding);
  EXPECT_EQ(quota(), 200'000);
  start(false);
  seconds(1);
  EXPECT_FALSE(guard->status().holding) << "what was before is forgotten";
}

TEST_F(Protect, SafeStartBeginsWithFirstPass) {
  loads[pods.at("web").path] = 1'200;
  for (int ends = 0; ends < 3; ++ends) {
    start(false);
    say_all(kQuota80);
    seconds(20);
  }
  ASSERT_EQ(quota(), 200'000);
  start(false);
  say_all(R"("enable":false)");
  seconds(1);
  EXPECT_EQ(permit_of(Strategy::kCpuSuppress), "tighten");
  EXPECT_EQ(quota(), 200'000) << "nothing is put back";
}

// An observed strategy sets no limit in safe start: a new pod keeps its own quota.
TEST_F(Protect, SafeStartIgnoresObservedStrategies) {
  constexpr std::string_view kRules =
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"cfsQuota"},)"
      R"("extensions":{"Object":{"tidemark":{"schema":1,"agent":{"modes":{"cpuSuppress":"observe"}}}}}})";
  for (int ends = 0; ends < 4; ++ends) {
    start(false);
    say_node();
    say_spec(kRules);
    seconds(5);
  }
  offline("late", 0);
  list_pods();
  seconds(3);
  ASSERT_TRUE(guard->status().holding);
  ASSERT_EQ(permit_of(Strategy::kCpuSuppress), "keep");
  ASSERT_EQ(permit_of(Strategy::kBatchLimits), "tighten");
  EXPECT_EQ(quota(), -1) << "only observed";
  EXPECT_EQ(quota(pods.at("late").path), 50'000);
}

// Without a kubelet all pods are idle as one cgroup while no online pod is among them.
TEST_F(Protect, SafeStartDoesNotSlowOnlineWork) {
  machinery.own_groups = true;
  end("web");
  const auto idle = [&](std::string_view group) { return value(base::cat("cpu/", group, "/cpu.idle")); };
  constexpr std::string_view kRules =
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressPolicy":"cfsQuota","cpuSuppressThresholdPercent":80},)"
      R"("resourceQOSStrategy":{"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}}})";
  for (int ends = 0; ends < 4; ++ends) {
    start(false);
    say_node();
    say_spec(kRules);
    seconds(20);
  }
  ASSERT_TRUE(guard->status().holding);
  ASSERT_EQ(idle("kubepods"), "1");
  const auto held = quota();
  online("web", 0);
  list_pods();
  seconds(2);
  ASSERT_TRUE(guard->status().holding);
  EXPECT_EQ(idle("kubepods"), "0") << "web lies there";
  EXPECT_EQ(value("cpu/kubepods/cpu.shares"), "1024");
  EXPECT_EQ(idle("kubepods/besteffort"), "1") << "what only narrows is written as before";
  say_spec(R"({"resourceUsedThresholdWithBE":{"enable":false}})");
  seconds(2);
  EXPECT_EQ(idle("kubepods/besteffort"), "1") << "of offline work nothing is put back";
  EXPECT_EQ(quota(), held);
}

TEST_F(Protect, ConditionAndFileShowStatus) {
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
TEST_F(Protect, LimitsConditionWritesForWordsAndCounts) {
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
  net::testing::run_for(loop, node.clock, kConditionPause);
  status.mark_generation = 7;
  told.tell(status);
  net::testing::run_for(loop, node.clock, std::chrono::seconds(1));
  EXPECT_EQ(writer.writes, 6) << "a person waits for the report about this mark";
}

TEST_F(Protect, RetriesConditionWriteAndReportsOnce) {
  writer.refuse = Error{ErrorKind::kUnavailable, "away", 0, 0};
  start();
  say_all(kQuota80);
  seconds(120);
  EXPECT_GE(writer.writes, 3);
  EXPECT_LE(writer.writes, 6);
  const std::string_view warning = "cannot write the node's condition";
  ASSERT_TRUE(lines.contains(warning)) << lines;
  EXPECT_EQ(lines.find(warning), lines.rfind(warning));
}

// Of a node that two schedulers oversold (model/oversold.h): what begins since then waits, with all its containers.
TEST_F(Protect, LimitsNewWorkOnOversoldNodeWithinASecond) {
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
