#include "policy/explain/doctor/node_findings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "policy/state/permits.h"

namespace tidemark::policy::explain {
namespace {

// The ladder of policy/protect/knobs.h, from the best.
constexpr std::array kRungs = {protect::Knob::kCpuBvt, protect::Knob::kCpuQosLevel, protect::Knob::kCpuIdle};

bool is_rung(protect::Knob knob) {
  return std::ranges::find(kRungs, knob) != kRungs.end();
}

// A knob that was not tried counts as missing.
KnobFound of(std::span<const KnobFound> knobs, protect::Knob knob) {
  const auto at = std::ranges::find(knobs, knob, &KnobFound::knob);
  return at == knobs.end() ? KnobFound{knob, false, false, false, {}} : *at;
}

protect::Capabilities capabilities_of(std::span<const KnobFound> knobs) {
  protect::Capabilities out;
  for (std::size_t at = 0; at < protect::kKnobs; ++at) {
    out.effective.set(at, of(knobs, static_cast<protect::Knob>(at)).effective);
  }
  return out;
}

NodeFinding groups(const NodeFound& found) {
  switch (found.layout) {
    case GroupLayout::kV2:
      return {NodeTopic::kGroups, NodeFact::kGroupsV2, Severity::kOk};
    case GroupLayout::kHybrid:
      return {NodeTopic::kGroups, NodeFact::kGroupsHybrid, Severity::kOk};
    case GroupLayout::kV1:
      return {NodeTopic::kGroups, NodeFact::kGroupsV1, Severity::kWarn};
    case GroupLayout::kNone:
      break;
  }
  return {NodeTopic::kGroups, NodeFact::kNoGroups, Severity::kBad};
}

NodeFinding driver(const NodeFound& found) {
  const auto said = found.kubelet ? found.kubelet->driver : std::nullopt;
  if (!found.driver) return {NodeTopic::kGroupDriver, NodeFact::kDriverNotSeen, Severity::kOk};
  const bool differs = said && *said != *found.driver;
  NodeFinding out{NodeTopic::kGroupDriver, differs ? NodeFact::kDriverDiffers : NodeFact::kDriverIs,
                  differs ? Severity::kBad : Severity::kOk};
  out.driver = found.driver;
  return out;
}

NodeFinding priority(std::span<const KnobFound> knobs) {
  const protect::Capabilities capabilities = capabilities_of(knobs);
  const auto rung = protect::priority_knob(capabilities);
  NodeFinding out{NodeTopic::kPriority, NodeFact::kPriorityByKnob, Severity::kOk};
  if (!rung && capabilities.has(protect::Knob::kCpuShares)) {
    out.fact = NodeFact::kPriorityByWeight;
    out.severity = Severity::kWarn;
  } else if (!rung) {
    out.fact = NodeFact::kNoPriority;
    out.severity = Severity::kBad;
  }
  out.knobs.push_back(of(knobs, rung.value_or(protect::Knob::kCpuShares)));
  for (const protect::Knob better : kRungs) {
    if (better == rung) break;
    out.knobs.push_back(of(knobs, better));
    // A better knob exists and is unused.
    if (out.knobs.back().exists) out.severity = std::max(out.severity, Severity::kWarn);
  }
  return out;
}

// Without both ways to suppress, or without a memory limit, offline work is unlimited. The other knobs only make it
// worse.
Severity severity_without(protect::Knob knob, const protect::Capabilities& capabilities) {
  switch (knob) {
    case protect::Knob::kCpuQuota:
      return capabilities.has(protect::Knob::kCpusetCpus) ? Severity::kWarn : Severity::kBad;
    case protect::Knob::kCpusetCpus:
      return capabilities.has(protect::Knob::kCpuQuota) ? Severity::kWarn : Severity::kBad;
    case protect::Knob::kMemoryLimit:
      return Severity::kBad;
    default:
      return Severity::kWarn;
  }
}

// A trial of these would take long, need several cgroups, or need a kernel that no test has.
bool is_only_written(protect::Knob knob) {
  return knob == protect::Knob::kCpuQosLevel || knob == protect::Knob::kMemoryMin || knob == protect::Knob::kMemoryLow;
}

NodeFact fact_of(KnobVerdict verdict) {
  switch (verdict) {
    case KnobVerdict::kMissing:
      return NodeFact::kKnobMissing;
    case KnobVerdict::kRefused:
      return NodeFact::kKnobRefused;
    case KnobVerdict::kNoEffect:
      return NodeFact::kKnobWithoutEffect;
    case KnobVerdict::kNotDecided:
      return NodeFact::kKnobNotDecided;
    case KnobVerdict::kAccepted:
    case KnobVerdict::kEffective:
      break;
  }
  return NodeFact::kKnobsWork;
}

// The knobs of the ladder are reported under kPriority.
void append_knobs(std::span<const KnobFound> knobs, std::vector<NodeFinding>& out) {
  const protect::Capabilities capabilities = capabilities_of(knobs);
  NodeFinding work{NodeTopic::kKnobs, NodeFact::kKnobsWork, Severity::kOk};
  std::vector<NodeFinding> others;
  for (std::size_t at = 0; at < protect::kKnobs; ++at) {
    KnobFound knob = of(knobs, static_cast<protect::Knob>(at));
    if (is_rung(knob.knob)) continue;
    NodeFinding one{NodeTopic::kKnobs, fact_of(verdict_of(knob)), Severity::kOk};
    if (one.fact == NodeFact::kKnobsWork) {
      work.knobs.push_back(std::move(knob));
      continue;
    }
    if (!knob.effective) one.severity = severity_without(knob.knob, capabilities);
    one.knobs.push_back(std::move(knob));
    others.push_back(std::move(one));
  }
  if (!work.knobs.empty()) out.push_back(std::move(work));
  std::ranges::move(others, std::back_inserter(out));
}

void append_all_knobs(const NodeFound& found, std::vector<NodeFinding>& out) {
  if (found.not_tried.empty()) {
    out.push_back(priority(found.knobs));
    append_knobs(found.knobs, out);
    return;
  }
  for (const NodeTopic topic : {NodeTopic::kPriority, NodeTopic::kKnobs}) {
    NodeFinding none{topic, NodeFact::kNothingTried, Severity::kBad};
    none.said = found.not_tried;
    out.push_back(std::move(none));
  }
}

// capacity × percent / 100, rounded down, without overflow.
std::int64_t share(std::int64_t capacity, std::int64_t percent) {
  return capacity / 100 * percent + capacity % 100 * percent / 100;
}

void append_kubelet(const NodeFound& found, std::vector<NodeFinding>& out) {
  if (!found.kubelet) {
    NodeFinding silent{NodeTopic::kKubelet, NodeFact::kKubeletSilent, Severity::kWarn};
    silent.said = found.kubelet_silent;
    out.push_back(std::move(silent));
    return;
  }
  out.push_back({NodeTopic::kKubelet, NodeFact::kKubeletAnswers, Severity::kOk});
  std::ranges::move(kubelet_findings(*found.kubelet, found.ours), std::back_inserter(out));
}

// Thresholds that are only shares.
bool in_shares(const std::optional<evict::EvictionThreshold>& hard,
               const std::optional<evict::EvictionThreshold>& soft) {
  return (!hard || hard->milli_percent > 0) && (!soft || soft->milli_percent > 0);
}

NodeFinding line_finding(NodeTopic topic, const LineFound& ours, const std::optional<evict::EvictionThreshold>& hard,
                         const std::optional<evict::EvictionThreshold>& soft) {
  const bool shares = ours.capacity <= 0 && in_shares(hard, soft);
  const std::int64_t capacity = shares ? kAllInShares : ours.capacity;
  const auto threshold = evict::reached_first(hard, soft, capacity);
  if (!ours.percent && !threshold) return {topic, NodeFact::kNoLines, Severity::kOk};
  if (!threshold) return {topic, NodeFact::kNoLineOfKubelet, Severity::kOk};
  if (capacity <= 0) return {topic, NodeFact::kLineUnknown, Severity::kWarn};
  LinePair pair{0, capacity - std::min(evict::threshold_bytes(*threshold, capacity), capacity), capacity,
                threshold->soft, shares};
  // A hard threshold also applies to what is left of the limit of all pods together.
  if (ours.full_for_pods && hard && !shares) {
    const std::int64_t full = std::clamp<std::int64_t>(*ours.full_for_pods, 0, capacity);
    const std::int64_t by_pods = full - std::min(evict::threshold_bytes(*hard, capacity), full);
    pair.of_pods = by_pods < pair.kubelet;
    if (pair.of_pods) pair.soft = false;
    pair.kubelet = std::min(pair.kubelet, by_pods);
  }
  NodeFinding out{topic, NodeFact::kNoLineOfOurs, Severity::kWarn};
  if (ours.percent) {
    pair.ours = share(capacity, std::clamp<std::int64_t>(*ours.percent, 0, 100));
    const std::int64_t room = pair.kubelet - pair.ours;
    const bool over = room <= 0, near = room < share(capacity, evict::kRoomPercent);
    out.fact = over ? NodeFact::kLineOver : near ? NodeFact::kLineNear : NodeFact::kLineUnder;
    out.severity = over ? Severity::kBad : near ? Severity::kWarn : Severity::kOk;
  }
  out.line = pair;
  return out;
}

// Contract 7.3: with a static kubelet only the cpusets of containers are written, one by one, and none above them.
NodeFinding cpu_manager_finding(bool static_cpus, bool suppresses_by_cpuset) {
  return {NodeTopic::kCpuManager, static_cpus ? NodeFact::kCpusStatic : NodeFact::kCpusShared,
          static_cpus && suppresses_by_cpuset ? Severity::kWarn : Severity::kOk};
}

NodeFinding pressure(const NodeFound& found) {
  if (!found.node_pressure) return {NodeTopic::kPressure, NodeFact::kNoPressure, Severity::kWarn};
  if (!found.group_pressure) return {NodeTopic::kPressure, NodeFact::kPressureOfNodeOnly, Severity::kWarn};
  return {NodeTopic::kPressure, NodeFact::kPressureTold, Severity::kOk};
}

const StrategyFound* strategy_of(const AgentFound& agent, model::Strategy strategy) {
  const auto at = std::ranges::find(agent.strategies, strategy, &StrategyFound::strategy);
  return at == agent.strategies.end() ? nullptr : &*at;
}

// The agent's own report: what it decides, and which kernel files refuse it.
void append_agent(const NodeFound& found, std::vector<NodeFinding>& out) {
  const auto say = [&](NodeTopic topic, NodeFact fact, Severity severity) {
    NodeFinding one{topic, fact, severity};
    one.agent = found.agent;
    out.push_back(std::move(one));
  };
  if (!found.agent) {
    say(NodeTopic::kInForce, NodeFact::kNoAgentSays, Severity::kOk);
    say(NodeTopic::kFiles, NodeFact::kNoAgentSays, Severity::kOk);
    return;
  }
  const AgentFound& agent = *found.agent;
  say(NodeTopic::kInForce, agent.waits ? NodeFact::kInForceWaits : NodeFact::kInForce,
      agent.waits ? Severity::kWarn : Severity::kOk);
  const std::size_t before = out.size();
  if (!agent.trouble.empty()) say(NodeTopic::kFiles, NodeFact::kNothingWritable, Severity::kBad);
  if (agent.refused > 0) say(NodeTopic::kFiles, NodeFact::kFilesRefused, Severity::kWarn);
  if (agent.left > 0) say(NodeTopic::kFiles, NodeFact::kFilesLeft, Severity::kWarn);
  if (agent.unmet > 0) say(NodeTopic::kFiles, NodeFact::kIntentsUnmet, Severity::kWarn);
  if (out.size() == before) say(NodeTopic::kFiles, NodeFact::kFilesAsWanted, Severity::kOk);
}

// The kubelet puts these pods into the same cgroup as offline work.
NodeFinding requests(const NodeFound& found) {
  NodeFinding out{NodeTopic::kRequests, NodeFact::kNoAgentSays, Severity::kOk};
  if (!found.agent) return out;
  const bool none = found.agent->online_in_besteffort.empty();
  out.fact = none ? NodeFact::kOnlineHasRequests : NodeFact::kOnlineWithoutRequests;
  out.severity = none ? Severity::kOk : Severity::kWarn;
  out.agent = found.agent;
  return out;
}

// Whether memoryLowPercent has an effect, if a class has it.
NodeFinding memory_protection(const NodeFound& found) {
  NodeFinding out{NodeTopic::kMemoryProtection, NodeFact::kProtectionNotAsked, Severity::kOk};
  if (!found.ours.protects_memory) return out;
  const KnobFound knob = of(found.knobs, protect::Knob::kMemoryLow);
  if (!knob.effective) {
    out.fact = NodeFact::kProtectionNoKernel;
    out.knobs.push_back(knob);
  } else if (!found.protection.handed_down) {
    out.fact = NodeFact::kProtectionNotHandedDown;
  } else {
    out.fact = found.protection.limit_bytes ? NodeFact::kProtectionHolds : NodeFact::kProtectionNoLimit;
  }
  if (out.fact != NodeFact::kProtectionHolds) out.severity = Severity::kWarn;
  out.protection = found.protection;
  return out;
}

// The OOM order of the kernel. That it is not enabled is no fault.
void append_oom(const NodeFound& found, std::vector<NodeFinding>& out) {
  const auto say = [&](NodeFact fact, Severity severity) {
    NodeFinding one{NodeTopic::kOomOrder, fact, severity};
    one.agent = found.agent;
    out.push_back(std::move(one));
  };
  const StrategyFound* stands = found.agent ? strategy_of(*found.agent, model::Strategy::kOomOrder) : nullptr;
  if (stands == nullptr) return say(NodeFact::kNoAgentSays, Severity::kOk);
  const OomFound& oom = found.agent->oom;
  const std::size_t before = out.size();
  if (oom.refused > 0) say(NodeFact::kOomNotLowered, Severity::kWarn);
  if (oom.foreign > 0) say(NodeFact::kOomForeign, Severity::kWarn);
  // For foreign processes the trouble repeats the number.
  if (!oom.trouble.empty() && oom.foreign == 0) say(NodeFact::kOomTrouble, Severity::kWarn);
  if (out.size() > before) return;
  const bool enforced = stands->permit == to_string(state::Permit::kEnforce);
  say(enforced ? NodeFact::kOomOrdered : NodeFact::kOomOnlyShown, Severity::kOk);
}

// A manager may be about to write this: it is no warning until the manager is overdue.
NodeFinding raised_lines(const NodeFound& found) {
  if (found.lines_ended.empty()) return {NodeTopic::kRaisedLines, NodeFact::kLinesAsSaid, Severity::kOk};
  NodeFinding out{NodeTopic::kRaisedLines, NodeFact::kLinesEnded,
                  found.lines_forgotten ? Severity::kWarn : Severity::kOk};
  out.said = found.lines_ended;
  return out;
}

NodeFinding either(NodeTopic topic, bool is, NodeFact yes, NodeFact no) {
  return {topic, is ? yes : no, is ? Severity::kWarn : Severity::kOk};
}

}  // namespace

KnobVerdict verdict_of(const KnobFound& knob) {
  if (!knob.exists) return KnobVerdict::kMissing;
  if (!knob.accepted) return KnobVerdict::kRefused;
  if (!knob.effective) return KnobVerdict::kNoEffect;
  if (!knob.why.empty()) return KnobVerdict::kNotDecided;
  return is_only_written(knob.knob) ? KnobVerdict::kAccepted : KnobVerdict::kEffective;
}

std::vector<NodeFinding> kubelet_findings(const evict::KubeletFound& kubelet, const OurSide& ours) {
  std::vector<NodeFinding> out;
  const auto line = [&](NodeTopic topic, const LineFound& one,
                        std::optional<evict::EvictionThreshold> evict::EvictionThresholds::* signal) {
    out.push_back(line_finding(topic, one, kubelet.hard.*signal, kubelet.soft.*signal));
  };
  line(NodeTopic::kMemoryLine, ours.memory, &evict::EvictionThresholds::memory_available);
  line(NodeTopic::kDiskLine, ours.disk, &evict::EvictionThresholds::nodefs_available);
  line(NodeTopic::kDiskInodesLine, ours.disk_inodes, &evict::EvictionThresholds::nodefs_inodes);
  line(NodeTopic::kRuntimeDiskLine, ours.runtime_disk, &evict::EvictionThresholds::imagefs_available);
  line(NodeTopic::kRuntimeInodesLine, ours.runtime_inodes, &evict::EvictionThresholds::imagefs_inodes);
  out.push_back(cpu_manager_finding(kubelet.static_cpus, ours.suppresses_by_cpuset));
  return out;
}

std::vector<NodeFinding> node_findings(const NodeFound& found) {
  std::vector<NodeFinding> out;
  out.push_back(groups(found));
  out.push_back(driver(found));
  append_all_knobs(found, out);
  append_kubelet(found, out);
  out.push_back(either(NodeTopic::kSwap, found.swap_bytes > 0, NodeFact::kSwapOn, NodeFact::kSwapOff));
  out.back().bytes = std::max<std::int64_t>(found.swap_bytes, 0);
  out.push_back(pressure(found));
  out.push_back(either(NodeTopic::kPeer, found.koordlet.value_or(false), NodeFact::kPeerPresent,
                       found.koordlet ? NodeFact::kNoPeer : NodeFact::kPeerUnknown));
  out.push_back(either(NodeTopic::kLatch, found.latched, NodeFact::kLatched, NodeFact::kNotLatched));
  out.push_back(either(NodeTopic::kHold, found.holds, NodeFact::kHolds, NodeFact::kNotHeld));
  append_agent(found, out);
  out.push_back(requests(found));
  out.push_back(memory_protection(found));
  out.push_back(raised_lines(found));
  append_oom(found, out);
  out.push_back(
      either(NodeTopic::kKills, !found.no_kills.empty(), NodeFact::kGroupsNotKilled, NodeFact::kGroupsKilled));
  out.back().said = found.no_kills;
  out.push_back({NodeTopic::kMeasures, NodeFact::kMeasures, Severity::kOk});
  out.back().measures = found.measures;
  return out;
}

Severity worst(std::span<const NodeFinding> findings) {
  Severity out = Severity::kOk;
  for (const NodeFinding& one : findings) out = std::max(out, one.severity);
  return out;
}

}  // namespace tidemark::policy::explain
