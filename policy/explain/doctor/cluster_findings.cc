#include "policy/explain/doctor/cluster_findings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/isolation.h"
#include "policy/explain/doctor/kernel_release.h"

namespace tidemark::policy::explain {
namespace {

// The cluster topic that reports this topic of many nodes.
ClusterTopic of_cluster(NodeTopic topic) {
  switch (topic) {
    case NodeTopic::kDiskLine:
      return ClusterTopic::kDiskLine;
    case NodeTopic::kDiskInodesLine:
      return ClusterTopic::kDiskInodesLine;
    case NodeTopic::kRuntimeDiskLine:
      return ClusterTopic::kRuntimeDiskLine;
    case NodeTopic::kRuntimeInodesLine:
      return ClusterTopic::kRuntimeInodesLine;
    case NodeTopic::kCpuManager:
      return ClusterTopic::kCpuManager;
    default:
      return ClusterTopic::kMemoryLine;
  }
}

using model::Reason;
using Nodes = std::vector<const ClusterNode*>;  // by name

void add(NodeGroup& group, const ClusterNode& node) {
  ++group.nodes;
  if (group.names.size() < kNamesShownMax) group.names.push_back(node.name);
}

// Groups the nodes for which `value` returns something.
template <class Value>
ClusterFinding grouped(ClusterTopic topic, ClusterFact fact, Severity severity, const Nodes& nodes,
                       const Value& value) {
  std::map<std::string, NodeGroup, std::less<>> groups;
  ClusterFinding out{topic, fact, severity};
  const auto take = [&](const ClusterNode& node, std::string_view of) {
    auto at = groups.find(of);
    if (at == groups.end()) at = groups.emplace(std::string(of), NodeGroup{std::string(of), 0, {}}).first;
    add(at->second, node);
  };
  for (const ClusterNode* node : nodes) {
    const auto& values = value(*node);
    for (const std::string_view each : values) take(*node, each);
    if (values.begin() != values.end()) ++out.nodes;
  }
  for (auto& [name, group] : groups) out.groups.push_back(std::move(group));
  std::ranges::sort(out.groups, {}, [](const NodeGroup& group) { return std::pair(-group.nodes, group.value); });
  if (out.groups.size() > kGroupsShownMax) {
    out.groups_left_off = static_cast<std::int64_t>(out.groups.size() - kGroupsShownMax);
    out.groups.resize(kGroupsShownMax);
  }
  return out;
}

using Text = std::string ClusterNode::*;
ClusterFinding by_text(ClusterTopic topic, Text member, const Nodes& nodes) {
  return grouped(topic, ClusterFact::kAre, Severity::kOk, nodes,
                 [&](const ClusterNode& node) { return std::array<std::string_view, 1>{node.*member}; });
}

// The nodes for which `is` holds, in one group; nullopt if there are none.
template <class Is>
std::optional<ClusterFinding> where(ClusterTopic topic, ClusterFact fact, Severity severity, const Nodes& nodes,
                                    const Is& is) {
  NodeGroup group;
  for (const ClusterNode* node : nodes) {
    if (is(*node)) add(group, *node);
  }
  if (group.nodes == 0) return std::nullopt;
  ClusterFinding out{topic, fact, severity};
  out.nodes = group.nodes;
  out.groups.push_back(std::move(group));
  return out;
}

class Findings {
 public:
  explicit Findings(const ClusterFound& found) : found_(found) {
    for (const ClusterNode& node : found.nodes) (node.linux ? nodes_ : others_).push_back(&node);
    for (Nodes* each : {&nodes_, &others_}) {
      std::ranges::sort(*each, {}, [](const ClusterNode* node) -> const std::string& { return node->name; });
    }
  }

  std::vector<ClusterFinding> all() && {
    if (found_.nodes.empty()) tell(ClusterTopic::kConditions, ClusterFact::kNoNodes, Severity::kWarn);
    machines();
    conditions();
    agents();
    reports();
    offers();
    peers();
    settings();
    states();
    kubelets();
    return std::move(out_);
  }

 private:
  bool push(std::optional<ClusterFinding> finding, std::optional<Reason> reason = std::nullopt) {
    if (!finding) return false;
    if (reason) finding->reason = reason;
    out_.push_back(std::move(*finding));
    return true;
  }

  void tell(ClusterTopic topic, ClusterFact fact, Severity severity) { push(ClusterFinding{topic, fact, severity}); }

