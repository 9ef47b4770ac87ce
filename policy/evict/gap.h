// Computes which values of a node are above their line, and how much must be freed (contract 7.4).
//
//   BECPUEvict            used / limit of all offline work ≥ cpuEvictBEUsageThresholdPercent (90), and
//                         limit / request ≤ lower %        in the window and now
//                         frees: request × (upper % − limit/request), the smaller of window and now
//                         On a node that two schedulers oversold: at most the oversold amount, with the reason
//                         TM-ARBITRATE-003, because work that fits keeps what it was sold
//   CPUEvict              the window's use of the node ≥ cpuEvictThresholdPercent
//                         frees: capacity × (use % − lower %),  lower = the line − 2 by default
//   CPUAllocatableEvict   requested / allocatable of a class > cpuAllocatableEvictThresholdPercent, of pods whose
//   MemoryAllocatableEvict   priority ≤ allocatableEvictPriorityThreshold and that are not terminal
//                         frees: requested − allocatable × lower %; all that is requested if allocatable is 0
//   BEMemoryEvict, MemoryEvict   used memory of the node % (whole, now) ≥ memoryEvictThresholdPercent
//                         frees: capacity × (use % − lower %),  lower = the line − 2 by default
//                         (ours) else use % as the kubelet counts ≥ the line before the kubelet's
//                         frees: at most 1 % of the memory a step, because the share of a task in it is unknown
//                         (ours) and the same for capacity − what is left of the common limit of all pods, by which
//                         the kubelet evicts as well, whatever the node has
//   MemoryPressure (ours) all work stalled for memory for more than the setting
//                         frees: 1 % of the memory a step
//   Disk (ours)           the free bytes or inodes of a disk are below the setting (whole percent)
//                         frees: capacity × (the line + 2 %) − free
//   Reclaim (ours)        pods of a class request more batch CPU or memory than the manager lets them keep, by more
//                         than the hundredth by which `keep` may be off before it is published again
//                         frees: requested − keep, with the manager's reason
//
// All but the last apply if resourceUsedThresholdWithBE is enabled. Reclaim is an order of the manager and stays in
// force until a newer NodeSLO is received. A lower bound is at least 0, and a seen percentage at most kSeenPercentMax.
// A feature with inconsistent settings is skipped and reported (TM-EVICT-014), as in Koordinator. A value that is not
// measured evicts nothing.
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
#include "model/disk.h"
#include "model/qos.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/settings/evict_settings.h"
#include "policy/evict/task_seen.h"
#include "policy/protect/node_rules.h"

