#include "policy/explain/cluster_doctor_text.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/explain/doctor_text.h"
#include "policy/explain/finding_form.h"
#include "policy/explain/state_text.h"
#include "policy/explain/why.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

struct TopicWords {
  std::string_view text;  // for people
  std::string_view key;   // for programs
};

TopicWords words(ClusterTopic topic) {
  switch (topic) {
    case ClusterTopic::kKernel:
      return {"kernel", "kernel"};
    case ClusterTopic::kOs:
      return {"OS image", "osImage"};
    case ClusterTopic::kArchitecture:
      return {"architecture", "architecture"};
    case ClusterTopic::kRuntime:
      return {"runtime", "runtime"};
    case ClusterTopic::kKubeletVersion:
      return {"kubelet version", "kubeletVersion"};
    case ClusterTopic::kConditions:
      return {"nodes", "nodes"};
    case ClusterTopic::kTaints:
      return {"taints", "taints"};
    case ClusterTopic::kAgents:
      return {"agents", "agents"};
    case ClusterTopic::kReports:
      return {"reports", "reports"};
    case ClusterTopic::kOffers:
      return {"offers", "offers"};
    case ClusterTopic::kPeer:
      return {"Koordinator", "koordinator"};
    case ClusterTopic::kSettings:
      return {"settings", "settings"};
    case ClusterTopic::kPools:
      return {"pools", "pools"};
    case ClusterTopic::kStates:
      return {"states", "states"};
    case ClusterTopic::kKubelets:
      return {"kubelets", "kubelets"};
    case ClusterTopic::kGroupDriver:
      return {"cgroup driver", "cgroupDriver"};
    case ClusterTopic::kMemoryLine:
      return {"memory line", "memoryLine"};
    case ClusterTopic::kDiskLine:
      return {"disk line", "diskLine"};
    case ClusterTopic::kDiskInodesLine:
      return {"inodes line", "inodesLine"};
    case ClusterTopic::kRuntimeDiskLine:
      return {"imagefs line", "runtimeDiskLine"};
    case ClusterTopic::kRuntimeInodesLine:
      return {"image inodes", "runtimeInodesLine"};
    case ClusterTopic::kCpuManager:
      return {"CPU manager", "cpuManager"};
    case ClusterTopic::kMemoryManager:
      return {"memory manager", "memoryManager"};
    case ClusterTopic::kSwap:
      return {"swap", "swap"};
  }
  return {"unknown", "unknown"};
}

struct FactWords {
  std::string_view key;
  std::string_view found;  // "" if the groups or the message show it
  std::string_view fix;    // "" if there is none
};

