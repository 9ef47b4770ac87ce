// What stands in the way of offline work on a node, or will, and what its agent does there: for `tidemark doctor node`.
//
// What was found comes in, what it means goes out; policy/render/doctor_text.h has the words and the remedies.
//
//   line of the kubelet  =  capacity − threshold                 the larger of evictionHard and evictionSoft
//   line of ours         =  capacity × percent / 100
//   bad where ours ≥ the kubelet's: it evicts first, by its own order; a warning where less than kRoomPercent of
//   capacity lies between them, or where there is none of ours. Shares are compared also where nobody says how much
//   there is
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/node_strategy.h"
#include "policy/doctor/eviction_threshold.h"
#include "policy/doctor/our_side.h"
#include "policy/knobs/knobs.h"

namespace tidemark::policy {

// Use moves by so much within the seconds between two looks.
inline constexpr std::int64_t kRoomPercent = 5;

enum class GroupLayout : std::uint8_t { kNone, kV1, kHybrid, kV2 };
enum class GroupDriver : std::uint8_t { kCgroupfs, kSystemd };

// What a trial on a group of our own showed.
struct KnobFound {
  Knob knob = Knob::kCpuShares;
  bool exists = false;
  bool accepted = false;
  bool effective = false;
  std::string why;  // as the kernel said it; of an effective one: why the trial decided nothing
  bool operator==(const KnobFound&) const = default;
};

// In a word. kAccepted: effective as far as anybody looks, which is that the kernel takes it.
enum class KnobVerdict : std::uint8_t { kMissing, kRefused, kNoEffect, kNotDecided, kAccepted, kEffective };
KnobVerdict verdict_of(const KnobFound&);

// Of what a kubelet watches; nullopt: it evicts nobody for it.
struct EvictionThresholds {
  std::optional<EvictionThreshold> memory_available, nodefs_available, nodefs_inodes, imagefs_available, imagefs_inodes;
  bool operator==(const EvictionThresholds&) const = default;
};

// What the kubelet's configz says.
struct KubeletFound {
  std::optional<GroupDriver> driver;
  bool static_cpus = false;  // cpuManagerPolicy static
  EvictionThresholds hard, soft;
  bool static_memory = false;  // memoryManagerPolicy Static
  bool takes_swap = false;     // failSwapOn false: it starts where swap is on
  bool operator==(const KubeletFound&) const = default;
};

// One of what the agent decides, as it says itself.
struct StrategyFound {
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string stance;      // policy::to_string(Permit)
  std::string reason;      // an id
  std::int64_t files = 0;  // in force
  std::string says;        // what it decided last; "" where nothing was
  bool operator==(const StrategyFound&) const = default;
};

// Of processes that are to have a place before a kernel that is out of memory, those that could not be given it.
struct OomFound {
  std::int64_t refused = 0;  // the kernel said no
  std::int64_t foreign = 0;  // of another pid namespace: nobody can reach them by number
  bool may_lower = true;     // the agent has CAP_SYS_RESOURCE
  std::string trouble;       // why nothing, or not all, could be looked at or written; "" where there is none
  bool operator==(const OomFound&) const = default;
};

// Something that an agent may see of the machine and of groups, as the agent names it.
struct MeasureFound {
  std::string what;
  bool there = false;
  bool read = true;  // false: also where it is there nobody reads it
  std::string why;   // where it is, or why it is not
  bool operator==(const MeasureFound&) const = default;
};

// What the agent that runs here says of its work: what the node's condition tells as well.
struct AgentFound {
  std::vector<StrategyFound> strategies;
  bool waits = false;                   // for those that it needs answers of: nothing is decided
  std::string trouble;                  // why nothing can be written; "" where something can
  std::string ordered_by, ordered_why;  // "" where nobody ordered anything
  std::int64_t refused = 0, left = 0;   // files: by the kernel, to another writer
  std::int64_t unmet = 0;               // wishes that no file of this kernel meets
  OomFound oom;
  std::string copilots{};              // what they say of limits of their own; "" where none has any
  std::string online_in_besteffort{};  // pods without requests that are not offline; "" where there are none
  bool operator==(const AgentFound&) const = default;
};

// Of memory.low, which protects a group no further than those above it are, up to the one whose limit is reached.
struct ProtectionFound {
  bool handed_down = false;  // a pod's is its containers', where they ask for none: how cgroup2 is mounted
  std::string group;         // directly above offline pods; "" where there is none
  std::optional<std::int64_t> limit_bytes;  // of that group: from there on the kernel takes memory of what is below it
  bool operator==(const ProtectionFound&) const = default;
};

struct NodeFound {
  GroupLayout layout = GroupLayout::kNone;
  std::optional<GroupDriver> driver;  // by the groups of pods that are there
  std::vector<KnobFound> knobs;
  std::string not_tried;  // why no knob could be tried; empty: they were
  std::optional<KubeletFound> kubelet;
  std::string kubelet_silent;  // why there is none
  OurSide ours;
  ProtectionFound protection;
  std::int64_t swap_bytes = 0;
  bool node_pressure = false, group_pressure = false;
  std::optional<bool> koordlet = false;  // Koordinator's agent runs here; nullopt: nobody could see
  bool latched = false;                  // switched off on the machine itself
  bool holds = false;                    // the agent ended unexpectedly several times
  std::optional<AgentFound> agent;       // nullopt: none runs here, or it says nothing
  // Raised lines of the NodeSLO that have ended by the clock, and that it still has as they were; "" where there are
  // none.
  std::string lines_ended;
  bool lines_forgotten = false;  // a manager would long have written so
  std::string no_kills;          // why no group of processes can be killed here; "": it can
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

