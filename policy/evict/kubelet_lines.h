// Keeps our memory and disk lines below the kubelet's thresholds: offline work must never make the kubelet evict,
// because it has its own order and may evict an online pod.
//
//   line of the kubelet   memory in use: 100 − threshold, in whole percent, rounded down
//                         free on a disk: the threshold, in whole percent, rounded up
//   ours is too late      memory in use ≥ the kubelet's; free ≤ the kubelet's
//   replaced by           the kubelet's, with kRoomPercent between, within 1 … 100 and 0 … kDiskFreeMax_percent
//   second memory line    the kubelet's, with the same distance, or ours if that is later: for memory as the kubelet
//                         counts it, which includes recently read files. Ours counts these as available. The kubelet
//                         also compares its hard threshold, and no soft one, with what is left of the limit of all
//                         pods: the same two lines are drawn for that, by the hard threshold alone (gap.h)
//
//   the kubelet is next   memory, as it counts it: available < threshold + room, in bytes, because 100 MiB are far less
//                         than a percent of a large node;
//                         room = min(kNextPercent of the capacity, max(threshold, kNextRoom_bytes))
//                         a disk, by its own threshold: free, in whole percent, < threshold + kNextPercent, or
//                         < our line if that is less. Then tasks that are known to help are evicted beyond the hour's
//                         grant (evict.h)
//
// A threshold is the larger of evictionHard and evictionSoft, except for the limit of all pods.
//
// Both disks have one line of ours, so the kubelet's larger threshold counts; that of imagefs applies to the kubelet's
// own disk if both are one. An unset line stays unset: this function does not decide whether to evict at all. A lower
// bound that is no longer lower becomes the default.
#pragma once

#include <cstdint>
#include <vector>

#include "model/disk.h"
#include "model/resources.h"
#include "policy/evict/kubelet_found.h"
#include "policy/protect/node_rules.h"

namespace tidemark::policy::evict {

// Closer than kRoomPercent: use between both evicts offline work only within the grant.
inline constexpr std::int64_t kNextPercent = 2;
// For memory, the room before a smaller threshold: a few tasks at once can take this much between two passes.
inline constexpr std::int64_t kNextRoom_bytes = std::int64_t{512} << 20;

enum class EvictLine : std::uint8_t { kMemory, kDiskFree, kInodesFree };

// 0: unknown; thresholds in percent need none.
struct LineCapacities {
  model::MemoryBytes memory{};
  model::ByDisk<std::int64_t> bytes{}, inodes{};
  bool one_disk = true;  // the container runtime has no disk of its own
  bool operator==(const LineCapacities&) const = default;
};

struct LineBeforeKubelet {
  EvictLine line = EvictLine::kMemory;
  std::int64_t said = 0, kubelet = 0, holds = 0;  // percent
  bool operator==(const LineBeforeKubelet&) const = default;
};

struct LinesUnderKubelet {
  protect::NodeRules rules;
  std::vector<LineBeforeKubelet> moved;  // in the order of EvictLine
};

// Total. A value stays unchanged if the kubelet has no threshold, or if the capacity is unknown.
LinesUnderKubelet under_kubelet(protect::NodeRules rules, const KubeletFound& kubelet,
                                const LineCapacities& capacities);

}  // namespace tidemark::policy::evict
