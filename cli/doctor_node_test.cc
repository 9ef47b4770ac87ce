// A machine in folders, with and without an agent, and a kubelet that says what a test writes down.
#include "cli/doctor_node.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/enforcer/found_journal.h"
#include "agent/latch/latch.h"
#include "agent/protect/kept_objects.h"
#include "agent/protect/status.h"
#include "base/text.h"
#include "kube/testing/scripted_transport.h"
#include "linux/testing/kill_folder.h"
#include "linux/testing/probe_folder.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"
#include "policy/settings/nodeslo/lines_held.h"

namespace tidemark::cli {
namespace {

using policy::explain::NodeFact;
using policy::explain::NodeTopic;
using policy::explain::Severity;

constexpr std::string_view kConfigz =
    R"({"kubeletconfig":{"cgroupDriver":"cgroupfs","cpuManagerPolicy":"static","evictionHard":{"memory.available":"10%","nodefs.available":"10%"}}})";

// cgroup v2, 100 GiB, one pod (driver cgroupfs), and only a kubelet.
class DoctorNode : public ::testing::Test {
 protected:
  DoctorNode() {
    machine.folder("kubepods/burstable/pod1");
    machine.folder("kubepods/besteffort");
    proc.write("self/mountinfo", "");
    proc.write("self/stat", base::cat(::getpid(), " (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n"));
    proc.write("meminfo", "MemTotal: 104857600 kB\nMemFree: 1 kB\nMemAvailable: 2 kB\nSwapTotal: 0 kB\n");
    proc.write("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    options.places = {machine.root(), proc.root(), run(), state.root() + "/latch"};
    options.kubelet_dir = state.root();
    kubelet.answers = {{.body = std::string(kConfigz)}};
  }

  std::string run() const { return state.root() + "/run"; }

  DoctorReport examine() {
    auto report = net::testing::run_task(loop, clock, examine_node(options, {kernel, killing, kubelet, clock, "t1"}));
    EXPECT_TRUE(report) << report.error().message;
    return report ? std::move(*report) : DoctorReport();
  }
  // What is said of it; the only thing.
  static policy::explain::NodeFinding of(const DoctorReport& report, NodeTopic topic) {
    EXPECT_EQ(std::ranges::count(report.findings, topic, &policy::explain::NodeFinding::topic), 1);
    const auto found = std::ranges::find(report.findings, topic, &policy::explain::NodeFinding::topic);
    return found == report.findings.end() ? policy::explain::NodeFinding() : *found;
  }
  void settings(std::string_view threshold) {
    ASSERT_TRUE(agent::KeptObjects(run()).keep(
        agent::KeptObject::kNodeSlo,
        base::cat(R"({"metadata":{"name":"n1"},"spec":{"resourceUsedThresholdWithBE":{)", threshold, "}}}")));
  }
  // An agent that runs as long as the test.
  void agent_runs(const agent::AgentStatus& status) {
    auto opened = agent::FoundJournal::open(run(), "b1");
    ASSERT_TRUE(opened);
    journal.emplace(std::move(*opened));
    ASSERT_TRUE(agent::write_status(run(), status));
  }

  linux::testing::Tree machine, proc, state;
  linux::testing::ProbeFolder kernel{machine, linux::Version::kV2};
  linux::testing::KillFolder killing{machine};
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  kube::testing::ScriptedTransport kubelet{loop};
  DoctorOptions options;
  std::optional<agent::FoundJournal> journal;
};

TEST_F(DoctorNode, ProbesKernelWithoutAgent) {
  kernel.flawed.deaf.insert(linux::File::kMemoryLow);
  const DoctorReport report = examine();
  EXPECT_FALSE(report.agent_runs);
  EXPECT_EQ(report.tried_by, TriedBy::kCommand);
  EXPECT_EQ(of(report, NodeTopic::kGroups).fact, NodeFact::kGroupsV2);
  EXPECT_EQ(of(report, NodeTopic::kGroupDriver).fact, NodeFact::kDriverIs);
  EXPECT_EQ(of(report, NodeTopic::kGroupDriver).driver, policy::evict::GroupDriver::kCgroupfs);
  EXPECT_EQ(of(report, NodeTopic::kPriority).knobs.at(0).knob, policy::protect::Knob::kCpuBvt);
  EXPECT_TRUE(std::ranges::any_of(report.findings, [](const policy::explain::NodeFinding& each) {
    return each.topic == NodeTopic::kKnobs && each.severity == Severity::kWarn &&
           each.knobs.at(0).knob == policy::protect::Knob::kMemoryLow;
  }));
  EXPECT_EQ(of(report, NodeTopic::kPeer).fact, NodeFact::kPeerUnknown);
  EXPECT_EQ(of(report, NodeTopic::kSwap).fact, NodeFact::kSwapOff);
  EXPECT_EQ(of(report, NodeTopic::kPressure).fact, NodeFact::kPressureTold);
  EXPECT_FALSE(kernel.made.empty());
  EXPECT_EQ(kernel.made.size(), kernel.removed.size()) << "nothing is left";
  EXPECT_NE(render_text(report).find("no agent runs here: this command tested the kernel"), std::string::npos);
}

TEST_F(DoctorNode, UsesValuesOfRunningAgent) {
  agent::AgentStatus status;
  status.peer_present = status.holding = true;
  for (std::size_t at = 0; at < policy::protect::kKnobs; ++at) {
    status.trials.found.push_back({static_cast<policy::protect::Knob>(at), true, true, true, {}});
  }
  status.trials.found[static_cast<std::size_t>(policy::protect::Knob::kMemoryLimit)] = {
      policy::protect::Knob::kMemoryLimit, true, false, false, "EBUSY"};
  agent_runs(status);
  const DoctorReport report = examine();
  EXPECT_TRUE(report.agent_runs);
  EXPECT_EQ(report.tried_by, TriedBy::kAgent);
  EXPECT_TRUE(kernel.made.empty()) << "the kernel was not tried again";
  EXPECT_EQ(of(report, NodeTopic::kPeer).fact, NodeFact::kPeerPresent);
  EXPECT_EQ(of(report, NodeTopic::kHold).fact, NodeFact::kHolds);
  EXPECT_TRUE(report.bad()) << "nothing limits memory";
}

TEST_F(DoctorNode, DetectsKoordinatorAgentWithoutOurAgent) {
  proc.write("4711/comm", "koordlet\n");
  proc.write("4711/status", "State:\tS (sleeping)\nUid:\t0\t0\t0\t0\nNSpid:\t4711\n");
  EXPECT_EQ(of(examine(), NodeTopic::kPeer).fact, NodeFact::kPeerPresent);
  agent_runs({});
  EXPECT_EQ(of(examine(), NodeTopic::kPeer).fact, NodeFact::kPeerPresent) << "ours may not have looked yet";
}

// As a kubelet makes them no group above offline pods has a limit: the file says so, and nothing comes of it.
TEST_F(DoctorNode, ReportsEffectOfMemoryLowPercent) {
  const auto mounted = [&](std::string_view options) {
    proc.write("self/mountinfo", base::cat("1 0 0:9 / ", machine.root(), " rw - cgroup2 none rw,", options, "\n"));
  };
  mounted("nsdelegate,memory_recursiveprot");
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryProtection).fact, NodeFact::kProtectionNotAsked);
  ASSERT_TRUE(agent::KeptObjects(run()).keep(
      agent::KeptObject::kNodeSlo,
      R"({"metadata":{"name":"n1"},"spec":{"extensions":{"Object":{"tidemark":{"schema":1,"agent":{"classes":[{"name":"spark","order":30,"memoryLowPercent":25}]}}}}}})"));
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryProtection).fact, NodeFact::kProtectionNoLimit);
  machine.write("kubepods/besteffort/memory.max", "8192\n");
  machine.write("kubepods/besteffort/memory.high", "4096\n");
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryProtection).protection,
            (policy::explain::ProtectionFound{true, "kubepods/besteffort", 4096}));
  agent::AgentStatus status;
  for (std::size_t at = 0; at < policy::protect::kKnobs; ++at) {
    status.trials.found.push_back({static_cast<policy::protect::Knob>(at), true, true, true, {}});
  }
  status.offline_group = "own/besteffort";
  machine.write("own/besteffort/memory.max", "max\n");
  agent_runs(status);
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryProtection).protection,
            (policy::explain::ProtectionFound{true, "own/besteffort", std::nullopt}));
  mounted("nsdelegate");
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryProtection).fact, NodeFact::kProtectionNotHandedDown);
}

