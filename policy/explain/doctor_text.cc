#include "policy/explain/doctor_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/settings/evict_settings.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/why.h"
#include "policy/state/permits.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;
using model::Reason;

constexpr std::string_view kBetterKernel =
    "a kernel with cpu.idle (5.15 and newer), cpu.bvt_warp_ns (Anolis) or cpu.qos_level (openEuler)";

constexpr std::string_view kNoProtection = "memoryLowPercent of a class has no effect: ";
constexpr std::string_view kOrAskForNone = "; or remove memoryLowPercent from tidemark-config";

struct NodeTopicWords {
  std::string_view text;  // for people
  std::string_view key;   // for programs
};

NodeTopicWords words(NodeTopic topic) {
  switch (topic) {
    case NodeTopic::kGroups:
      return {"cgroups", "cgroups"};
    case NodeTopic::kGroupDriver:
      return {"cgroup driver", "cgroupDriver"};
    case NodeTopic::kPriority:
      return {"CPU priority", "cpuPriority"};
    case NodeTopic::kKnobs:
      return {"kernel files", "kernelFiles"};
    case NodeTopic::kKubelet:
      return {"kubelet", "kubelet"};
    case NodeTopic::kMemoryLine:
      return {"memory line", "memoryLine"};
    case NodeTopic::kDiskLine:
      return {"disk line", "diskLine"};
    case NodeTopic::kDiskInodesLine:
      return {"inodes line", "inodesLine"};
    case NodeTopic::kRuntimeDiskLine:
      return {"imagefs line", "runtimeDiskLine"};
    case NodeTopic::kRuntimeInodesLine:
      return {"image inodes", "runtimeInodesLine"};
    case NodeTopic::kCpuManager:
      return {"CPU manager", "cpuManager"};
    case NodeTopic::kSwap:
      return {"swap", "swap"};
    case NodeTopic::kPressure:
      return {"pressure", "pressure"};
    case NodeTopic::kPeer:
      return {"other agent", "otherAgent"};
    case NodeTopic::kLatch:
      return {"latch", "latch"};
    case NodeTopic::kHold:
      return {"hold", "hold"};
    case NodeTopic::kInForce:
      return {"in force", "inForce"};
    case NodeTopic::kFiles:
      return {"files", "files"};
    case NodeTopic::kRequests:
      return {"requests", "requests"};
    case NodeTopic::kMemoryProtection:
      return {"memory.low", "memoryProtection"};
    case NodeTopic::kRaisedLines:
      return {"raised lines", "raisedLines"};
    case NodeTopic::kOomOrder:
      return {"out of memory", "oomOrder"};
    case NodeTopic::kKills:
      return {"kill", "kill"};
    case NodeTopic::kMeasures:
      return {"measures", "measures"};
  }
  return {"unknown", "unknown"};
}

std::string_view word(evict::GroupDriver driver) {
  return driver == evict::GroupDriver::kSystemd ? "systemd" : "cgroupfs";
}
evict::GroupDriver other(evict::GroupDriver driver) {
  return driver == evict::GroupDriver::kSystemd ? evict::GroupDriver::kCgroupfs : evict::GroupDriver::kSystemd;
}

std::string bytes_text(std::int64_t bytes) {
  return amount_text(model::MemoryBytes{bytes});
}

std::optional<Reason> reason_of(NodeFact fact) {
  switch (fact) {
    case NodeFact::kKnobMissing:
      return Reason::kKnobMissing;
    case NodeFact::kKnobRefused:
      return Reason::kKnobRefused;
    case NodeFact::kKnobWithoutEffect:
      return Reason::kKnobWithoutEffect;
    case NodeFact::kPeerPresent:
      return Reason::kAgentPeerPresent;
    case NodeFact::kLatched:
      return Reason::kAgentLatched;
    case NodeFact::kHolds:
      return Reason::kAgentHolds;
    case NodeFact::kInForceWaits:
      return Reason::kAgentAwaits;
    case NodeFact::kFilesLeft:
      return Reason::kAgentStandsBack;
    case NodeFact::kGroupsNotKilled:
      return Reason::kEvictNotKilled;
    default:
      return std::nullopt;
  }
}

