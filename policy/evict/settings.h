// What our own settings say of evictions on a node, beside the lines of resourceUsedThresholdWithBE (contract 4.4).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "policy/evict/disk.h"

namespace tidemark::policy {

struct EvictSettings {
  // Between asking a task to end and killing its group. A pod's own grace period is waited for where it is longer.
  base::Duration grace = std::chrono::seconds(30);
  // Of the last ten seconds, all work on the node stood still for want of memory for more than this. nullopt: not
  // looked at.
  std::optional<std::int64_t> memory_pressure_percent;
  // Of a disk less than this is free: of its bytes, of its inodes. nullopt: not looked at.
  std::optional<std::int64_t> disk_free_percent, inodes_free_percent;
  // Nobody says it: where less of that disk is free, the kubelet is about to evict (policy/evict/kubelet_lines.h).
  // nullopt: it evicts nobody for it, or does not tell.
  ByDisk<std::optional<std::int64_t>> disk_kubelet_next_percent{}, inodes_kubelet_next_percent{};
  bool operator==(const EvictSettings&) const = default;
};

inline constexpr std::int64_t kPressureMax_percent = 100;
// A line above it would empty disks that nobody fills.
inline constexpr std::int64_t kDiskFreeMax_percent = 90;
inline constexpr base::Duration kEvictGraceMin = std::chrono::seconds(1);
inline constexpr base::Duration kEvictGraceMax = std::chrono::minutes(30);

}  // namespace tidemark::policy