TEST_F(DoctorNode, ReportsWhatIsInForce) {
  EXPECT_EQ(of(examine(), NodeTopic::kInForce).fact, NodeFact::kNoAgentSays);
  agent::AgentStatus status;
  status.strategies = {{model::Strategy::kBatchLimits, "enforce", "TM-AGENT-001", 3, "3 pods"},
                       {model::Strategy::kEviction, "keep", "TM-AGENT-006", 0, ""}};
  status.by = "ada@ops";
  status.left = 4;
  agent_runs(status);
  const DoctorReport report = examine();
  const auto in_force = of(report, NodeTopic::kInForce);
  EXPECT_EQ(in_force.fact, NodeFact::kInForceWaits) << "of one of them it is not known what is wanted";
  ASSERT_TRUE(in_force.agent);
  EXPECT_EQ(in_force.agent->strategies.at(0),
            (policy::explain::StrategyFound{model::Strategy::kBatchLimits, "enforce", "TM-AGENT-001", 3, "3 pods"}));
  EXPECT_EQ(in_force.agent->ordered_by, "ada@ops");
  EXPECT_EQ(of(report, NodeTopic::kFiles).fact, NodeFact::kFilesLeft);
  const Json json = render_json(report);
  const auto& findings = json.at("findings")->as_array();
  EXPECT_TRUE(std::ranges::any_of(findings, [](const Json& each) {
    return each.text_at("what") == "inForce" && each.text_at("found").starts_with("batchLimits: enforce, 3 files");
  }));
}

