#include "policy/explain/doctor_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

constexpr std::int64_t kGibs = std::int64_t{1} << 30;

NodeFound example() {
  NodeFound out;
  out.layout = GroupLayout::kV2;
  out.driver = evict::GroupDriver::kSystemd;
  for (std::size_t at = 0; at < protect::kKnobs; ++at)
    out.knobs.push_back({static_cast<protect::Knob>(at), true, true, true, {}});
  out.knobs[static_cast<std::size_t>(protect::Knob::kCpuBvt)] = {protect::Knob::kCpuBvt, false, false, false,
                                                                 "x/cpu.bvt_warp_ns"};
  out.knobs[static_cast<std::size_t>(protect::Knob::kCpuQosLevel)] = {
      protect::Knob::kCpuQosLevel, false, false, false, {}};
  out.kubelet.emplace();
  out.kubelet->driver = evict::GroupDriver::kSystemd;
  out.kubelet->hard.memory_available = evict::EvictionThreshold{0, 30'000};
  out.ours.memory = {100 * kGibs, 70};
  out.node_pressure = out.group_pressure = true;
  return out;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : base::split(text, '\n')) out.emplace_back(line);
  return out;
}

TEST(DoctorText, EachFindingIsALineWithItsFix) {
  NodeFound found = example();
  found.swap_bytes = 2 * kGibs;
  EXPECT_EQ(
      lines(render_text(node_findings(found))),
      (std::vector<std::string>{
          "ok    cgroups        version 2",
          "ok    cgroup driver  systemd",
          "ok    CPU priority   cpu.idle",
          "                     not cpu.bvt_warp_ns: the kernel of this node has no such file [TM-KNOB-001]: "
          "x/cpu.bvt_warp_ns",
          "                     not cpu.qos_level: the kernel of this node has no such file [TM-KNOB-001]",
          "ok    kernel files   effective: cpu.shares, cpu.cfs_quota_us, cpuset.cpus, memory.limit_in_bytes; accepted: "
          "memory.min, memory.low",
          "ok    kubelet        returns its configuration",
          "bad   memory line    offline work is evicted from 75161927680 (70.0 GiB) in use on, the kubelet evicts from "
          "75161927680 (70.0 GiB) in use on, of 107374182400 (100.0 GiB)",
          "                     fix: lower memoryEvictThresholdPercent, or lower memory.available of the kubelet's "
          "evictionHard, until "
          "5 % are between them",
          "ok    disk line      neither Tidemark nor the kubelet evicts for it",
          "ok    inodes line    neither Tidemark nor the kubelet evicts for it",
          "ok    imagefs line   neither Tidemark nor the kubelet evicts for it",
          "ok    image inodes   neither Tidemark nor the kubelet evicts for it",
          "ok    CPU manager    pods share the CPUs (cpuManagerPolicy none)",
          "warn  swap           on: 2147483648 (2.0 GiB)",
          "                     fix: swapoff -a, and remove it from /etc/fstab: with swap, a memory limit slows tasks "
          "down "
          "instead of stopping them",
          "ok    pressure       of the node and of cgroups",
          "ok    other agent    none",
          "ok    latch          no",
          "ok    hold           no",
          "ok    in force       unknown: no Tidemark agent runs here",
          "ok    files          unknown: no Tidemark agent runs here",
          "ok    requests       unknown: no Tidemark agent runs here",
          "ok    memory.low     no class of the settings requests any (memoryLowPercent)",
          "ok    raised lines   no expired one is left in the NodeSLO",
          "ok    out of memory  unknown: no Tidemark agent runs here",
          "ok    kill           a task that does not stop on request can be killed with its whole cgroup",
          "ok    measures       none",
          ""}));
}

TEST(DoctorText, ShowsTheTrialOfEachFile) {
  NodeFound found = example();
  KnobFound& weight = found.knobs[static_cast<std::size_t>(protect::Knob::kCpuShares)];
  weight.why = "move a process into x: No such file or directory";
  KnobFound& limit = found.knobs[static_cast<std::size_t>(protect::Knob::kMemoryLimit)];
  limit.effective = false;
  limit.why = "a group that may have 4096 bytes came to have 8192";
  const std::string wanted =
      "ok   kernel files   effective: cpu.cfs_quota_us, cpuset.cpus; accepted: memory.min, memory.low\n"
      "ok   kernel files   cpu.shares: not decided: move a process into x: No such file or directory\n"
      "bad  kernel files   memory.limit_in_bytes: the kernel accepted the value on a trial without effect "
      "[TM-KNOB-004]: a group that may have 4096 bytes came to have 8192\n";
  const std::string text = render_text(node_findings(found));
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
  EXPECT_EQ(knobs_text(found.knobs),
            "effective: cpu.cfs_quota_us, cpu.idle, cpuset.cpus; accepted: memory.min, memory.low; "
            "not decided: cpu.shares; no effect: memory.limit_in_bytes");
  EXPECT_EQ(knobs_text({}), "");
}

