// What is above its line on a node, and how much has to go so that it is not (contract 7.4).
//
//   BECPUEvict            used / limit of all offline work ≥ cpuEvictBEUsageThresholdPercent (90), and
//                         limit / request ≤ lower %        in the window and now
//                         goes: request × (upper % − limit/request), the smaller of window and now
//                         On a node of which two schedulers sold too much that is what was sold too much at most, and
//                         the reason is that (TM-ARBITRATE-003): work that fits keeps what it was sold
//   CPUEvict              the window's use of the node ≥ cpuEvictThresholdPercent
//                         goes: capacity × (use % − lower %),  lower = the line − 2 where nobody says
//   CPUAllocatableEvict   requested / allocatable of a class > cpuAllocatableEvictThresholdPercent, of pods whose
//   MemoryAllocatableEvict   priority ≤ allocatableEvictPriorityThreshold and that are not over
//                         goes: requested − allocatable × lower %; all that is requested where nothing is allocatable
//   BEMemoryEvict, MemoryEvict   used memory of the node % (whole, now) ≥ memoryEvictThresholdPercent
//                         goes: capacity × (use % − lower %),  lower = the line − 2 where nobody says
//                         (ours) else what the kubelet counts as used % ≥ the line before the kubelet's
//                         goes: 1 % of the memory a step at most: what of it a task has nobody knows
//                         (ours) and the same of capacity − what is left of the limit that all pods have together,
//                         by which the kubelet evicts as well, whatever the node has
//   MemoryPressure (ours) all work stood still for want of memory for more than the settings say
//                         goes: 1 % of the memory a step
//   Disk (ours)           of a disk's bytes, or of its inodes, less than the settings say is free (whole percent)
//                         goes: capacity × (the line + 2 %) − free
//   Reclaim (ours)        pods of a class of work request more than the manager lets them keep, of batch CPU or memory,
//                         by more than the hundredth by which `keep` may be off before it is told anew
//                         goes: requested − keep, by the reason that the manager gives
//
// All but the last hold where resourceUsedThresholdWithBE is enabled. That one is an order of the manager, and holds as
// long as it was heard last, as all of a NodeSLO does. A lower bound is at least 0, and what is seen at most
// kSeenPercentMax. A feature whose settings do not fit together is left out and told (TM-EVICT-014), as the peer does.
// What is not measured evicts nothing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "model/qos.h"
#include "model/reason.h"
#include "model/resources.h"
#include "policy/evict/disk.h"
#include "policy/evict/settings.h"
#include "policy/evict/task_seen.h"
#include "policy/node_rules/node_rules.h"

