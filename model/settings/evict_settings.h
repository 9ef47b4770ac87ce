// Our own settings for evictions on a node, beside the lines of resourceUsedThresholdWithBE (contract 4.4).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/disk.h"

namespace tidemark::model {

inline constexpr std::int64_t kEvictionsPerHourMax = 1024;

struct EvictSettings {
  // From the request until the cgroup is killed. A longer grace period of the pod is respected.
  base::Duration grace = std::chrono::seconds(30);
  // All work on the node stalled for memory for more than this share of the last ten seconds. nullopt: not checked.
  std::optional<std::int64_t> memory_pressure_percent;
  // Less than this share of a disk's bytes or inodes is free. nullopt: not checked.
  std::optional<std::int64_t> disk_free_percent, inodes_free_percent;
  // Not a setting: if less of that disk is free, the kubelet is about to evict (policy/evict/kubelet_lines.h). nullopt:
  // it does not evict for it, or is unknown.
  ByDisk<std::optional<std::int64_t>> disk_kubelet_next_percent{}, inodes_kubelet_next_percent{};
  // If a ResourceManager would end a more timely container, the copilot stops the least timely one, which its
  // application counts as a failure. false: the ResourceManager chooses the container.
  bool yarn_by_class = true;
  // Evictions in an hour without a grant. nullopt: only kEvictionsPerHourMax limits them, as Koordinator's agent has no
  // limit.
  std::optional<std::int64_t> per_hour{};
  bool operator==(const EvictSettings&) const = default;
};

inline constexpr std::int64_t kPressureMax_percent = 100;
// A higher line would empty disks that are not full.
inline constexpr std::int64_t kDiskFreeMax_percent = 90;
inline constexpr base::Duration kEvictGraceMin = std::chrono::seconds(1);
inline constexpr base::Duration kEvictGraceMax = std::chrono::minutes(30);

}  // namespace tidemark::model