namespace tidemark::policy::evict {

// In the order in which Koordinator checks them.
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
// As `koordinator.sh/eviction-policy` and Koordinator's feature gates name it: "BECPUEvict". Ours:
// "MemoryPressureEvict", "DiskEvict", "ReclaimEvict".
std::string_view to_string(EvictFeature feature);
std::optional<EvictFeature> parse_evict_feature(std::string_view text);

inline constexpr std::int64_t kAllocatableEvictPriorityMax = 7999;  // of mid: prod is never evicted
inline constexpr std::int64_t kSeenPercentMax = 1'000'000;  // also the percentage of any amount if the total is 0
inline constexpr base::Duration kCpuWindowMax = std::chrono::hours(24);

// The unit in which a victim counts towards a gap.
enum class Measure : std::uint8_t { kCpuUsed, kCpuRequested, kMemoryUsed, kMemoryRequested, kDiskHeld, kInodesHeld };

struct Gap {
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictMemoryLine;
  Measure measure = Measure::kMemoryUsed;
  std::int64_t amount = 0;  // milli-cores, bytes or inodes to free; > 0
  // Allocatable features: the oversold class, kProd for native resources. Evicting work of another class would not
  // help.
  model::PriorityClass oversold = model::PriorityClass::kNone;
  model::Disk disk = model::Disk::kKubelet;  // of kDisk: which one
  // kReclaim: the class of work, "" without a class, and what it may continue to request.
  std::string work_class{};
  std::int64_t keep = 0;
  // For display, in percent: the seen value and the line. kBeCpu: limit/request and its lower bound; kDisk: free;
  // kReclaim: nothing.
  std::int64_t seen_percent = 0;
  std::int64_t line_percent = 0;
  std::int64_t goal_percent = 0;  // the target; for kDisk an upward one
  bool as_kubelet = false;        // memory: seen as the kubelet counts it, against the line before its own
  bool of_pods = false;           // with as_kubelet: what is left of the common limit of all pods
  bool kubelet_next = false;      // as the kubelet counts, it is about to evict, in its own order
  bool operator==(const Gap&) const = default;
};

// All offline work together, at one time (contract 7.4, BECPUEvict).
struct OfflineCpu {
  model::CpuMilli used;
  model::CpuMilli request;  // batch CPU of tasks whose labels say QoS BE
  // The most that it can use: with the policy byAllocatable the node's batch-cpu, else the cpuset and the quota in
  // force. nullopt: unknown, the feature is skipped.
  std::optional<model::CpuMilli> limit;
  bool operator==(const OfflineCpu&) const = default;
};

// Wide, because it has the measured value of each threshold, and all are of one moment.
struct NodeSeen {
  model::Resources capacity;                            // 0: unknown
  std::optional<model::CpuMilli> cpu;                   // used, now
  std::optional<model::CpuMilli> cpu_in_window;         // on average, over the window of CPU features
  std::optional<model::MemoryBytes> memory;             // total − available
  std::optional<model::MemoryBytes> memory_of_kubelet;  // as the kubelet counts it; at least `memory`
  // Of the limit that a kubelet gives all pods together, if it reserves part of the node for the system. nullopt: no
  // such limit, or unknown.
  std::optional<model::MemoryBytes> left_to_pods;
  // The node is marked as oversold (model/oversold.h): how much more batch CPU its work requests than all sides
  // together may sell. nullopt: it is not, or unknown.
  std::optional<model::CpuMilli> oversold;
  // In the window also nullopt if its samples cover less than a third of it.
  std::optional<OfflineCpu> offline, offline_in_window;
  // The node's allocatable: batch, mid, native for prod. nullopt, or no such class: missing or unknown. Then nothing is
  // evicted for it: a resource that is missing for a moment would evict all of its pods.
  struct Offered {
    model::PriorityClass of = model::PriorityClass::kBatch;
    std::optional<model::CpuMilli> cpu;
    std::optional<model::MemoryBytes> memory;
  };
  std::vector<Offered> offered;
  std::optional<std::int64_t> memory_pressure_percent;  // full, of the last ten seconds
  // nullopt: not read lately. Without kRuntime if both are one disk.
  model::ByDisk<std::optional<model::DiskSeen>> disks;
};

// The enabled features: by Koordinator's gates or by our manager.
struct EvictSwitches {
  std::uint32_t on = 0;
  bool has(EvictFeature feature) const { return ((on >> static_cast<unsigned>(feature)) & 1U) != 0; }
  void set(EvictFeature feature) { on |= std::uint32_t{1} << static_cast<unsigned>(feature); }
  bool operator==(const EvictSwitches&) const = default;
};

// The result of each enabled feature: a gap, or why there is none.
struct FeatureVerdict {
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictBelowLine;  // BelowLine, NotMeasured, Unfit, or its first gap's
  std::int64_t seen_percent = 0, line_percent = 0;        // as far as they were calculated
  bool operator==(const FeatureVerdict&) const = default;
};

// At most one per feature, stored in place: this list is built every second.
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
  // In the order of EvictFeature. Memory use: first the gap of the pods' limit, then the node's. An allocatable
  // feature: one per oversold class. kDisk: one per disk and shortage. kReclaim: one per class, in the manager's order,
  // and excess resource.
  std::vector<Gap> gaps;
  PerFeature<FeatureVerdict> verdicts;
};

// Our features are checked if the settings have a line for them or the manager gives an order; the others have their
// line in the rules.
bool is_asked_for(EvictFeature feature, const protect::NodeRules& rules);

// Total. Reports only enabled features.
Gaps gaps_of(const NodeSeen& node, std::span<const TaskSeen> tasks, const protect::NodeRules& rules,
             EvictSwitches switches);

// Not terminal, and with a cgroup. A pending pod may have none yet; a running task without one has ended, and its
// provider does not know yet.
bool is_here(const model::Task& task);

// What a task requested of the node's resources of a class: kBatch, kMid, kProd for native resources. 0 for another
// class. Only pods count: tasks of a copilot use what another scheduler was offered.
std::int64_t requested_of_class(const model::Task& task, model::PriorityClass of, Measure measure);

// What a pod of that class of work requested of batch CPU or memory, as the manager's ledger counts it. 0 for another
// class and for tasks of a copilot, which are reclaimed on their own side.
std::int64_t requested_of_work(const model::Task& task, std::string_view work_class, Measure measure);

// The window of the CPU features: max(a second, cpuEvictTimeWindowSeconds), at most kCpuWindowMax.
base::Duration cpu_window(const protect::ThresholdRules& rules);

}  // namespace tidemark::policy::evict