// As Linux 4.19 of Anolis and openEuler, and 4.18 of RHEL 8.
TEST_F(DoctorNode, ReportsKernelThatCannotKillCgroup) {
  EXPECT_EQ(of(examine(), NodeTopic::kKills).fact, NodeFact::kGroupsKilled);
  killing.holds_none = true;
  const auto found = of(examine(), NodeTopic::kKills);
  EXPECT_EQ(found.fact, NodeFact::kGroupsNotKilled);
  EXPECT_EQ(found.severity, Severity::kWarn);
  EXPECT_EQ(found.said, "no pidfd_open");
}

TEST_F(DoctorNode, UnplacedProcessesAreNotCountedAsFiles) {
  agent::AgentStatus status;
  status.strategies = {{model::Strategy::kOomOrder, "enforce", "TM-AGENT-001", 3, "3 groups"}};
  status.refused = 2;
  status.oom.refused = 2;
  status.oom.may_lower = false;
  agent_runs(status);
  const DoctorReport report = examine();
  EXPECT_EQ(of(report, NodeTopic::kFiles).fact, NodeFact::kFilesAsWanted);
  EXPECT_EQ(of(report, NodeTopic::kOomOrder).fact, NodeFact::kOomNotLowered);
  EXPECT_FALSE(report.bad());
}

TEST_F(DoctorNode, MeasuresOnlyWhatAgentDoesNotReport) {
  options.sys_root = state.root() + "/sys";
  options.kernel_log = state.root() + "/no-kmsg";
  proc.write("self/schedstat", "1 2 3\n");
  const auto told = [&](std::string_view what) {
    const auto found = of(examine(), NodeTopic::kMeasures).measures;
    const auto at = std::ranges::find(found, what, &policy::explain::MeasureFound::what);
    return at == found.end() ? policy::explain::MeasureFound() : *at;
  };
  EXPECT_TRUE(told("run queue").there);
  EXPECT_TRUE(told("run queue").read);
  EXPECT_FALSE(told("cpi").read) << "it must be asked for";
  EXPECT_FALSE(told("cpi").there) << "no group of this folder is one";
  EXPECT_NE(told("kernel log").why.find("no-kmsg"), std::string::npos);
  agent::AgentStatus status;
  status.measures = {{"run queue", false, false, "not mounted there"}};
  agent_runs(status);
  EXPECT_EQ(told("run queue"), status.measures[0]) << "what the agent sees, not what root of the machine does";
}

TEST_F(DoctorNode, OlderAgentReportsNoTrial) {
  agent_runs({});
  const DoctorReport report = examine();
  EXPECT_EQ(report.tried_by, TriedBy::kCommand);
  EXPECT_EQ(of(report, NodeTopic::kPeer).fact, NodeFact::kNoPeer);
  EXPECT_NE(render_text(report).find("reports no kernel trial"), std::string::npos);
}