FactWords words(ClusterFact fact) {
  switch (fact) {
    case ClusterFact::kNoNodes:
      return {"noNodes", "the cluster has no node", "add nodes"};
    case ClusterFact::kAre:
      return {"are", "", ""};
    case ClusterFact::kKernelWithoutPriority:
      return {
          "kernelWithoutPriority",
          "older than 5.15, and its name shows no vendor knob: offline work yields CPU only by "
          "weight",
          "a kernel with cpu.idle (5.15 and newer), cpu.bvt_warp_ns (Anolis) or cpu.qos_level (openEuler); `tidemark "
          "doctor node` on one of them tries it"};
    case ClusterFact::kKernelWithoutPressure:
      return {"kernelWithoutPressure", "older than 4.20: no pressure files",
              "a kernel of 4.20 or newer, booted with psi=1; 4.18 of RHEL 8 and its like has it, and psi=1 is enough"};
    case ClusterFact::kNotLinux:
      return {"notLinux", "not Linux: Tidemark does not run there; not checked", ""};
    case ClusterFact::kNotShipped:
      return {"notShipped", "neither amd64 nor arm64: no agent exists for it",
              "keep the agent, and pools that sell, off these nodes by a selector"};
    case ClusterFact::kKubeletsApart:
      return {"kubeletsApart", "more than three minor versions older than the newest: no API server supports both",
              "upgrade them"};
    case ClusterFact::kAllReady:
      return {"allReady", "all ready, none short of memory or disk", ""};
    case ClusterFact::kNotReady:
      return {"notReady", "not ready", "kubectl describe node NAME shows the reason; no new pods are scheduled there"};
    case ClusterFact::kMemoryPressure:
      return {"memoryPressure", "MemoryPressure: the kubelet evicts there, in its own order",
              "lower memoryEvictThresholdPercent or the water line of their pool, so that offline work goes first"};
    case ClusterFact::kDiskPressure:
      return {"diskPressure", "DiskPressure: the kubelet evicts there, in its own order",
              "free disk, and limit the ephemeral storage of offline pods"};
    case ClusterFact::kNoTaints:
      return {"noTaints", "none", ""};
    case ClusterFact::kTaints:
      return {"taints", "", ""};
    case ClusterFact::kAgentsSay:
      return {"agentsSay", "", ""};
    case ClusterFact::kNoAgents:
      return {"noAgents", "no Tidemark agent has reported (condition TidemarkIsolation)",
              "set agent.enabled of the chart; until then nothing limits offline work"};
    case ClusterFact::kNoAgent:
      return {
          "noAgent", "without a Tidemark agent (no condition TidemarkIsolation)",
          "check why its DaemonSet has no pod there: a selector, a taint, an image; or stop selling on these nodes"};
    case ClusterFact::kAgentUnable:
      return {"agentUnable", "the agent cannot write to the kernel",
              "the condition TidemarkIsolation of the node shows the reason; `tidemark doctor node` there shows more"};
    case ClusterFact::kAgentHolds:
      return {"agentHolds", "", "find the reason for the crash in the agent's log"};
    case ClusterFact::kAgentSwitchedOff:
      return {"agentSwitchedOff", "", "tidemark on --local, on the machine, when the cause is gone"};
    case ClusterFact::kReportsCome:
      return {"reportsCome", "every node with an agent reports", ""};
    case ClusterFact::kReportMissing:
    case ClusterFact::kReportNever:
    case ClusterFact::kReportOld:
      return {fact == ClusterFact::kReportMissing ? "reportMissing"
              : fact == ClusterFact::kReportNever ? "reportNever"
                                                  : "reportOld",
              "",
              fact == ClusterFact::kReportMissing
                  ? "check that a manager runs: it creates the NodeMetric"
                  : "check that the agent's pod runs there, and its log; the node sells nothing until it reports"};
    case ClusterFact::kReportsAgeUnknown:
      return {"reportsAgeUnknown", "reports exist; their age cannot be judged: the settings are invalid",
              "repair the settings first"};
    case ClusterFact::kReportsUnlooked:
      return {"reportsUnlooked", "not checked: unknown whether an agent runs there",
              "grant `list` of pods (the chart's viewers have it)"};
    case ClusterFact::kNothingOffered:
      return {"nothingOffered", "no node offers batch resources", ""};
    case ClusterFact::kOffersGuarded:
      return {"offersGuarded", "batch resources are offered only on nodes with a reporting agent", ""};
    case ClusterFact::kOffersUnguarded:
      return {"offersUnguarded", "batch resources are offered without an agent: nothing limits the work that uses them",
              "run the agent there, or `tidemark off node NAME`"};
    case ClusterFact::kOffersAgeUnknown:
      return {"offersAgeUnknown",
              "batch resources are offered on a node with an agent; the age of its reports cannot be judged",
              "repair the settings first"};
    case ClusterFact::kOffersGuardUnknown:
      return {"offersGuardUnknown",
              "batch resources are offered without a Tidemark agent; unknown whether Koordinator's runs there",
              "grant `list` of pods, or check by hand whether an agent runs there"};
    case ClusterFact::kOffersUnseen:
      return {"offersUnseen", "batch resources are offered, but the agent does not report: they are based on old data",
              "check the agent's pod there; a running manager withdraws them after degradeTimeMinutes"};
    case ClusterFact::kNoPeer:
      return {"noPeer", "no Koordinator component runs", ""};
    case ClusterFact::kPeerUnknown:
      return {"peerUnknown", "unknown: cannot list pods", "grant `list` of pods (the chart's viewers have it)"};
    case ClusterFact::kPeerAgents:
      return {"peerAgents", "", "run one agent only: exclude these nodes from the DaemonSet of koordlet"};
    case ClusterFact::kPeerManagers:
      return {"peerManagers", "koord-manager runs",
              "let one manager write: scale it to 0, or switch its controllers off "
              "(--controllers=*,-noderesource,-nodemetric,-nodeslo)"};
    case ClusterFact::kSettingsRead:
      return {"settingsRead", "read, and good", ""};
    case ClusterFact::kSettingsNoted:
      return {"settingsNoted", "",
              "tidemark explain config shows what is in force; tidemark list revisions what came when"};
    case ClusterFact::kSettingsUnusable:
      return {"settingsUnusable", "", "repair the ConfigMap, or run tidemark undo config"};
    case ClusterFact::kPoolEmpty:
      return {"poolEmpty", "", "repair its nodeSelector, or remove the pool"};
    case ClusterFact::kPoolsOverlap:
      return {"poolsOverlap", "", "make their selectors exclude each other; the first in the document counts"};
    case ClusterFact::kInNoPool:
      return {"inNoPool", "in no named pool: the settings outside the pools apply (default)",
              "add them to a pool, unless this is intended"};
    case ClusterFact::kNothingOrdered:
      return {"nothingOrdered", "nothing is off, drained or observed", ""};
    case ClusterFact::kOrdered:
      return {"ordered", "", "tidemark report states lists them; run tidemark on when the cause is gone"};
    case ClusterFact::kMarkUnheeded:
      return {"markUnheeded", "",
              "tidemark report states says more; tidemark on node NAME, or off, sets the mark anew"};
    case ClusterFact::kKubeletsTell:
      return {"kubeletsTell", "", ""};
    case ClusterFact::kKubeletsRefuse:
      return {"kubeletsRefuse", "",
              "run it as a user with `get` of nodes/proxy, or `tidemark doctor node` on a machine of each kind; "
              "without, their cgroup drivers, eviction thresholds, CPU and memory managers and swap are not known"};
    case ClusterFact::kKubeletsSilent:
      return {"kubeletsSilent", "", "kubectl get --raw /api/v1/nodes/NAME/proxy/configz shows the same from nearby"};
    case ClusterFact::kKubeletsNotAsked:
      return {"kubeletsNotAsked",
              "not asked: cgroup drivers, eviction thresholds, CPU and memory managers and swap are not known", ""};
    case ClusterFact::kAsOnNode:
      return {"asOnNode", "", ""};
    case ClusterFact::kSwapTaken:
      return {"swapTaken", "the kubelet starts with swap on (failSwapOn false)",
              "swapoff -a there, and remove it from /etc/fstab: with swap, a memory limit slows tasks down instead of "
              "stopping them"};
  }
  return {"unknown", "", ""};
}