std::string_view word(KnobVerdict verdict) {
  switch (verdict) {
    case KnobVerdict::kMissing:
      return "missing";
    case KnobVerdict::kRefused:
      return "refused";
    case KnobVerdict::kNoEffect:
      return "no effect";
    case KnobVerdict::kNotDecided:
      return "not decided";
    case KnobVerdict::kAccepted:
      return "accepted";
    case KnobVerdict::kEffective:
      return "effective";
  }
  return "unknown";
}

std::string verdict_text(KnobVerdict verdict) {
  switch (verdict) {
    case KnobVerdict::kMissing:
      return cat(": ", why(Reason::kKnobMissing));
    case KnobVerdict::kRefused:
      return cat(": ", why(Reason::kKnobRefused));
    case KnobVerdict::kNoEffect:
      return cat(": ", why(Reason::kKnobWithoutEffect));
    case KnobVerdict::kNotDecided:
      return cat(": ", word(verdict));
    case KnobVerdict::kAccepted:
    case KnobVerdict::kEffective:
      break;
  }
  return "";
}

// "cpu.idle: the kernel of this node has no such file [TM-KNOB-001]: its error".
std::string knob_text(const KnobFound& knob) {
  return cat(to_string(knob.knob), verdict_text(verdict_of(knob)), knob.why.empty() ? "" : ": ", knob.why);
}

// The settings of a threshold.
struct LineWords {
  std::string_view ours, change;  // our setting, and how to change it so that it is reached earlier
  std::string_view kubelet;       // of its evictionHard and evictionSoft
  std::string_view path;          // the flag for the path of our check
};

LineWords line_words(NodeTopic topic) {
  switch (topic) {
    case NodeTopic::kDiskLine:
      return {"diskFreePercent", "raise ", "nodefs.available", "--kubelet-dir"};
    case NodeTopic::kDiskInodesLine:
      return {"inodesFreePercent", "raise ", "nodefs.inodesFree", "--kubelet-dir"};
    case NodeTopic::kRuntimeDiskLine:
      return {"diskFreePercent", "raise ", "imagefs.available", "--runtime-dir"};
    case NodeTopic::kRuntimeInodesLine:
      return {"inodesFreePercent", "raise ", "imagefs.inodesFree", "--runtime-dir"};
    default:
      return {"memoryEvictThresholdPercent", "lower ", "memory.available", ""};
  }
}

// "92.5 %", of thousandths.
std::string share_text(std::int64_t milli_percent) {
  std::string rest = std::to_string(1000 + milli_percent % 1000).substr(1);
  rest.erase(rest.find_last_not_of('0') + 1);
  return cat(milli_percent / 1000, rest.empty() ? "" : ".", rest, " %");
}

// A line of ours that comes before the kubelet's, with room between, in percent that are free.
std::int64_t free_before(const LinePair& pair) {
  const std::int64_t free = pair.capacity - pair.kubelet;
  const std::int64_t hundredth = std::max<std::int64_t>(pair.capacity / 100, 1);
  return std::min(free / hundredth + (free % hundredth != 0 ? 1 : 0) + evict::kRoomPercent,
                  model::kDiskFreeMax_percent);
}

std::string line_text(const NodeFinding& finding) {
  const LinePair pair = finding.line.value_or(LinePair{});
  const bool inodes = finding.topic == NodeTopic::kDiskInodesLine || finding.topic == NodeTopic::kRuntimeInodesLine;
  const auto amount = [&](std::int64_t of) {
    return pair.shares ? share_text(of) : inodes ? cat(of, " inodes") : bytes_text(of);
  };
  std::string kubelet =
      cat("the kubelet evicts from ", amount(pair.kubelet), " in use on", pair.soft ? " (evictionSoft)" : "");
  if (!pair.shares) kubelet += cat(", of ", inodes ? std::to_string(pair.capacity) : bytes_text(pair.capacity));
  if (pair.of_pods) kubelet += ": the limit of all pods together is nearly reached then";
  if (finding.fact == NodeFact::kNoLineOfOurs) return cat("only ", kubelet);
  return cat("offline work is evicted from ", amount(pair.ours), " in use on, ", kubelet);
}

std::string count_text(std::int64_t count, std::string_view of_one) {
  return cat(count, " ", of_one, count == 1 ? "" : "s");
}