  kDriverIs,       // the kubelet says the same, or nothing
  kDriverNotSeen,  // no pod has a group yet
  kDriverDiffers,

  kPriorityByKnob,
  kPriorityByWeight,
  kNoPriority,

  kKnobsWork,
  kKnobMissing,
  kKnobRefused,
  kKnobWithoutEffect,
  kKnobNotDecided,  // accepted; the trial came to no end
  kNothingTried,

  kKubeletAnswers,
  kKubeletSilent,

  kLineUnder,
  kLineNear,
  kLineOver,
  kLineUnknown,  // how much there is of it is not known
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
  kWishesUnmet,

  kOnlineHasRequests,
  kOnlineWithoutRequests,  // held by whatever holds all of offline work

  kProtectionNotAsked,
  kProtectionHolds,
  kProtectionNoKernel,       // memory.low is missing, refused or without effect
  kProtectionNotHandedDown,  // a pod's group has it, and its containers' groups have none of it
  kProtectionNoLimit,        // nothing makes the kernel choose between pods

  kLinesAsSaid,
  kLinesEnded,  // they hold lower than the NodeSLO says

  kOomOrdered,
  kOomOnlyShown,  // not enforced
  kOomNotLowered,
  kOomForeign,
  kOomTrouble,

  kGroupsKilled,
  kGroupsNotKilled,  // an eviction ends only what ends when it is asked

  kMeasures,
};
inline constexpr NodeFact kLastNodeFact = NodeFact::kMeasures;

// Of what nobody says how much there is, lines are shares, in thousandths of a percent.
inline constexpr std::int64_t kAllInShares = 100'000;

struct LinePair {
  std::int64_t ours = 0, kubelet = 0, capacity = 0;  // in use: bytes, inodes, shares
  bool soft = false;                                 // the kubelet's is of evictionSoft
  bool shares = false;
  bool of_pods = false;  // the kubelet's is of what all pods have left of their limit together
  bool operator==(const LinePair&) const = default;
};

struct NodeFinding {
  NodeTopic topic = NodeTopic::kGroups;
  NodeFact fact = NodeFact::kNoGroups;
  Severity severity = Severity::kOk;
  // The knob that it is about, or the rung in force and then the better ones, best first, which are not. Of kKnobsWork
  // all that are effective or accepted.
  std::vector<KnobFound> knobs{};
  std::optional<LinePair> line{};
  std::int64_t bytes = 0;               // of swap
  std::optional<GroupDriver> driver{};  // of the groups
  std::string said{};  // why nothing was tried, or can be written, why the kubelet is silent; which lines ended
  std::optional<AgentFound> agent{};  // of what is in force, of files, pods and processes
  std::vector<MeasureFound> measures{};
  std::optional<ProtectionFound> protection{};
  bool operator==(const NodeFinding&) const = default;
};

// What a kubelet's configuration means beside ours: one of each line, and of how it gives processors away.
std::vector<NodeFinding> kubelet_findings(const KubeletFound& kubelet, const OurSide& ours);

// Total. One for each topic at least, in its order, but for lines and processors where no kubelet answers.
std::vector<NodeFinding> node_findings(const NodeFound& found);

// kOk of none.
Severity worst(std::span<const NodeFinding> findings);

}  // namespace tidemark::policy