// Of a fact of a single node.
std::string_view key_of(NodeFact fact) {
  switch (fact) {
    case NodeFact::kLineUnder:
      return "lineUnder";
    case NodeFact::kLineNear:
      return "lineNear";
    case NodeFact::kLineOver:
      return "lineOver";
    case NodeFact::kLineUnknown:
      return "lineUnknown";
    case NodeFact::kNoLineOfOurs:
      return "noLineOfOurs";
    case NodeFact::kNoLineOfKubelet:
      return "noLineOfKubelet";
    case NodeFact::kNoLines:
      return "noLines";
    case NodeFact::kCpusShared:
      return "cpusShared";
    case NodeFact::kCpusStatic:
      return "cpusStatic";
    case NodeFact::kSwapOff:
      return "swapOff";
    default:
      return "asOnNode";
  }
}

std::string count(std::int64_t nodes) {
  return cat(nodes, nodes == 1 ? " node" : " nodes");
}

// "5 nodes: a, b, c and 2 more".
std::string group_text(const NodeGroup& group) {
  std::string out = count(group.nodes);
  if (!group.names.empty()) out += cat(": ", base::join(group.names, ", "));
  const std::int64_t more = group.nodes - static_cast<std::int64_t>(group.names.size());
  if (more > 0 && !group.names.empty()) out += cat(" and ", more, " more");
  return out;
}