// "cpuSuppress: enforce, 2 files [TM-AGENT-001]: …", a line for each, and the author of the order.
std::vector<std::string> in_force_text(const AgentFound& agent) {
  std::vector<std::string> out;
  for (const StrategyFound& each : agent.strategies) {
    std::string& line = out.emplace_back(cat(model::to_string(each.strategy), ": ", each.permit));
    if (each.files > 0) line += cat(", ", in_force_count_text(each.strategy, each.files));
    if (!each.reason.empty()) line += cat(" [", each.reason, "]");
    if (!each.says.empty()) line += cat(": ", each.says);
  }
  if (out.empty()) out.emplace_back("nothing is decided yet");
  if (!agent.copilots.empty()) out.push_back(agent.copilots);
  if (!agent.ordered_by.empty()) {
    out.push_back(cat("ordered by ", agent.ordered_by, agent.ordered_why.empty() ? "" : ": ", agent.ordered_why));
  }
  return out;
}

std::string oom_text(const AgentFound& agent) {
  const auto at = std::ranges::find(agent.strategies, model::Strategy::kOomOrder, &StrategyFound::strategy);
  if (at == agent.strategies.end()) return "nothing is decided yet";
  if (at->permit != to_string(state::Permit::kEnforce)) {
    return cat("not enforced (", at->permit, "): the kernel goes by what each process has");
  }
  return cat(in_force_count_text(at->strategy, at->files), " of offline work and its dependencies have their score");
}

// The measured values in one line, and a line for each of the others.
std::vector<std::string> measures_text(std::span<const MeasureFound> measures) {
  std::vector<std::string> out(1);
  for (const MeasureFound& each : measures) {
    if (each.there && each.read) {
      out.front() += cat(out.front().empty() ? "" : ", ", each.what);
    } else if (each.there) {
      out.push_back(cat(each.what, ": the machine provides it (", each.why, "); not needed, and not read"));
    } else {
      out.push_back(cat(each.what, ": not here: ", each.why));
    }
  }
  if (out.front().empty()) out.front() = "none";
  return out;
}