  void machines() {
    if (!nodes_.empty()) {
      push(by_text(ClusterTopic::kKernel, &ClusterNode::kernel, nodes_));
      const auto kernel_lacks = [](bool (KernelRelease::*has)() const) {
        return [has](const ClusterNode& node) {
          const auto kernel = parse_kernel_release(node.kernel);
          return kernel && !((*kernel).*has)();
        };
      };
      push(where(ClusterTopic::kKernel, ClusterFact::kKernelWithoutPriority, Severity::kWarn, nodes_,
                 kernel_lacks(&KernelRelease::has_priority)));
      push(where(ClusterTopic::kKernel, ClusterFact::kKernelWithoutPressure, Severity::kWarn, nodes_,
                 kernel_lacks(&KernelRelease::has_pressure)));
      push(by_text(ClusterTopic::kOs, &ClusterNode::os_image, nodes_));
    }
    push(where(ClusterTopic::kOs, ClusterFact::kNotLinux, Severity::kOk, others_, [](const auto&) { return true; }));
    if (nodes_.empty()) return;
    push(by_text(ClusterTopic::kArchitecture, &ClusterNode::architecture, nodes_));
    push(where(ClusterTopic::kArchitecture, ClusterFact::kNotShipped, Severity::kWarn, nodes_, [](const auto& node) {
      return !node.architecture.empty() && node.architecture != "amd64" && node.architecture != "arm64";
    }));
    push(by_text(ClusterTopic::kRuntime, &ClusterNode::runtime, nodes_));
    push(by_text(ClusterTopic::kKubeletVersion, &ClusterNode::kubelet_version, nodes_));
    kubelets_apart();
  }

  void kubelets_apart() {
    std::optional<std::int64_t> newest;
    for (const ClusterNode* node : nodes_) newest = std::max(newest, kubernetes_minor(node->kubelet_version));
    if (!newest) return;
    push(where(ClusterTopic::kKubeletVersion, ClusterFact::kKubeletsApart, Severity::kWarn, nodes_,
               [&](const ClusterNode& node) {
                 const auto minor = kubernetes_minor(node.kubelet_version);
                 return minor && *minor < *newest - kKubeletMinorsMax;
               }));
  }

  void conditions() {
    if (nodes_.empty()) return;
    bool wrong = push(where(ClusterTopic::kConditions, ClusterFact::kNotReady, Severity::kWarn, nodes_,
                            [](const ClusterNode& node) { return !node.ready; }));
    wrong |= push(where(ClusterTopic::kConditions, ClusterFact::kMemoryPressure, Severity::kWarn, nodes_,
                        [](const ClusterNode& node) { return node.memory_pressure; }));
    wrong |= push(where(ClusterTopic::kConditions, ClusterFact::kDiskPressure, Severity::kWarn, nodes_,
                        [](const ClusterNode& node) { return node.disk_pressure; }));
    if (!wrong) whole(ClusterTopic::kConditions, ClusterFact::kAllReady);
    auto taints = grouped(ClusterTopic::kTaints, ClusterFact::kTaints, Severity::kOk, nodes_,
                          [](const ClusterNode& node) -> const std::vector<std::string>& { return node.taints; });
    if (taints.nodes == 0) taints.fact = ClusterFact::kNoTaints;
    push(std::move(taints));
  }

  void whole(ClusterTopic topic, ClusterFact fact) {
    ClusterFinding out{topic, fact, Severity::kOk};
    out.nodes = static_cast<std::int64_t>(nodes_.size());
    push(std::move(out));
  }

  static bool has_agent(const ClusterNode& node) { return !node.agent.empty(); }
  static bool is_watched(const ClusterNode& node) { return has_agent(node) || node.koordlet; }
  // Without a list of pods it is unknown where Koordinator's agent runs.
  bool pods_known() const { return found_.koord_managers.has_value(); }