namespace tidemark::policy {

// In the order in which the peer looks at them.
enum class EvictFeature : std::uint8_t {
  kBeCpu,
  kBeMemory,
  kCpuAllocatable,
  kMemoryAllocatable,
  kCpu,
  kMemory,
  kMemoryPressure,
  kDisk,
  kReclaim,
};
inline constexpr std::size_t kEvictFeatures = 9;
// As `koordinator.sh/eviction-policy` and the peer's feature gates name it: "BECPUEvict". Ours: "MemoryPressureEvict",
// "DiskEvict", "ReclaimEvict".
std::string_view to_string(EvictFeature feature);
std::optional<EvictFeature> parse_evict_feature(std::string_view text);

inline constexpr std::int64_t kAllocatableEvictPriorityMax = 7999;  // of mid: prod is not to go
inline constexpr std::int64_t kSeenPercentMax = 1'000'000;          // also what any amount is of nothing
inline constexpr base::Duration kCpuWindowMax = std::chrono::hours(24);

// In what a victim counts towards a gap.
enum class Measure : std::uint8_t { kCpuUsed, kCpuRequested, kMemoryUsed, kMemoryRequested, kDiskHeld, kInodesHeld };

struct Gap {
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictMemoryLine;
  Measure measure = Measure::kMemoryUsed;
  std::int64_t amount = 0;  // milli-cores, bytes or inodes that have to go; > 0
  // Of an allocatable feature: the class that is oversold, kProd for native resources. Work of another one would go for
  // nothing.
  model::PriorityClass oversold = model::PriorityClass::kNone;
  Disk disk = Disk::kKubelet;  // of kDisk: which one
  // Of kReclaim: of which work, "" without a class, and what of that it may go on requesting.
  std::string work_class{};
  std::int64_t keep = 0;
  // What was seen and where the line lies, in percent, for whoever asks why. Of kBeCpu limit/request and its lower, of
  // kDisk what is free, of kReclaim nothing.
  std::int64_t seen_percent = 0;
  std::int64_t line_percent = 0;
  std::int64_t goal_percent = 0;  // what is gone down to; of kDisk up to
  bool as_kubelet = false;        // of memory: seen as the kubelet counts it, against the line before its own
  bool of_pods = false;           // with as_kubelet: by what is left of the limit that all pods have together
  bool kubelet_next = false;      // as the kubelet counts it, it is about to evict, by an order of its own
  bool operator==(const Gap&) const = default;
};

// Of the offline work all together, at one time (contract 7.4, BECPUEvict).
struct OfflineCpu {
  model::CpuMilli used;
  model::CpuMilli request;  // of batch CPU, of tasks that are QoS BE by their own word
  // What it could use at most: by the policy byAllocatable the node's batch-cpu, else the processors and the quota that
  // are in force. nullopt: not known, the feature is passed over.
  std::optional<model::CpuMilli> limit;
  bool operator==(const OfflineCpu&) const = default;
};

struct NodeSeen {
  model::Resources capacity;                            // nothing: not known
  std::optional<model::CpuMilli> cpu;                   // used, now
  std::optional<model::CpuMilli> cpu_in_window;         // on average, over the window of CPU features
  std::optional<model::MemoryBytes> memory;             // total − available
  std::optional<model::MemoryBytes> memory_of_kubelet;  // as the kubelet counts it; at least `memory`
  // Of the limit that a kubelet gives all pods together, where it keeps something of the node back for the system.
  // nullopt: there is none, or nobody knows.
  std::optional<model::MemoryBytes> left_to_pods;
  // The node is marked as oversold (model/oversold.h): how much more batch CPU its work requests than all sides
  // together may sell. nullopt: it is not, or nobody knows.
  std::optional<model::CpuMilli> oversold;
  // In the window nullopt as well where its samples cover less than a third of it.
  std::optional<OfflineCpu> offline, offline_in_window;
  // The node's allocatable: of batch, of mid, the native ones for prod. nullopt, or no such class: it names none, or
  // nobody knows. Nothing goes for it then: a resource that is lost for a moment would take all of its pods along.
  struct Offered {
    model::PriorityClass of = model::PriorityClass::kBatch;
    std::optional<model::CpuMilli> cpu;
    std::optional<model::MemoryBytes> memory;
  };
  std::vector<Offered> offered;
  std::optional<std::int64_t> memory_pressure_percent;  // full, of the last ten seconds
  // nullopt: nobody could look at it lately. No kRuntime where it is the kubelet's.
  ByDisk<std::optional<DiskSeen>> disks;
};

// Which features are switched on: the peer's gates, or our manager's word.
struct EvictSwitches {
  std::uint32_t on = 0;
  bool has(EvictFeature feature) const { return ((on >> static_cast<unsigned>(feature)) & 1U) != 0; }
  void set(EvictFeature feature) { on |= std::uint32_t{1} << static_cast<unsigned>(feature); }
  bool operator==(const EvictSwitches&) const = default;
};

// What came of each feature that is switched on: a gap, or why there is none.
struct FeatureVerdict {
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictBelowLine;  // BelowLine, NotMeasured, Unfit, or its first gap's
  std::int64_t seen_percent = 0, line_percent = 0;        // as far as they were calculated
  bool operator==(const FeatureVerdict&) const = default;
};

// One of each feature at most, kept in place: there are some every second, for as long as an agent runs.
template <class T>
class PerFeature {
 public:
  void push_back(const T& one) {
    TM_CHECK(count_ < kEvictFeatures, "one of each feature at most");
    all_[count_++] = one;
  }
  std::size_t size() const { return count_; }
  const T* begin() const { return all_.data(); }
  const T* end() const { return begin() + count_; }
  const T& operator[](std::size_t at) const { return all_[at]; }
  bool operator==(const PerFeature&) const = default;

 private:
  std::array<T, kEvictFeatures> all_{};
  std::size_t count_ = 0;
};

struct Gaps {
  // In the order of EvictFeature; of memory in use first the one for what all pods have left, then the node's; of an
  // allocatable feature one for each oversold class, of kDisk one for each disk and what is short on it, of kReclaim
  // one for each class, in the manager's order, and what it has too much of.
  std::vector<Gap> gaps;
  PerFeature<FeatureVerdict> verdicts;
};

// Ours are looked at where the settings draw their lines, or the manager gives an order; all others have theirs in the
// rules.
bool is_asked_for(EvictFeature feature, const NodeRules& rules);

// Total. No word of what is not asked for.
Gaps gaps_of(const NodeSeen& node, std::span<const TaskSeen> tasks, const NodeRules& rules, EvictSwitches switches);

// Neither over nor without a group. A pod that is pending may have none yet; what runs without one has ended, and
// whoever lists it does not know yet.
bool is_here(const model::Task& task);

// What a task asked for of what its node offers to a class: kBatch, kMid, kProd for native resources. 0 where it is of
// another class. Only pods take of it: it is what is left beside the work of another scheduler, a copilot's tasks.
std::int64_t requested_of_class(const model::Task& task, model::PriorityClass of, Measure measure);

// What a pod of that class of work asked for of batch CPU or memory, as the manager's books count it. 0 where it is of
// another class, or no pod: a copilot's tasks are asked back on the other side.
std::int64_t requested_of_work(const model::Task& task, std::string_view work_class, Measure measure);

// How far back the CPU features look: max(a second, cpuEvictTimeWindowSeconds), kCpuWindowMax at most.
base::Duration cpu_window(const ThresholdRules& rules);

}  // namespace tidemark::policy
