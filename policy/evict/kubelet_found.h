// What the kubelet of a node is configured to do, as far as offline work depends on it.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/evict/eviction_threshold.h"

namespace tidemark::policy::evict {

// Use changes by this much within the seconds between two passes.
inline constexpr std::int64_t kRoomPercent = 5;

enum class GroupDriver : std::uint8_t { kCgroupfs, kSystemd };

// The thresholds that a kubelet watches; nullopt: it does not evict for it.
struct EvictionThresholds {
  std::optional<EvictionThreshold> memory_available, nodefs_available, nodefs_inodes, imagefs_available, imagefs_inodes;
  bool operator==(const EvictionThresholds&) const = default;
};

// Values of the kubelet's configz.
struct KubeletFound {
  std::optional<GroupDriver> driver;
  bool static_cpus = false;  // cpuManagerPolicy static
  EvictionThresholds hard, soft;
  bool static_memory = false;  // memoryManagerPolicy Static
  bool takes_swap = false;     // failSwapOn false: it starts if swap is on
  bool operator==(const KubeletFound&) const = default;
};

}  // namespace tidemark::policy::evict