  void agents() {
    if (nodes_.empty()) return;
    if (std::ranges::none_of(nodes_, [](const ClusterNode* node) { return has_agent(*node); })) {
      whole(ClusterTopic::kAgents, ClusterFact::kNoAgents);
      out_.back().severity = Severity::kWarn;
      return;
    }
    push(grouped(ClusterTopic::kAgents, ClusterFact::kAgentsSay, Severity::kOk, nodes_, [](const ClusterNode& node) {
      return has_agent(node) ? std::vector<std::string_view>{node.agent} : std::vector<std::string_view>();
    }));
    push(where(ClusterTopic::kAgents, ClusterFact::kNoAgent, Severity::kWarn, nodes_,
               [](const ClusterNode& node) { return !has_agent(node); }));
    const auto says = [](std::string_view word) {
      return [word](const ClusterNode& node) { return node.agent == word; };
    };
    push(where(ClusterTopic::kAgents, ClusterFact::kAgentUnable, Severity::kBad, nodes_, says(model::kUnable)));
    push(where(ClusterTopic::kAgents, ClusterFact::kAgentHolds, Severity::kWarn, nodes_, says("Holding")),
         Reason::kAgentHolds);
    push(
        where(ClusterTopic::kAgents, ClusterFact::kAgentSwitchedOff, Severity::kWarn, nodes_, says(model::kOffLocally)),
        Reason::kAgentLatched);
  }

  // Without an agent no report can be late.
  void reports() {
    const bool unlooked =
        !pods_known() && push(where(ClusterTopic::kReports, ClusterFact::kReportsUnlooked, Severity::kWarn, nodes_,
                                    [](const ClusterNode& node) { return node.sells && !is_watched(node); }));
    Nodes watched;
    std::ranges::copy_if(nodes_, std::back_inserter(watched), [](const auto* node) { return is_watched(*node); });
    if (watched.empty()) return;
    const std::pair<Reason, ClusterFact> silences[] = {{Reason::kMetricMissing, ClusterFact::kReportMissing},
                                                       {Reason::kMetricWithoutTime, ClusterFact::kReportNever},
                                                       {Reason::kMetricStale, ClusterFact::kReportOld}};
    bool silent = false;
    for (const auto& [reason, fact] : silences) {
      silent |= push(where(ClusterTopic::kReports, fact, Severity::kWarn, watched,
                           [&](const ClusterNode& node) { return node.silent == reason; }),
                     reason);
    }
    if (silent || unlooked) return;
    ClusterFinding come{ClusterTopic::kReports, ClusterFact::kReportsCome, Severity::kOk};
    if (!found_.ages_known) {
      come.fact = ClusterFact::kReportsAgeUnknown;
      come.severity = Severity::kWarn;
    }
    come.nodes = static_cast<std::int64_t>(watched.size());
    push(std::move(come));
  }

  void offers() {
    if (nodes_.empty()) return;
    const bool known = pods_known();
    bool wrong =
        push(where(ClusterTopic::kOffers, known ? ClusterFact::kOffersUnguarded : ClusterFact::kOffersGuardUnknown,
                   known ? Severity::kBad : Severity::kWarn, nodes_,
                   [](const ClusterNode& node) { return node.sells && !is_watched(node); }));
    wrong |= push(where(ClusterTopic::kOffers, ClusterFact::kOffersUnseen, Severity::kBad, nodes_,
                        [](const ClusterNode& node) { return node.sells && is_watched(node) && node.silent; }));
    if (wrong) return;
    if (!push(where(ClusterTopic::kOffers,
                    found_.ages_known ? ClusterFact::kOffersGuarded : ClusterFact::kOffersAgeUnknown,
                    found_.ages_known ? Severity::kOk : Severity::kWarn, nodes_,
                    [](const ClusterNode& node) { return node.sells; }))) {
      tell(ClusterTopic::kOffers, ClusterFact::kNothingOffered, Severity::kOk);
    }
  }

  void peers() {
    if (!found_.koord_managers) {
      ClusterFinding unknown{ClusterTopic::kPeer, ClusterFact::kPeerUnknown, Severity::kWarn};
      unknown.said = found_.pods_unread;
      push(std::move(unknown));
      return;
    }
    const bool agents = push(where(ClusterTopic::kPeer, ClusterFact::kPeerAgents, Severity::kWarn, nodes_,
                                   [](const ClusterNode& node) { return node.koordlet; }),
                             Reason::kAgentPeerPresent);
    if (found_.koord_managers->empty()) {
      if (!agents) tell(ClusterTopic::kPeer, ClusterFact::kNoPeer, Severity::kOk);
      return;
    }
    ClusterFinding managers{ClusterTopic::kPeer, ClusterFact::kPeerManagers, Severity::kWarn};
    managers.said = found_.koord_managers->front();
    for (std::size_t at = 1; at < std::min(found_.koord_managers->size(), kNamesShownMax); ++at) {
      managers.said += ", " + (*found_.koord_managers)[at];
    }
    push(std::move(managers));
  }