// One line or more.
std::vector<std::string> found_text(const NodeFinding& finding) {
  const auto knob = finding.knobs.empty() ? KnobFound{} : finding.knobs.front();
  const AgentFound agent = finding.agent.value_or(AgentFound{});
  switch (finding.fact) {
    case NodeFact::kNoGroups:
      return {"no cgroup hierarchy found"};
    case NodeFact::kGroupsV1:
      return {"version 1"};
    case NodeFact::kGroupsHybrid:
      return {"version 1, with a version 2 beside it that has no controllers"};
    case NodeFact::kGroupsV2:
      return {"version 2"};
    case NodeFact::kDriverIs:
      return {std::string(word(finding.driver.value_or(evict::GroupDriver::kCgroupfs)))};
    case NodeFact::kDriverNotSeen:
      return {"no pod has a cgroup yet"};
    case NodeFact::kDriverDiffers: {
      const evict::GroupDriver driver = finding.driver.value_or(evict::GroupDriver::kCgroupfs);
      return {cat("the cgroups of pods use ", word(driver), ", the kubelet says ", word(other(driver)))};
    }
    case NodeFact::kPriorityByKnob:
    case NodeFact::kPriorityByWeight:
    case NodeFact::kNoPriority: {
      const bool by_knob = finding.fact == NodeFact::kPriorityByKnob;
      const bool by_weight = finding.fact == NodeFact::kPriorityByWeight;
      std::vector<std::string> out{
          by_knob     ? knob_text(knob)
          : by_weight ? cat("only the weight: ", knob_text(knob))
                      : cat("none: offline work runs with the same priority as online work; ", knob_text(knob))};
      for (std::size_t at = 1; at < finding.knobs.size(); ++at)
        out.push_back(cat("not ", knob_text(finding.knobs[at])));
      return out;
    }
    case NodeFact::kKnobsWork:
      return {knobs_text(finding.knobs)};
    case NodeFact::kKnobMissing:
    case NodeFact::kKnobRefused:
    case NodeFact::kKnobWithoutEffect:
    case NodeFact::kKnobNotDecided:
      return {knob_text(knob)};
    case NodeFact::kNothingTried:
      return {cat("cannot try any file: ", finding.said)};
    case NodeFact::kKubeletAnswers:
      return {"returns its configuration"};
    case NodeFact::kKubeletSilent:
      return {cat("does not return its configuration: ", finding.said)};
    case NodeFact::kLineUnder:
    case NodeFact::kLineNear:
    case NodeFact::kLineOver:
    case NodeFact::kNoLineOfOurs:
      return {line_text(finding)};
    case NodeFact::kLineUnknown:
      return {"size unknown"};
    case NodeFact::kNoLineOfKubelet:
      return {"the kubelet does not evict for it"};
    case NodeFact::kNoLines:
      return {"neither Tidemark nor the kubelet evicts for it"};
    case NodeFact::kCpusShared:
      return {"pods share the CPUs (cpuManagerPolicy none)"};
    case NodeFact::kCpusStatic:
      return {"the kubelet assigns CPUs to pods (cpuManagerPolicy static)"};
    case NodeFact::kSwapOff:
      return {"off"};
    case NodeFact::kSwapOn:
      return {cat("on: ", bytes_text(finding.bytes))};
    case NodeFact::kPressureTold:
      return {"of the node and of cgroups"};
    case NodeFact::kPressureOfNodeOnly:
      return {"of the node, not of cgroups"};
    case NodeFact::kNoPressure:
      return {"the kernel reports none"};
    case NodeFact::kNoPeer:
      return {"none"};
    case NodeFact::kPeerUnknown:
      return {"unknown: no Tidemark agent runs here"};
    case NodeFact::kNotLatched:
    case NodeFact::kNotHeld:
      return {"no"};
    case NodeFact::kPeerPresent:
    case NodeFact::kLatched:
    case NodeFact::kHolds:
      return {why(*reason_of(finding.fact))};
    case NodeFact::kGroupsKilled:
      return {"a task that does not stop on request can be killed with its whole cgroup"};
    case NodeFact::kGroupsNotKilled:
      return {cat(why(*reason_of(finding.fact)), ": ", finding.said)};
    case NodeFact::kNoAgentSays:
      return {"unknown: no Tidemark agent runs here"};
    case NodeFact::kInForce:
    case NodeFact::kInForceWaits:
      return in_force_text(agent);
    case NodeFact::kNothingWritable:
      return {cat("cannot write: ", agent.trouble)};
    case NodeFact::kFilesAsWanted:
      return {"as intended"};
    case NodeFact::kFilesRefused:
      return {cat("the kernel refused ", count_text(agent.refused, "file"))};
    case NodeFact::kFilesLeft:
      return {cat(count_text(agent.left, "file"), ": ", why(Reason::kAgentStandsBack))};
    case NodeFact::kIntentsUnmet:
      return {cat("wanted, but no kernel file here provides it: ", agent.unmet)};
    case NodeFact::kOnlineHasRequests:
      return {"every online pod requests some"};
    case NodeFact::kOnlineWithoutRequests:
      return {cat("pods without any that are not offline share with offline work what that is held to: ",
                  agent.online_in_besteffort)};
    case NodeFact::kProtectionNotAsked:
      return {"no class of the settings requests any (memoryLowPercent)"};
    case NodeFact::kProtectionHolds:
      return {cat("memoryLowPercent of a class holds where ", finding.protection.value_or(ProtectionFound{}).group,
                  " reaches its limit of ",
                  bytes_text(finding.protection.value_or(ProtectionFound{}).limit_bytes.value_or(0)))};
    case NodeFact::kProtectionNoKernel:
      return {cat(kNoProtection, knob_text(knob))};
    case NodeFact::kProtectionNotHandedDown:
      return {cat(kNoProtection,
                  "cgroup2 is mounted without memory_recursiveprot, so what a pod is to keep its "
                  "containers, which have the memory, are not")};
    case NodeFact::kProtectionNoLimit:
      return {cat(kNoProtection, "the cgroup directly above offline pods has no memory limit",
                  finding.protection && !finding.protection->group.empty() ? ": " : "",
                  finding.protection.value_or(ProtectionFound{}).group)};
    case NodeFact::kLinesAsSaid:
      return {"no expired one is left in the NodeSLO"};
    case NodeFact::kLinesEnded:
      return {
          cat("ended by this machine's clock, the lower ones hold, and the NodeSLO does not say so: ", finding.said)};
    case NodeFact::kOomOrdered:
    case NodeFact::kOomOnlyShown:
      return {oom_text(agent)};
    case NodeFact::kOomNotLowered:
      return {cat(in_force_count_text(model::Strategy::kOomOrder, agent.oom.refused), " cannot get an OOM score",
                  agent.oom.may_lower ? "" : ": lowering the runtime's score needs CAP_SYS_RESOURCE")};
    case NodeFact::kOomForeign:
      return {cat("of another pid namespace: ", in_force_count_text(model::Strategy::kOomOrder, agent.oom.foreign))};
    case NodeFact::kOomTrouble:
      return {cat("not every process has a score: ", agent.oom.trouble)};
    case NodeFact::kMeasures:
      return measures_text(finding.measures);
  }
  return {"unknown"};
}

