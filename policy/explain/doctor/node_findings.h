// Problems for offline work on a node, and the work of its agent: for `tidemark doctor node`.
//
// Takes facts and returns findings; policy/explain/doctor_text.h has the texts and the remedies.
//
//   line of the kubelet  =  capacity − threshold                 the larger of evictionHard and evictionSoft
//   our line             =  capacity × percent / 100
//
// Bad if our line ≥ the kubelet's: the kubelet evicts first, in its own order. A warning if less than kRoomPercent of
// the capacity lies between them, or if we have no line. Shares are compared even if the capacity is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/node_strategy.h"
#include "policy/evict/eviction_threshold.h"
#include "policy/evict/kubelet_found.h"
#include "policy/explain/doctor/our_side.h"
#include "policy/protect/knobs.h"

namespace tidemark::policy::explain {

enum class GroupLayout : std::uint8_t { kNone, kV1, kHybrid, kV2 };

// The result of a trial on a cgroup of our own.
struct KnobFound {
  protect::Knob knob = protect::Knob::kCpuShares;
  bool exists = false;
  bool accepted = false;
  bool effective = false;
  std::string why;  // the kernel's error; for an effective knob: why the trial decided nothing
  bool operator==(const KnobFound&) const = default;
};

// The result as one word. kAccepted: the kernel accepts the value, and no trial shows more.
enum class KnobVerdict : std::uint8_t { kMissing, kRefused, kNoEffect, kNotDecided, kAccepted, kEffective };
KnobVerdict verdict_of(const KnobFound&);

// A strategy of the agent, as the agent reports it.
struct StrategyFound {
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string permit;      // to_string() of the permit
  std::string reason;      // an id
  std::int64_t files = 0;  // knobs in force
  std::string says;        // its last decision; "" if there was none
  bool operator==(const StrategyFound&) const = default;
};

// Processes that need an oom_score_adj and could not get it.
struct OomFound {
  std::int64_t refused = 0;  // the kernel refused the write
  std::int64_t foreign = 0;  // of another pid namespace: their pids are unknown here
  bool may_lower = true;     // the agent has CAP_SYS_RESOURCE
  std::string trouble;       // why nothing, or not everything, could be read or written; "" if all is well
  bool operator==(const OomFound&) const = default;
};

// A measurement of the machine or of cgroups, as the agent names it.
struct MeasureFound {
  std::string what;
  bool there = false;
  bool read = true;  // false: it is not read even if it exists
  std::string why;   // its place, or why it is missing
  bool operator==(const MeasureFound&) const = default;
};

// The report of the agent that runs here; the node's condition carries it too.
struct AgentFound {
  std::vector<StrategyFound> strategies;
  bool waits = false;                   // required providers have not answered: nothing is decided
  std::string trouble;                  // why nothing can be written; "" if something can
  std::string ordered_by, ordered_why;  // "" if there is no order
  std::int64_t refused = 0, left = 0;   // knobs: refused by the kernel, left to another writer
  std::int64_t unmet = 0;               // intents that no knob of this kernel can meet
  OomFound oom;
  std::string copilots{};              // what the copilots report about their own limits; "" if none has any
  std::string online_in_besteffort{};  // pods without requests that are not offline; "" if there are none
  bool operator==(const AgentFound&) const = default;
};

// About memory.low. It protects a cgroup only as far as the cgroups above it, up to the one whose limit is reached.
struct ProtectionFound {
  bool handed_down = false;  // containers inherit a pod's protection if they request none: a mount option of cgroup2
  std::string group;         // directly above offline pods; "" if there is none
  std::optional<std::int64_t> limit_bytes;  // of that cgroup: from this limit on the kernel reclaims memory below it
  bool operator==(const ProtectionFound&) const = default;
};

// What this machine shows. Wide, because the findings are independent: each reads a few of these facts.
struct NodeFound {
  GroupLayout layout = GroupLayout::kNone;
  std::optional<evict::GroupDriver> driver;  // by the existing pod cgroups
  std::vector<KnobFound> knobs;
  std::string not_tried;  // why no knob could be tried; empty if they were
  std::optional<evict::KubeletFound> kubelet;
  std::string kubelet_silent;  // why there is no answer
  OurSide ours;
  ProtectionFound protection;
  std::int64_t swap_bytes = 0;
  bool node_pressure = false, group_pressure = false;
  std::optional<bool> koordlet = false;  // Koordinator's agent runs here; nullopt: unknown
  bool latched = false;                  // switched off by the latch on the machine
  bool holds = false;                    // safe start: the agent crashed several times
  std::optional<AgentFound> agent;       // nullopt: no agent runs here, or it does not answer
  // Raised lines of the NodeSLO that have ended by the clock, but are still in the NodeSLO; "" if there are none.
  std::string lines_ended;
  bool lines_forgotten = false;  // a manager would have updated them long ago
  std::string no_kills;          // why no cgroup can be killed here; "": it can
  std::vector<MeasureFound> measures;
};

enum class Severity : std::uint8_t { kOk, kWarn, kBad };

enum class NodeTopic : std::uint8_t {
  kGroups,
  kGroupDriver,
  kPriority,
  kKnobs,
  kKubelet,
  kMemoryLine,
  kDiskLine,
  kDiskInodesLine,
  kRuntimeDiskLine,
  kRuntimeInodesLine,
  kCpuManager,
  kSwap,
  kPressure,
  kPeer,
  kLatch,
  kHold,
  kInForce,
  kFiles,
  kRequests,
  kMemoryProtection,
  kRaisedLines,
  kOomOrder,
  kKills,
  kMeasures,
};
inline constexpr std::size_t kNodeTopics = 24;

enum class NodeFact : std::uint8_t {
  kNoGroups,
  kGroupsV1,
  kGroupsHybrid,
  kGroupsV2,