  void settings() {
    for (const std::string& note : found_.settings_notes) {
      ClusterFinding noted{ClusterTopic::kSettings, ClusterFact::kSettingsNoted, Severity::kWarn};
      if (found_.pools == nullptr) {
        noted.fact = ClusterFact::kSettingsUnusable;
        noted.severity = Severity::kBad;
      }
      noted.said = note;
      push(std::move(noted));
    }
    if (found_.pools == nullptr) return;
    if (found_.settings_notes.empty()) tell(ClusterTopic::kSettings, ClusterFact::kSettingsRead, Severity::kOk);
    if (found_.nodes.empty()) return;
    Nodes all = nodes_;
    all.insert(all.end(), others_.begin(), others_.end());
    push(by_text(ClusterTopic::kPools, &ClusterNode::pool, all));
    for (const model::Pool& pool : found_.pools->pools) {
      const auto in_it = [&](const ClusterNode* node) { return node->pool == pool.name; };
      // A pool whose nodes are all in an earlier pool is not empty: the overlap finding reports it.
      const bool overlapped =
          std::ranges::any_of(found_.overlaps, [&](const auto& each) { return each.also == pool.name; });
      if (overlapped || std::ranges::any_of(all, in_it)) continue;
      ClusterFinding empty{ClusterTopic::kPools, ClusterFact::kPoolEmpty, Severity::kWarn};
      empty.said = pool.name;
      push(std::move(empty));
    }
    for (const waterline::PoolOverlap& each : found_.overlaps) {
      ClusterFinding both{ClusterTopic::kPools, ClusterFact::kPoolsOverlap, Severity::kWarn};
      both.nodes = each.nodes;
      both.said = each.pool;
      both.also = each.also;
      both.groups.push_back({"", each.nodes, {std::string(each.example.value)}});
      push(std::move(both));
    }
    if (found_.pools->pools.empty()) return;
    push(where(ClusterTopic::kPools, ClusterFact::kInNoPool, Severity::kWarn, nodes_,
               [&](const ClusterNode& node) { return node.pool == found_.pools->rest.name; }));
  }

  void states() {
    std::vector<ClusterFinding> orders;
    for (const ClusterNode* node : nodes_) {
      if (!node->state) continue;
      state::EffectiveState state = *node->state;
      state.again_after.reset();  // of the node, not of the order
      auto at = std::ranges::find(orders, std::optional(state), &ClusterFinding::state);
      if (at == orders.end() && orders.size() < kOrdersShownMax) {
        at = orders.insert(at, ClusterFinding{ClusterTopic::kStates, ClusterFact::kOrdered, Severity::kWarn});
        at->reason = state.decided_by;
        at->state = std::move(state);
        at->groups.emplace_back();
      } else if (at == orders.end()) {
        at = std::prev(at);
        at->state.reset();  // several
        at->reason.reset();
      }
      add(at->groups.front(), *node);
      ++at->nodes;
    }
    const bool ordered = !orders.empty();
    std::ranges::move(orders, std::back_inserter(out_));
    bool unheeded = false;
    for (const Reason reason : unheeded_reasons()) {
      const auto is = [&](const ClusterNode& node) { return node.unheeded == reason; };
      if (!push(where(ClusterTopic::kStates, ClusterFact::kMarkUnheeded, Severity::kWarn, nodes_, is), reason))
        continue;
      unheeded = true;
      out_.back().said = (*std::ranges::find_if(nodes_, [&](const auto* node) { return is(*node); }))->unheeded_why;
    }
    if (!ordered && !unheeded && !nodes_.empty()) whole(ClusterTopic::kStates, ClusterFact::kNothingOrdered);
  }

  std::vector<Reason> unheeded_reasons() const {
    std::vector<Reason> out;
    for (const ClusterNode* node : nodes_) {
      if (node->unheeded && std::ranges::find(out, *node->unheeded) == out.end()) out.push_back(*node->unheeded);
    }
    return out;
  }