std::string_view knob_fix(protect::Knob knob) {
  switch (knob) {
    case protect::Knob::kCpuQuota:
      return "a kernel with CONFIG_CFS_BANDWIDTH, and its cpu controller for the groups below the root";
    case protect::Knob::kCpuShares:
      return "the cpu controller for the groups below the root (mounted, or in cgroup.subtree_control)";
    case protect::Knob::kCpusetCpus:
      return "the cpuset controller for the groups below the root (mounted, or in cgroup.subtree_control)";
    case protect::Knob::kMemoryLimit:
      return "the memory controller for the groups below the root; some kernels want cgroup_enable=memory at boot";
    case protect::Knob::kMemoryMin:
    case protect::Knob::kMemoryLow:
      return "cgroup v2; in cgroup v1 only Anolis has it";
    default:
      return kBetterKernel;
  }
}

// The fix; "" if none is needed.
std::string fix_text(const NodeFinding& finding) {
  if (finding.severity == Severity::kOk) return "";
  const LineWords line = line_words(finding.topic);
  const bool soft = finding.line && finding.line->soft;
  switch (finding.fact) {
    case NodeFact::kNoGroups:
      return "mount the machine's /sys/fs/cgroup into the agent's container, and name it with --cgroup-root";
    case NodeFact::kGroupsV1:
      return "boot with systemd.unified_cgroup_hierarchy=1: pressure of cgroups exists only in v2";
    case NodeFact::kDriverDiffers:
      return "drain the node, remove the cgroups of an earlier kubelet (kubepods or kubepods.slice), restart the "
             "kubelet";
    case NodeFact::kPriorityByKnob:
      return "enable the better one; cpu.bvt_warp_ns wants sysctl kernel.sched_group_identity_enabled=1";
    case NodeFact::kPriorityByWeight:
    case NodeFact::kNoPriority:
      return std::string(kBetterKernel);
    case NodeFact::kKnobMissing:
    case NodeFact::kKnobRefused:
    case NodeFact::kKnobWithoutEffect:
      return std::string(knob_fix(finding.knobs.empty() ? protect::Knob::kCpuShares : finding.knobs.front().knob));
    case NodeFact::kNothingTried:
      return "run the agent, or this command, as root, with the machine's /sys/fs/cgroup mounted and writable";
    case NodeFact::kKubeletSilent:
      return "allow the caller to read configz at --kubelet-endpoint: set --kubelet-ca-file, and in the kubeconfig use "
             "an "
             "account with the right nodes/configz (on older kubelets nodes/proxy)";
    case NodeFact::kLineNear:
    case NodeFact::kLineOver:
      return cat(line.change, line.ours, ", or lower ", line.kubelet, " of the kubelet's ",
                 soft ? "evictionSoft" : "evictionHard", ", until ", evict::kRoomPercent, " % are between them");
    case NodeFact::kLineUnknown:
      return line.path.empty() ? "find out why /proc/meminfo cannot be read"
                               : cat("set the directory on that disk with ", line.path);
    case NodeFact::kNoLineOfOurs: {
      const bool memory = finding.topic == NodeTopic::kMemoryLine;
      const std::string line_of_ours = memory ? cat(line.ours, " below that")
                                              : cat(line.ours, " (evictions.node of tidemark-config) to ",
                                                    free_before(finding.line.value_or(LinePair{})), " or more");
      return cat("set ", line_of_ours, ": the kubelet chooses its victims in its own order");
    }
    case NodeFact::kCpusStatic:
      return "suppress by quota: cpuSuppressPolicy cfsQuota";
    case NodeFact::kSwapOn:
      return "swapoff -a, and remove it from /etc/fstab: with swap, a memory limit slows tasks down instead of "
             "stopping them";
    case NodeFact::kPressureOfNodeOnly:
      return "use cgroup v2, which reports it";
    case NodeFact::kNoPressure:
      return "boot with psi=1, and a kernel with CONFIG_PSI";
    case NodeFact::kPeerPresent:
      return "run one agent only: exclude this node from the DaemonSet of koordlet, or stop koordlet on the host";
    case NodeFact::kLatched:
      return "run tidemark on --local on this machine when the cause is gone";
    case NodeFact::kGroupsNotKilled:
      return "a kernel with pidfd_open (5.3), or with cgroup.kill on cgroup version 2 (5.14); until then an eviction "
             "only works if the task stops on request and its provider answers";
    case NodeFact::kHolds:
      return "find the reason for the crash in the agent's log";
    case NodeFact::kInForceWaits:
      return "the agent's /readyz and its log name the component that does not answer: kubelet, copilots, API server";
    case NodeFact::kNothingWritable:
      return "free space in its --run-dir, and run only one agent there; its log has details";
    case NodeFact::kFilesRefused:
      return "the agent's log has each file and the kernel's error";
    case NodeFact::kFilesLeft:
      return "the agent's log has each file and its content: find the other writer, and stop one of both";
    case NodeFact::kIntentsUnmet:
      return "use a kernel with the missing feature: see CPU priority and kernel files above";
    case NodeFact::kOnlineWithoutRequests:
      return "give them a request for CPU (to kube-proxy in its DaemonSet): then the kubelet moves them to another "
             "cgroup";
    case NodeFact::kProtectionNoKernel:
      return cat(knob_fix(protect::Knob::kMemoryLow), kOrAskForNone);
    case NodeFact::kProtectionNotHandedDown:
      return cat("remount cgroup2 with memory_recursiveprot (Linux 5.7) beside the options that it has", kOrAskForNone);
    case NodeFact::kProtectionNoLimit:
      return cat("set a memory limit on that cgroup (memory.high)", kOrAskForNone);
    case NodeFact::kLinesEnded:
      return "let a manager write it: one that leads, on a node that is not left to others; where none will, write "
             "the lower lines into the NodeSLO's resourceUsedThresholdWithBE yourself. Until then they hold for good";
    case NodeFact::kOomNotLowered:
      return "give pods with tidemark.io/infrastructure a request for the memory that they use, then the kubelet puts "
             "them after their tasks; or give the agent CAP_SYS_RESOURCE. Its log names each";
    case NodeFact::kOomForeign:
      return "run the agent in the host's pid namespace (hostPID)";
    case NodeFact::kOomTrouble:
      return "free space in its --run-dir; its log has details";
    default:
      return "";
  }
}

}  // namespace

