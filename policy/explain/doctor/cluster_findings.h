// Problems for offline work in a whole cluster: for `tidemark doctor cluster`.
//
// Takes what was read of each node and returns findings: one per fact, with the number of its nodes and the names of
// the first ones. policy/explain/cluster_doctor_text.h has the texts and the remedies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/explain/doctor/node_findings.h"
#include "policy/state/state.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::explain {

inline constexpr std::size_t kNamesShownMax = 3;    // nodes named of one group
inline constexpr std::size_t kGroupsShownMax = 12;  // groups of one finding; the smallest are only counted
inline constexpr std::size_t kOrdersShownMax = 8;   // active orders; nodes of further ones are reported together
// An API server supports kubelets of its own minor version and of the three before.
inline constexpr std::int64_t kKubeletMinorsMax = 3;

// One node as the API server, its kubelet and the settings describe it. Wide, because the findings are independent:
// each reads a few of these facts.
struct ClusterNode {
  std::string name;
  bool linux = true;
  std::string kernel, os_image, architecture, runtime, kubelet_version;  // as the Node reports
  bool ready = true, memory_pressure = false, disk_pressure = false;
  std::vector<std::string> taints;  // "key:Effect"

  std::string agent;      // the reason of its condition TidemarkIsolation; "": no agent ever set it
  bool koordlet = false;  // Koordinator's agent runs here
  // kMetricMissing, kMetricWithoutTime, kMetricStale; nullopt: its NodeMetric is fresh enough to sell, if ages are
  // known.
  std::optional<model::Reason> silent{};
  bool sells = false;  // allocatable has batch resources

  std::string pool;
  std::optional<state::EffectiveState> state{};  // the state in force; nullopt: no order
  std::optional<model::Reason> unheeded{};       // its mark cannot be read, or it is left to another writer
  std::string unheeded_why;

  // Of the kubelets that were asked. If neither is set, this one was not.
  std::optional<evict::KubeletFound> kubelet{};
  std::string kubelet_silent;
  OurSide ours{};  // the API server does not know the size and the inodes of the image disk
};

struct ClusterFound {
  std::vector<ClusterNode> nodes;
  // nullopt: pods could not be listed, so other components are unknown.
  std::optional<std::vector<std::string>> koord_managers = std::vector<std::string>();  // "NAMESPACE/NAME" of pods
  std::string pods_unread;                                                              // the reason
  bool ages_known = true;  // of reports; false: the settings cannot be used, so the limit is unknown
  const waterline::TidemarkConfig* pools = nullptr;  // null: the settings cannot be used
  std::vector<waterline::PoolOverlap> overlaps;
  std::vector<std::string> settings_notes;  // notes for the reader of the settings, or why they cannot be used
  std::string kubelets_refused;             // why no further kubelet was asked; "" if none refused
  bool kubelets_wanted = true;
};

enum class ClusterTopic : std::uint8_t {
  kKernel,
  kOs,
  kArchitecture,
  kRuntime,
  kKubeletVersion,
  kConditions,
  kTaints,
  kAgents,
  kReports,
  kOffers,
  kPeer,
  kSettings,
  kPools,
  kStates,
  kKubelets,
  kGroupDriver,
  kMemoryLine,
  kDiskLine,
  kDiskInodesLine,
  kRuntimeDiskLine,
  kRuntimeInodesLine,
  kCpuManager,
  kMemoryManager,
  kSwap,
};
inline constexpr std::size_t kClusterTopics = 24;

enum class ClusterFact : std::uint8_t {
  kNoNodes,
  kAre,  // the versions, images, drivers … in use, in groups
  kKernelWithoutPriority,
  kKernelWithoutPressure,
  kNotLinux,
  kNotShipped,  // an architecture without an agent image
  kKubeletsApart,

  kAllReady,
  kNotReady,
  kMemoryPressure,
  kDiskPressure,
  kNoTaints,
  kTaints,

  kAgentsSay,
  kNoAgents,  // no node has one
  kNoAgent,
  kAgentUnable,
  kAgentHolds,
  kAgentSwitchedOff,
  kReportsCome,
  kReportMissing,
  kReportNever,
  kReportOld,
  kReportsAgeUnknown,
  kReportsUnlooked,  // it is unknown whether an agent exists
  kNothingOffered,
  kOffersGuarded,
  kOffersUnguarded,
  kOffersAgeUnknown,
  kOffersGuardUnknown,
  kOffersUnseen,  // an agent exists and is silent

  kNoPeer,
  kPeerUnknown,
  kPeerAgents,
  kPeerManagers,

  kSettingsRead,
  kSettingsNoted,
  kSettingsUnusable,
  kPoolEmpty,
  kPoolsOverlap,
  kInNoPool,
  kNothingOrdered,
  kOrdered,
  kMarkUnheeded,

  kKubeletsTell,
  kKubeletsRefuse,
  kKubeletsSilent,
  kKubeletsNotAsked,
  kAsOnNode,  // see `of_node`
  kSwapTaken,
};

struct NodeGroup {
  std::string value;  // "5.10.0-33"; "" if the node does not report it
  std::int64_t nodes = 0;
  std::vector<std::string> names;  // the first by name
  bool operator==(const NodeGroup&) const = default;
};

struct ClusterFinding {
  ClusterTopic topic = ClusterTopic::kKernel;
  ClusterFact fact = ClusterFact::kAre;
  Severity severity = Severity::kOk;
  std::int64_t nodes = 0;
  // The largest first. One group without a value if the fact is enough.
  std::vector<NodeGroup> groups{};
  std::int64_t groups_left_off = 0;  // groups that are not shown
  std::string said{};                // a pool, why a kubelet is silent …
  std::string also{};                // the second pool of kPoolsOverlap
  std::int64_t of_nodes = 0;         // for kKubeletsTell: the number of kubelets that could be asked
  std::optional<state::EffectiveState> state{};
  std::optional<NodeFinding> of_node{};  // as on the first of the nodes
  std::optional<model::Reason> reason{};
};

// Total. In the order of the topics.
std::vector<ClusterFinding> cluster_findings(const ClusterFound& found);

Severity worst(std::span<const ClusterFinding> findings);

// Which kubelets to ask, as indices, ascending: `per_group` of each group of similar nodes (versions, image, runtime,
// architecture, pool), spread evenly over their names; nullopt: all. Skips nodes that are not ready.
std::vector<std::size_t> kubelets_to_ask(std::span<const ClusterNode> nodes, std::optional<std::size_t> per_group);

}  // namespace tidemark::policy::explain