  void kubelets() {
    Nodes told;
    std::ranges::copy_if(nodes_, std::back_inserter(told), [](const auto* node) { return node->kubelet.has_value(); });
    if (!found_.kubelets_wanted) tell(ClusterTopic::kKubelets, ClusterFact::kKubeletsNotAsked, Severity::kOk);
    if (!found_.kubelets_refused.empty()) {
      ClusterFinding refused{ClusterTopic::kKubelets, ClusterFact::kKubeletsRefuse, Severity::kWarn};
      refused.said = found_.kubelets_refused;
      push(std::move(refused));
    }
    const auto is_silent = [](const ClusterNode& node) { return !node.kubelet && !node.kubelet_silent.empty(); };
    if (push(where(ClusterTopic::kKubelets, ClusterFact::kKubeletsSilent, Severity::kWarn, nodes_, is_silent))) {
      out_.back().said =
          (*std::ranges::find_if(nodes_, [&](const auto* node) { return is_silent(*node); }))->kubelet_silent;
    }
    if (told.empty()) return;
    ClusterFinding tell{ClusterTopic::kKubelets, ClusterFact::kKubeletsTell, Severity::kOk};
    tell.nodes = static_cast<std::int64_t>(told.size());
    tell.of_nodes = static_cast<std::int64_t>(nodes_.size());
    push(std::move(tell));
    configurations(told);
  }

  void configurations(const Nodes& told) {
    push(grouped(ClusterTopic::kGroupDriver, ClusterFact::kAre, Severity::kOk, told, [](const ClusterNode& node) {
      const auto driver = node.kubelet->driver;
      return std::array<std::string_view, 1>{!driver                                   ? ""
                                             : *driver == evict::GroupDriver::kSystemd ? "systemd"
                                                                                       : "cgroupfs"};
    }));
    as_on_nodes(told);
    push(grouped(ClusterTopic::kMemoryManager, ClusterFact::kAre, Severity::kOk, told, [](const ClusterNode& node) {
      return std::array<std::string_view, 1>{node.kubelet->static_memory ? "Static" : "None"};
    }));
    if (!push(where(ClusterTopic::kSwap, ClusterFact::kSwapTaken, Severity::kWarn, told,
                    [](const ClusterNode& node) { return node.kubelet->takes_swap; }))) {
      tell(ClusterTopic::kSwap, ClusterFact::kAsOnNode, Severity::kOk);
      out_.back().of_node = NodeFinding{NodeTopic::kSwap, NodeFact::kSwapOff, Severity::kOk};
    }
  }

  // For each topic one finding per fact, the worst first; the numbers are those of its first node.
  void as_on_nodes(const Nodes& nodes) {
    std::map<std::tuple<ClusterTopic, int, NodeFact>, ClusterFinding> facts;
    for (const ClusterNode* node : nodes) {
      for (NodeFinding& one : kubelet_findings(*node->kubelet, node->ours)) {
        const ClusterTopic topic = of_cluster(one.topic);
        auto& into = facts[{topic, -static_cast<int>(one.severity), one.fact}];
        if (!into.of_node) {
          into.topic = topic;
          into.fact = ClusterFact::kAsOnNode;
          into.severity = one.severity;
          into.groups.emplace_back();
          into.of_node = std::move(one);
        }
        add(into.groups.front(), *node);
        ++into.nodes;
      }
    }
    for (auto& [key, finding] : facts) out_.push_back(std::move(finding));
  }

  const ClusterFound& found_;
  Nodes nodes_, others_;  // with Linux, and the others, on which we run nothing
  std::vector<ClusterFinding> out_;
};

}  // namespace

std::vector<ClusterFinding> cluster_findings(const ClusterFound& found) {
  return Findings(found).all();
}

Severity worst(std::span<const ClusterFinding> findings) {
  Severity out = Severity::kOk;
  for (const ClusterFinding& one : findings) out = std::max(out, one.severity);
  return out;
}

std::vector<std::size_t> kubelets_to_ask(std::span<const ClusterNode> nodes, std::optional<std::size_t> per_group) {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, std::string_view,
                      std::string_view>,
           std::vector<std::size_t>>
      alike;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const ClusterNode& node = nodes[at];
    if (!node.linux || !node.ready) continue;
    alike[{node.kubelet_version, node.kernel, node.os_image, node.runtime, node.architecture, node.pool}].push_back(at);
  }
  std::vector<std::size_t> out;
  for (auto& [key, all] : alike) {
    std::ranges::sort(all, {}, [&](std::size_t at) -> const std::string& { return nodes[at].name; });
    const std::size_t wanted = std::min(per_group.value_or(all.size()), all.size());
    for (std::size_t i = 0; i < wanted; ++i) out.push_back(all[i * all.size() / wanted]);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace tidemark::policy::explain