TEST_F(DoctorNode, IgnoresReportOfGoneAgent) {
  agent::AgentStatus status;
  status.holding = true;
  agent_runs(status);
  journal.reset();
  const DoctorReport report = examine();
  EXPECT_FALSE(report.agent_runs);
  EXPECT_EQ(of(report, NodeTopic::kHold).fact, NodeFact::kNotHeld);
}

// 70 % of 100 GiB is under the kubelet's 90, 88 % near it and 90 % on it (contract 4.4: the default is 70).
TEST_F(DoctorNode, WaterLineComesFromLastReceivedNodeSlo) {
  const DoctorReport unheard = examine();
  EXPECT_FALSE(unheard.heard_settings);
  EXPECT_EQ(of(unheard, NodeTopic::kMemoryLine).fact, NodeFact::kNoLineOfOurs) << "the default is not to evict";
  EXPECT_EQ(of(unheard, NodeTopic::kCpuManager).severity, Severity::kOk) << "nor to suppress";
  settings(R"("enable":true)");
  const DoctorReport heard = examine();
  EXPECT_TRUE(heard.heard_settings);
  const auto line = of(heard, NodeTopic::kMemoryLine);
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  EXPECT_EQ(line.line, (policy::explain::LinePair{70 * kGib, 90 * kGib, 100 * kGib}));
  EXPECT_EQ(line.fact, NodeFact::kLineUnder);
  EXPECT_EQ(of(heard, NodeTopic::kCpuManager).severity, Severity::kWarn) << "by cpuset, beside a static kubelet";
  settings(R"("enable":true,"memoryEvictThresholdPercent":88,"cpuSuppressPolicy":"cfsQuota")");
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryLine).fact, NodeFact::kLineNear);
  EXPECT_EQ(of(examine(), NodeTopic::kCpuManager).severity, Severity::kOk);
  settings(R"("enable":true,"memoryEvictThresholdPercent":90)");
  EXPECT_TRUE(examine().bad());
}

// 40 GiB are in use, and pods have 35 GiB left of the limit that they have together: 75 are in use when that is used
// up, and a kubelet that evicts where a tenth of the node is left does so from 65 on.
TEST_F(DoctorNode, ChecksLimitOfAllPods) {
  proc.write("meminfo", "MemTotal: 104857600 kB\nMemFree: 1 kB\nMemAvailable: 62914560 kB\nSwapTotal: 0 kB\n");
  machine.write("kubepods/memory.max", base::cat(std::int64_t{60} << 30, "\n"));
  machine.write("kubepods/memory.current", base::cat(std::int64_t{30} << 30, "\n"));
  machine.write("kubepods/memory.stat", base::cat("anon 0\nfile 0\ninactive_file ", std::int64_t{5} << 30, "\n"));
  settings(R"("enable":true,"memoryEvictThresholdPercent":70)");
  const DoctorReport report = examine();
  const policy::explain::NodeFinding line = of(report, NodeTopic::kMemoryLine);
  EXPECT_EQ(line.fact, NodeFact::kLineOver);
  ASSERT_TRUE(line.line);
  EXPECT_EQ(line.line->kubelet, std::int64_t{65} << 30);
  EXPECT_NE(render_text(report).find("the limit of all pods together is nearly reached then"), std::string::npos)
      << render_text(report);
  EXPECT_TRUE(report.bad());
}