  kDriverIs,       // the kubelet reports the same, or nothing
  kDriverNotSeen,  // no pod has a cgroup yet
  kDriverDiffers,

  kPriorityByKnob,
  kPriorityByWeight,
  kNoPriority,

  kKnobsWork,
  kKnobMissing,
  kKnobRefused,
  kKnobWithoutEffect,
  kKnobNotDecided,  // accepted; the trial was inconclusive
  kNothingTried,

  kKubeletAnswers,
  kKubeletSilent,

  kLineUnder,
  kLineNear,
  kLineOver,
  kLineUnknown,  // the capacity is unknown
  kNoLineOfOurs,
  kNoLineOfKubelet,
  kNoLines,

  kCpusShared,
  kCpusStatic,

  kSwapOff,
  kSwapOn,

  kPressureTold,
  kPressureOfNodeOnly,
  kNoPressure,

  kNoPeer,
  kPeerPresent,
  kPeerUnknown,
  kNotLatched,
  kLatched,
  kNotHeld,
  kHolds,

  kNoAgentSays,

  kInForce,
  kInForceWaits,
  kNothingWritable,

  kFilesAsWanted,
  kFilesRefused,
  kFilesLeft,
  kIntentsUnmet,

  kOnlineHasRequests,
  kOnlineWithoutRequests,  // limited together with offline work

  kProtectionNotAsked,
  kProtectionHolds,
  kProtectionNoKernel,       // memory.low is missing, refused or without effect
  kProtectionNotHandedDown,  // the pod's cgroup has it, its containers' cgroups have none
  kProtectionNoLimit,        // no limit makes the kernel choose between pods

  kLinesAsSaid,
  kLinesEnded,  // lower lines hold than the NodeSLO says

  kOomOrdered,
  kOomOnlyShown,  // not enforced
  kOomNotLowered,
  kOomForeign,
  kOomTrouble,

  kGroupsKilled,
  kGroupsNotKilled,  // an eviction ends only processes that obey SIGTERM

  kMeasures,
};
inline constexpr NodeFact kLastNodeFact = NodeFact::kMeasures;

// If the capacity is unknown, lines are shares, in thousandths of a percent.
inline constexpr std::int64_t kAllInShares = 100'000;

struct LinePair {
  std::int64_t ours = 0, kubelet = 0, capacity = 0;  // in use: bytes, inodes or shares
  bool soft = false;                                 // the kubelet's threshold is from evictionSoft
  bool shares = false;
  bool of_pods = false;  // the kubelet's threshold applies to what is left of the limit of all pods
  bool operator==(const LinePair&) const = default;
};

struct NodeFinding {
  NodeTopic topic = NodeTopic::kGroups;
  NodeFact fact = NodeFact::kNoGroups;
  Severity severity = Severity::kOk;
  // The knob of the finding, or the knob in force followed by the better ones that are not, best first. For kKnobsWork
  // all that are effective or accepted.
  std::vector<KnobFound> knobs{};
  std::optional<LinePair> line{};
  std::int64_t bytes = 0;                      // of swap
  std::optional<evict::GroupDriver> driver{};  // of the cgroups
  std::string said{};  // why nothing was tried or can be written, why the kubelet is silent; which lines ended
  std::optional<AgentFound> agent{};  // strategies, knobs, pods and processes
  std::vector<MeasureFound> measures{};
  std::optional<ProtectionFound> protection{};
  bool operator==(const NodeFinding&) const = default;
};

// Compares a kubelet's configuration with ours: one finding per line, and one about the CPU manager.
std::vector<NodeFinding> kubelet_findings(const evict::KubeletFound& kubelet, const OurSide& ours);

// Total. At least one for each topic, in order, except lines and CPUs if no kubelet answers.
std::vector<NodeFinding> node_findings(const NodeFound& found);

// kOk if there are none.
Severity worst(std::span<const NodeFinding> findings);

}  // namespace tidemark::policy::explain
