// Our memory and disk lines under the kubelet's own thresholds: what offline work fills must never make the kubelet
// evict, which it does by an order of its own, and an online pod, maybe.
//
//   line of the kubelet   memory in use: 100 − threshold, in whole percent, rounded down
//                         of a disk free: the threshold, in whole percent, rounded up
//   ours is too late      memory in use ≥ the kubelet's; free ≤ the kubelet's
//   then holds instead    the kubelet's, with kRoomPercent between, within 1 … 100 and 0 … kDiskFreeMax_percent
//   of memory beside ours the kubelet's, with as much between, or ours where that is later: of memory as the kubelet
//                         counts it, which has recently read files in it. Ours counts them as available. It holds its
//                         hard threshold, and no soft one, against what is left of the limit of all pods together as
//                         well: by that alone the same two lines are drawn there (gap.h)
//
//   the kubelet is next   of memory, as it counts it: available < threshold + room, in bytes, for 100 MiB are far less
//                         than a percent of a large node;
//                         room = min(kNextPercent of the capacity, max(threshold, kNextRoom_bytes))
//                         of a disk, by its own threshold: free, in whole percent, < threshold + kNextPercent, or
//                         < our line where that is less. Who is known to help goes beyond the hour's grant there
//                         (evict.h)
//
// A threshold is the larger of evictionHard and evictionSoft, but for what is left to all pods.
//
// Both disks have one line of ours, so the kubelet's larger threshold counts; that of imagefs holds for the kubelet's
// own disk where both are one. A line that is not drawn stays so: whether anything is evicted at all is not decided
// here. A lower bound that is not lower any more is the default one.
#pragma once

#include <cstdint>
#include <vector>

#include "model/resources.h"
#include "policy/doctor/node_findings.h"
#include "policy/evict/disk.h"
#include "policy/node_rules/node_rules.h"

namespace tidemark::policy {

// Nearer than kRoomPercent: a use that stays between both has offline work end within its grant alone.
inline constexpr std::int64_t kNextPercent = 2;
// Of memory no further before a threshold that is smaller: a few tasks at once take so much between two looks.
inline constexpr std::int64_t kNextRoom_bytes = std::int64_t{512} << 20;

enum class EvictLine : std::uint8_t { kMemory, kDiskFree, kInodesFree };

// 0: not known; thresholds in percent need none.
struct LineCapacities {
  model::MemoryBytes memory{};
  ByDisk<std::int64_t> bytes{}, inodes{};
  bool one_disk = true;  // the container runtime has none of its own
  bool operator==(const LineCapacities&) const = default;
};

struct LineBeforeKubelet {
  EvictLine line = EvictLine::kMemory;
  std::int64_t said = 0, kubelet = 0, holds = 0;  // percent
  bool operator==(const LineBeforeKubelet&) const = default;
};

struct LinesUnderKubelet {
  NodeRules rules;
  std::vector<LineBeforeKubelet> moved;  // in the order of EvictLine
};

// Total. What is said is used as it is where the kubelet has no threshold, or how much there is is not known.
LinesUnderKubelet under_kubelet(NodeRules rules, const KubeletFound& kubelet, const LineCapacities& capacities);

}  // namespace tidemark::policy