TEST_F(DoctorNode, NamesSettingsWithoutEffect) {
  ASSERT_TRUE(agent::KeptObjects(run()).keep(
      agent::KeptObject::kNodeSlo,
      R"({"metadata":{"name":"n1"},"spec":{"resourceQOSStrategy":{"beClass":{"resctrlQOS":{"enable":true}}}}})"));
  agent::AgentStatus status;
  status.gates_without_effect = "CPUBurst";
  agent_runs(status);
  const std::string text = render_text(examine());
  EXPECT_NE(text.find("set, without effect with Tidemark's agent: resourceQOSStrategy.beClass.resctrlQOS"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("feature gates on, without effect with Tidemark's agent: CPUBurst\n"), std::string::npos) << text;
}

// The night's 88 % lies over what leaves room to the kubelet's 90; the day's 70 does not.
TEST_F(DoctorNode, IgnoresExpiredRaisedLine) {
  ASSERT_TRUE(agent::KeptObjects(run()).keep(
      agent::KeptObject::kNodeSlo,
      base::cat(
          R"({"metadata":{"name":"n1"},"spec":{"resourceUsedThresholdWithBE":{"enable":true,)",
          R"("memoryEvictThresholdPercent":88},"extensions":{"Object":{"tidemark":{"schema":1,"lines":[{"from":")",
          base::format_rfc3339(clock.wall() + std::chrono::hours(1)), R"(","memoryEvictThresholdPercent":70}]}}}}})")));
  const DoctorReport night = examine();
  EXPECT_EQ(of(night, NodeTopic::kMemoryLine).fact, NodeFact::kLineNear);
  EXPECT_EQ(of(night, NodeTopic::kRaisedLines).fact, NodeFact::kLinesAsSaid);
  clock.advance(std::chrono::hours(1));
  const DoctorReport day = examine();
  EXPECT_EQ(of(day, NodeTopic::kMemoryLine).fact, NodeFact::kLineUnder);
  EXPECT_EQ(of(day, NodeTopic::kRaisedLines).severity, Severity::kOk) << "a manager may be about to write it";
  clock.advance(policy::settings::kManagerPatience);
  const DoctorReport forgotten = examine();
  EXPECT_EQ(of(forgotten, NodeTopic::kRaisedLines).severity, Severity::kWarn);
  EXPECT_NE(render_text(forgotten).find("memoryEvictThresholdPercent 88 % -> 70 %, since "), std::string::npos)
      << render_text(forgotten);
}

// A line of ours for disks comes with our manager's word; 20 % free is before the kubelet's 10, and 8 is not.
TEST_F(DoctorNode, ComparesDiskThresholdsWithKubelet) {
  options.runtime_dir = state.root() + "/no-such-runtime";  // then its disk is the kubelet's
  kubelet.answers = {
      {.body =
           R"({"kubeletconfig":{"evictionHard":{"nodefs.available":"10%","imagefs.available":"15%","nodefs.inodesFree":"5%"}}})"}};
  const auto word = [&](std::string_view evict) {
    ASSERT_TRUE(agent::KeptObjects(run()).keep(
        agent::KeptObject::kNodeSlo,
        base::cat(R"({"metadata":{"name":"n1"},"spec":{"resourceUsedThresholdWithBE":{"enable":true},)",
                  R"("extensions":{"Object":{"tidemark":{"schema":1,"agent":{"evict":{)", evict, "}}}}}}}")));
  };
  word(R"("diskFreePercent":20)");
  const DoctorReport sound = examine();
  EXPECT_EQ(of(sound, NodeTopic::kDiskLine).fact, NodeFact::kLineUnder) << render_text(sound);
  EXPECT_EQ(of(sound, NodeTopic::kRuntimeDiskLine).fact, NodeFact::kLineUnder) << render_text(sound);
  word(R"("diskFreePercent":12)");
  EXPECT_EQ(of(examine(), NodeTopic::kDiskLine).fact, NodeFact::kLineNear);
  EXPECT_EQ(of(examine(), NodeTopic::kRuntimeDiskLine).fact, NodeFact::kLineOver);
  word(R"("diskFreePercent":8)");
  const DoctorReport late = examine();
  EXPECT_TRUE(late.bad());
  EXPECT_NE(render_text(late).find("fix: raise diskFreePercent, or lower nodefs.available"), std::string::npos)
      << render_text(late);
}

TEST_F(DoctorNode, RequestsOnlyConfigurationFromKubelet) {
  const DoctorReport report = examine();
  ASSERT_EQ(kubelet.sent.size(), 1u);
  EXPECT_EQ(kubelet.sent[0].request.method, "GET");
  EXPECT_EQ(kubelet.sent[0].request.target, "/configz");
  EXPECT_EQ(kubelet.sent[0].request.headers.get("authorization"), "Bearer t1");
  EXPECT_EQ(of(report, NodeTopic::kKubelet).fact, NodeFact::kKubeletAnswers);
  EXPECT_EQ(of(report, NodeTopic::kDiskLine).fact, NodeFact::kNoLineOfOurs);
}