// As the node's condition tells it, a line for each, with what helps.
TEST(DoctorText, ShowsTheAgentsReport) {
  NodeFound found = example();
  found.agent.emplace();
  found.agent->strategies = {{model::Strategy::kCpuSuppress, "enforce", "TM-AGENT-001", 2, "quota 1200m"},
                             {model::Strategy::kOomOrder, "enforce", "TM-AGENT-001", 3, ""},
                             {model::Strategy::kEviction, "restore", "TM-AGENT-002", 0, ""}};
  found.agent->ordered_by = "ada@ops";
  found.agent->ordered_why = "promotion";
  found.agent->refused = 1;
  found.agent->left = 2;
  found.agent->online_in_besteffort = "kube-system/kube-proxy-x";
  const std::string text = render_text(node_findings(found));
  const std::string wanted =
      "ok    in force       cpuSuppress: enforce, 2 files [TM-AGENT-001]: quota 1200m\n"
      "                     oomOrder: enforce, 3 processes [TM-AGENT-001]\n"
      "                     eviction: restore [TM-AGENT-002]\n"
      "                     ordered by ada@ops: promotion\n"
      "warn  files          the kernel refused 1 file\n"
      "                     fix: the agent's log has each file and the kernel's error\n"
      "warn  files          2 files: another writer keeps changing this file: it is left alone for a while "
      "[TM-AGENT-008]\n"
      "                     fix: the agent's log has each file and its content: find the other writer, and "
      "stop one of both\n"
      "warn  requests       pods without any that are not offline share with offline work what that is held to: "
      "kube-system/kube-proxy-x\n"
      "                     fix: give them a request for CPU (to kube-proxy in its DaemonSet): then the kubelet moves "
      "them to another cgroup\n";
  const std::string ordered =
      "ok    out of memory  3 processes of offline work and its dependencies have their score\n";
  EXPECT_NE(text.find(ordered), std::string::npos) << text;
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

TEST(DoctorText, ShowsTasksWithoutOomScore) {
  NodeFound found = example();
  found.agent.emplace();
  found.agent->strategies = {{model::Strategy::kOomOrder, "enforce", "TM-AGENT-001", 3, ""}};
  found.agent->oom = {1, 2, false, ""};
  const std::string text = render_text(node_findings(found));
  const std::string wanted =
      "warn  out of memory  1 process cannot get an OOM score: lowering the runtime's score needs CAP_SYS_RESOURCE\n"
      "                     fix: give pods with tidemark.io/infrastructure a request for the memory that they use, "
      "then the kubelet puts them after their tasks; or give the agent CAP_SYS_RESOURCE. Its log names each\n"
      "warn  out of memory  of another pid namespace: 2 processes\n"
      "                     fix: run the agent in the host's pid namespace (hostPID)\n";
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
  found.agent->strategies[0].permit = "restore";
  found.agent->oom = {};
  const std::string shown = "ok   out of memory  not enforced (restore): the kernel goes by what each process has\n";
  EXPECT_NE(render_text(node_findings(found)).find(shown), std::string::npos);
}

TEST(DoctorText, ExplainsAnIneffectiveMemoryLowPercent) {
  NodeFound found = example();
  found.ours.protects_memory = true;
  const auto expect = [&](std::string_view wanted) {
    const std::string text = render_text(node_findings(found));
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  };
  found.protection = {true, "kubepods/besteffort", 8 * kGibs};
  expect(
      "ok   memory.low     memoryLowPercent of a class holds where kubepods/besteffort reaches its limit of "
      "8589934592 (8.0 GiB)\n");
  found.protection.limit_bytes.reset();
  expect(
      "warn  memory.low     memoryLowPercent of a class has no effect: the cgroup directly above offline pods has "
      "no memory limit: kubepods/besteffort\n"
      "                     fix: set a memory limit on that cgroup (memory.high); or remove memoryLowPercent "
      "from tidemark-config\n");
  found.protection.handed_down = false;
  expect(
      "warn  memory.low     memoryLowPercent of a class has no effect: cgroup2 is mounted without "
      "memory_recursiveprot, so what a pod is to keep its containers, which have the memory, are not\n");
  found.knobs[static_cast<std::size_t>(protect::Knob::kMemoryLow)] = {protect::Knob::kMemoryLow, false, false, false,
                                                                      "x"};
  expect(
      "warn  memory.low     memoryLowPercent of a class has no effect: memory.low: the kernel of this node has no "
      "such file [TM-KNOB-001]: x\n"
      "                     fix: cgroup v2; in cgroup v1 only Anolis has it; or remove memoryLowPercent "
      "from tidemark-config\n");
}

TEST(DoctorText, ShowsMeasuredAndMissingValues) {
  NodeFound found = example();
  found.measures = {{"cpu use", true, true, "cpu.stat"},
                    {"run queue", true, false, "/proc/self/schedstat"},
                    {"cpi", false, false, "this machine has no such counter"},
                    {"disks", true, true, "/proc/diskstats"}};
  const std::string wanted =
      "ok   measures       cpu use, disks\n"
      "                    run queue: the machine provides it (/proc/self/schedstat); not needed, and not read\n"
      "                    cpi: not here: this machine has no such counter\n";
  const std::string text = render_text(node_findings(found));
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

TEST(DoctorText, AnInodesLineCountsInodes) {
  NodeFound found = example();
  found.kubelet->hard.imagefs_inodes = evict::EvictionThreshold{0, 5'000};
  found.ours.runtime_inodes = {1'000'000, 98};
  const std::string text = render_text(node_findings(found));
  EXPECT_NE(
      text.find("bad  image inodes   offline work is evicted from 980000 inodes in use on, the kubelet evicts from "
                "950000 inodes in use on, of 1000000\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("fix: raise inodesFreePercent, or lower imagefs.inodesFree of the kubelet's evictionHard, until 5 "
                "% are between them"),
      std::string::npos)
      << text;
}

// Our disk threshold is off by default: then only the kubelet evicts if a disk is full.
TEST(DoctorText, ComparesDiskThresholdsWithTheKubelets) {
  NodeFound found = example();
  found.kubelet->hard.nodefs_available = evict::EvictionThreshold{0, 10'000};
  found.kubelet->hard.nodefs_inodes = evict::EvictionThreshold{0, 5'001};
  found.kubelet->hard.imagefs_available = evict::EvictionThreshold{20 * kGibs, 0};
  found.ours.disk = found.ours.runtime_disk = {100 * kGibs, {}};
  found.ours.disk_inodes = {0, {}};
  const std::string text = render_text(node_findings(found));
  for (const std::string_view line :
       {"warn  disk line      only the kubelet evicts from 96636764160 (90.0 GiB) in use on, of 107374182400 (100.0 "
        "GiB)\n",
        "fix: set diskFreePercent (evictions.node of tidemark-config) to 15 or more: the kubelet chooses its victims "
        "in "
        "its own order\n",
        "warn  inodes line    only the kubelet evicts from 94.999 % in use on\n", "to 11 or more",
        "warn  imagefs line   only the kubelet evicts from 85899345920 (80.0 GiB) in use on", "to 25 or more"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(DoctorText, ReportsExpiredThresholdsWithAFix) {
  NodeFound found = example();
  found.lines_ended = "cpuSuppressThresholdPercent 85 % -> 65 %, since 2026-11-22T06:00:00Z";
  found.lines_forgotten = true;
  const std::string text = render_text(node_findings(found));
  EXPECT_NE(
      text.find("warn  raised lines   ended by this machine's clock, the lower ones hold, and the NodeSLO does not "
                "say so: cpuSuppressThresholdPercent 85 % -> 65 %, since 2026-11-22T06:00:00Z\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("fix: let a manager write it"), std::string::npos) << text;
}

TEST(DoctorText, ShowsAPercentageIfTheSizeIsUnknown) {
  NodeFound found = example();
  found.kubelet->hard.imagefs_available = evict::EvictionThreshold{0, 7'050};
  found.ours.runtime_disk = {0, 80};
  const std::string text = render_text(node_findings(found));
  EXPECT_NE(
      text.find("ok   imagefs line   offline work is evicted from 80 % in use on, the kubelet evicts from 92.95 % "
                "in use on\n"),
      std::string::npos)
      << text;
}

TEST(DoctorText, RendersJson) {
  NodeFound found = example();
  found.koordlet = true;
  const Json json = render_json(node_findings(found));
  EXPECT_EQ(*json.at("severity"), Json("bad"));
  const auto& findings = json.at("findings")->as_array();
  ASSERT_EQ(findings.size(), kNodeTopics);
  EXPECT_EQ(findings[0], Json::object({{"what", Json("cgroups")},
                                       {"severity", Json("ok")},
                                       {"found", Json("version 2")},
                                       {"fix", Json(nullptr)},
                                       {"reason", Json(nullptr)}}));
  EXPECT_EQ(
      findings[13],
      Json::object(
          {{"what", Json("otherAgent")},
           {"severity", Json("warn")},
           {"found", Json("Koordinator's agent runs on this node: Tidemark's agent only observes [TM-AGENT-007]")},
           {"fix", Json("run one agent only: exclude this node from the DaemonSet of koordlet, or stop "
                        "koordlet on the host")},
           {"reason", Json("TM-AGENT-007")}}));
}

TEST(DoctorText, EveryFindingHasAText) {
  for (std::size_t topic = 0; topic < kNodeTopics; ++topic) {
    for (int fact = 0; fact <= static_cast<int>(kLastNodeFact); ++fact) {
      for (const Severity severity : {Severity::kOk, Severity::kWarn, Severity::kBad}) {
        NodeFinding one{static_cast<NodeTopic>(topic), static_cast<NodeFact>(fact), severity};
        const Json json = render_json({&one, 1});
        const Json& shown = json.at("findings")->as_array()[0];
        EXPECT_NE(*shown.at("found"), Json("unknown")) << fact;
        EXPECT_NE(*shown.at("what"), Json("unknown")) << topic;
        EXPECT_FALSE(render_text({&one, 1}).empty());
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::explain
