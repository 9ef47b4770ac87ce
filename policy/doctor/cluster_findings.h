// What stands in the way of offline work on a whole cluster, or will: for `tidemark doctor cluster`.
//
// What was read of each node comes in, findings come out: one for each thing that is so, with how many nodes it is so
// on and the first of them by name. policy/render/cluster_doctor_text.h has the words and the remedies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/doctor/node_findings.h"
#include "policy/pools/pools.h"
#include "policy/state/state.h"

namespace tidemark::policy {

inline constexpr std::size_t kNamesShownMax = 3;    // nodes named of one group
inline constexpr std::size_t kGroupsShownMax = 12;  // groups of one finding; the smallest are only counted
inline constexpr std::size_t kOrdersShownMax = 8;   // orders that stand; nodes of further ones are told together
// An API server takes kubelets of its own minor version and of three before it.
inline constexpr std::int64_t kKubeletMinorsMax = 3;

// One node as the API server has it, and as its kubelet and the settings say.
struct ClusterNode {
  std::string name;
  bool linux = true;
  std::string kernel, os_image, architecture, runtime, kubelet_version;  // as the node says
  bool ready = true, memory_pressure = false, disk_pressure = false;
  std::vector<std::string> taints;  // "key:Effect"

  std::string agent;      // the reason of its condition TidemarkIsolation; "": no agent ever set one
  bool koordlet = false;  // Koordinator's agent runs here
  // kMetricMissing, kMetricWithoutTime, kMetricStale; nullopt: its NodeMetric is young enough to sell by, where ages
  // are known.
  std::optional<model::Reason> silent{};
  bool sells = false;  // allocatable has batch resources

  std::string pool;
  std::optional<EffectiveState> state{};    // what was ordered; nullopt: nothing stands
  std::optional<model::Reason> unheeded{};  // its mark cannot be read, or it is left to another writer
  std::string unheeded_why;

  // Of the kubelets that were asked. Where neither is there it was not.
  std::optional<KubeletFound> kubelet{};
  std::string kubelet_silent;
  OurSide ours{};  // how large its image disk is, and how many inodes there are, the API server does not know
};

struct ClusterFound {
  std::vector<ClusterNode> nodes;
  // nullopt: pods could not be listed, so nobody saw who else runs.
  std::optional<std::vector<std::string>> koord_managers = std::vector<std::string>();  // "NAMESPACE/NAME" of pods
  std::string pods_unread;                                                              // why
  bool ages_known = true;  // of reports; false: nothing says what is old, since the settings cannot be used
  const TidemarkConfig* pools = nullptr;  // null: the settings cannot be used
  std::vector<PoolOverlap> overlaps;
  std::vector<std::string> settings_notes;  // what a reader of the settings should know, or why they cannot be used
  std::string kubelets_refused;             // why none was asked further; "" where nobody was refused
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
  kAre,  // the versions, images, drivers … that there are, in groups
  kKernelWithoutPriority,
  kKernelWithoutPressure,
  kNotLinux,
  kNotShipped,  // an architecture that there is no agent for
  kKubeletsApart,

  kAllReady,
  kNotReady,
  kMemoryPressure,
  kDiskPressure,
  kNoTaints,
  kTaints,

  kAgentsSay,
  kNoAgents,  // anywhere
  kNoAgent,
  kAgentUnable,
  kAgentHolds,
  kAgentSwitchedOff,
  kReportsCome,
  kReportMissing,
  kReportNever,
  kReportOld,
  kReportsAgeUnknown,
  kReportsUnlooked,  // whether an agent is there is not known
  kNothingOffered,
  kOffersGuarded,
  kOffersUnguarded,
  kOffersAgeUnknown,
  kOffersGuardUnknown,
  kOffersUnseen,  // an agent is there and is silent

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
  kAsOnNode,  // `of_node` says it
  kSwapTaken,
};

struct NodeGroup {
  std::string value;  // "5.10.0-33"; "" where the node does not say
  std::int64_t nodes = 0;
  std::vector<std::string> names;  // the first by name
  bool operator==(const NodeGroup&) const = default;
};

struct ClusterFinding {
  ClusterTopic topic = ClusterTopic::kKernel;
  ClusterFact fact = ClusterFact::kAre;
  Severity severity = Severity::kOk;
  std::int64_t nodes = 0;
  // The largest first. One without a value where the fact says it all.
  std::vector<NodeGroup> groups{};
  std::int64_t groups_left_off = 0;  // more than are shown
  std::string said{};                // a pool, why a kubelet is silent …
  std::string also{};                // of kPoolsOverlap, the second pool
  std::int64_t of_nodes = 0;         // of kKubeletsTell: that could be asked
  std::optional<EffectiveState> state{};
  std::optional<NodeFinding> of_node{};  // as on the first of the nodes
  std::optional<model::Reason> reason{};
};

// Total. In the order of the topics.
std::vector<ClusterFinding> cluster_findings(const ClusterFound& found);

Severity worst(std::span<const ClusterFinding> findings);

// Which kubelets to ask, as indices, ascending: `per_group` of each group of like nodes (versions, image, runtime,
// architecture, pool), spread evenly over their names; nullopt: all. Who is not ready is not asked.
std::vector<std::size_t> kubelets_to_ask(std::span<const ClusterNode> nodes, std::optional<std::size_t> per_group);

}  // namespace tidemark::policy