TEST_F(DoctorNode, ReportsSilentKubeletWithReason) {
  const std::pair<kube::testing::Answer, std::string_view> cases[] = {
      {{.status = 401, .body = "Unauthorized"}, "rejects the token (401)"},
      {{.status = 403, .body = "Forbidden"}, "grant `get` of nodes/configz"},
      {{.status = 500, .body = "no"}, "500"},
      {{.body = "[]"}, "kubeletconfig"},
      {{.delay = std::chrono::minutes(1)}, "no answer in time"},
      {{.error = Error{ErrorKind::kUnavailable, "connection refused", 0, 0}}, "connection refused"}};
  for (const auto& [answer, says] : cases) {
    kubelet.answers = {answer};
    const auto finding = of(examine(), NodeTopic::kKubelet);
    EXPECT_EQ(finding.fact, NodeFact::kKubeletSilent);
    EXPECT_NE(finding.said.find(says), std::string::npos) << finding.said;
  }
}

TEST_F(DoctorNode, EitherLatchCounts) {
  EXPECT_EQ(of(examine(), NodeTopic::kLatch).fact, NodeFact::kNotLatched);
  for (const std::string& file : {agent::run_latch(run()), options.places.latch_file}) {
    ASSERT_TRUE(agent::set_latch(file, {"root@n1", "disk", {}, ""}));
    EXPECT_EQ(of(examine(), NodeTopic::kLatch).fact, NodeFact::kLatched) << file;
    ASSERT_TRUE(agent::clear_latch(file));
  }
}

TEST_F(DoctorNode, AnswersWithoutCgroups) {
  options.places.cgroup_root = state.root() + "/nothing";
  const DoctorReport report = examine();
  EXPECT_TRUE(report.bad());
  EXPECT_EQ(report.tried_by, TriedBy::kNone);
  EXPECT_EQ(of(report, NodeTopic::kGroups).fact, NodeFact::kNoGroups);
  EXPECT_EQ(of(report, NodeTopic::kKnobs).fact, NodeFact::kNothingTried);
  EXPECT_EQ(of(report, NodeTopic::kKubelet).fact, NodeFact::kKubeletAnswers);
}

TEST_F(DoctorNode, NotesUnreadableFiles) {
  proc.write("meminfo", "?\n");
  agent_runs({});
  state.write("run/nodeslo.json", "{");
  state.write("run/status.json", "{");
  const DoctorReport report = examine();
  EXPECT_EQ(report.notes.size(), 3u) << base::join(report.notes, "\n");
  const Json json = render_json(report);
  EXPECT_EQ(json.at("notes")->as_array().size(), 3u);
  EXPECT_EQ(of(report, NodeTopic::kMemoryLine).fact, NodeFact::kNoLineOfOurs) << "the kubelet's is a share: 10 %";
  kubelet.answers = {{.body = R"({"kubeletconfig":{"evictionHard":{"memory.available":"100Mi"}}})"}};
  EXPECT_EQ(of(examine(), NodeTopic::kMemoryLine).fact, NodeFact::kLineUnknown);
}

TEST_F(DoctorNode, ForPrograms) {
  settings(R"("enable":true)");
  const Json json = render_json(examine());
  EXPECT_EQ(json.text_at("severity"), "warn");
  EXPECT_EQ(json.text_at("kernelTriedBy"), "command");
  EXPECT_EQ(json.text_at("settings"), "nodeslo");
  EXPECT_EQ(*json.at("agentRuns"), Json(false));
  const auto& findings = json.at("findings")->as_array();
  EXPECT_EQ(findings.at(0).text_at("what"), "cgroups");
  EXPECT_TRUE(std::ranges::any_of(findings, [](const Json& each) {
    return each.text_at("what") == "cpuManager" && each.text_at("severity") == "warn" && !each.text_at("fix").empty();
  }));
}

TEST_F(DoctorNode, RejectsMachineWithoutProc) {
  options.places.proc_root = state.root() + "/no-proc";
  const auto report = net::testing::run_task(loop, clock, examine_node(options, {kernel, killing, kubelet, clock, ""}));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("no-proc"), std::string::npos);
}

TEST_F(DoctorNode, UsesLastNodeNameOfAgent) {
  EXPECT_EQ(kept_node_name(run()), std::nullopt);
  ASSERT_TRUE(agent::KeptObjects(run()).keep(agent::KeptObject::kNode, R"({"metadata":{"name":"n1"}})"));
  EXPECT_EQ(kept_node_name(run()), "n1");
}

}  // namespace
}  // namespace tidemark::cli