std::string in_force_count_text(model::Strategy strategy, std::int64_t count) {
  const bool processes = strategy == model::Strategy::kOomOrder;
  if (count == 1) return processes ? "1 process" : "1 file";
  return cat(count, processes ? " processes" : " files");
}

std::string knobs_text(std::span<const KnobFound> knobs) {
  std::string out;
  for (const KnobVerdict verdict : {KnobVerdict::kEffective, KnobVerdict::kAccepted, KnobVerdict::kNotDecided,
                                    KnobVerdict::kNoEffect, KnobVerdict::kRefused}) {
    std::string names;
    for (const KnobFound& one : knobs) {
      if (verdict_of(one) == verdict) names += cat(names.empty() ? "" : ", ", to_string(one.knob));
    }
    if (!names.empty()) out += cat(out.empty() ? "" : "; ", word(verdict), ": ", names);
  }
  return out;
}

FormedFinding formed(const NodeFinding& finding) {
  return {finding.severity,    words(finding.topic).text, words(finding.topic).key,
          found_text(finding), fix_text(finding),         reason_of(finding.fact)};
}

std::string render_text(std::span<const NodeFinding> findings) {
  std::vector<FormedFinding> all;
  for (const NodeFinding& one : findings) all.push_back(formed(one));
  return render_text(all);
}

Json render_json(std::span<const NodeFinding> findings) {
  Json list = Json::array();
  for (const NodeFinding& one : findings) list.as_array().push_back(render_json(formed(one)));
  return Json::object({{"severity", Json(to_string(worst(findings)))}, {"findings", std::move(list)}});
}

}  // namespace tidemark::policy::explain