// The statement for all the nodes, without their names; "" if only the groups have one.
std::string said_text(const ClusterFinding& finding) {
  const std::string_view found = words(finding.fact).found;
  switch (finding.fact) {
    case ClusterFact::kPeerUnknown:
    case ClusterFact::kPeerManagers:
      return cat(found, ": ", finding.said);
    case ClusterFact::kPoolEmpty:
      return cat("no node is in pool ", finding.said);
    case ClusterFact::kPoolsOverlap:
      return cat("in pool ", finding.said, ", and matched by pool ", finding.also, " as well");
    case ClusterFact::kKubeletsTell:
      return cat("the configuration of ", finding.nodes, " of ", count(finding.of_nodes), " was read");
    case ClusterFact::kKubeletsRefuse:
      return cat("no permission to read their configuration: ", finding.said);
    case ClusterFact::kKubeletsSilent:
      return cat("no configuration received (", finding.said, ")");
    case ClusterFact::kOrdered:
      return finding.state ? render_text(*finding.state) : "by more orders";
    case ClusterFact::kAsOnNode:
      return base::join(formed(finding.of_node.value_or(NodeFinding())).found, "; ");
    case ClusterFact::kMarkUnheeded:
      return cat(finding.reason ? why(*finding.reason) : "", finding.said.empty() ? "" : ": ", finding.said);
    default:
      if (!finding.said.empty()) return finding.said;
      return found.empty() && finding.reason ? why(*finding.reason) : std::string(found);
  }
}

std::vector<std::string> found_text(const ClusterFinding& finding) {
  std::string said = said_text(finding);
  if (finding.groups.empty()) return {said.empty() ? "none" : std::move(said)};
  std::vector<std::string> out;
  for (const NodeGroup& group : finding.groups) {
    const std::string value = !said.empty() ? said : group.value.empty() ? "unknown" : group.value;
    out.push_back(cat(value, ": ", group_text(group)));
  }
  if (finding.groups_left_off > 0)
    out.push_back(cat("and ", finding.groups_left_off, " more values, each on fewer nodes"));
  return out;
}

FormedFinding formed(const ClusterFinding& finding) {
  FormedFinding out{finding.severity, words(finding.topic).text, words(finding.topic).key, found_text(finding), {},
                    finding.reason};
  if (finding.severity == Severity::kOk) return out;
  if (!finding.of_node) {
    out.fix = words(finding.fact).fix;
  } else if (finding.of_node->fact == NodeFact::kLineUnknown) {
    out.fix =
        "run tidemark doctor node on one of them: it checks the disk, which the API server knows too little about";
  } else {
    out.fix = formed(*finding.of_node).fix;
  }
  return out;
}

}  // namespace

std::string_view fact_key(const ClusterFinding& finding) {
  return finding.fact == ClusterFact::kAsOnNode && finding.of_node ? key_of(finding.of_node->fact)
                                                                   : words(finding.fact).key;
}

std::string render_text(std::span<const ClusterFinding> findings) {
  std::vector<FormedFinding> all;
  for (const ClusterFinding& one : findings) all.push_back(formed(one));
  return render_text(all);
}

Json render_json(std::span<const ClusterFinding> findings) {
  Json list = Json::array();
  for (const ClusterFinding& one : findings) {
    Json groups = Json::array();
    for (const NodeGroup& group : one.groups) {
      Json::Array names(group.names.begin(), group.names.end());
      groups.as_array().push_back(
          Json::object({{"value", Json(group.value)}, {"nodes", group.nodes}, {"names", Json(std::move(names))}}));
    }
    Json shown = render_json(formed(one));
    shown["fact"] = Json(fact_key(one));
    shown["nodes"] = Json(one.nodes);
    shown["groups"] = std::move(groups);
    shown["groupsLeftOff"] = Json(one.groups_left_off);
    list.as_array().push_back(std::move(shown));
  }
  return Json::object({{"severity", Json(to_string(worst(findings)))}, {"findings", std::move(list)}});
}

}  // namespace tidemark::policy::explain
