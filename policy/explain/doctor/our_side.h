// The values of a node and of its agent's settings that are compared with the kubelet's configuration. Both doctors
// fill it in: for one machine all is known, for a cluster what the API server has.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/protect/node_rules.h"

namespace tidemark::policy::explain {

// A resource that can run out, and the use from which we evict.
struct LineFound {
  std::int64_t capacity = 0;            // bytes or inodes; 0: unknown
  std::optional<std::int64_t> percent;  // nullopt: we never evict for it
  // Memory only: use if all pods use their common limit and the rest of the node uses what it does now. nullopt: there
  // is no limit, or it was not read.
  std::optional<std::int64_t> full_for_pods{};
};

struct OurSide {
  // The kubelet's nodefs and imagefs may be one disk: then both of its thresholds apply to it.
  LineFound memory, disk, disk_inodes, runtime_disk, runtime_inodes;
  bool suppresses_by_cpuset = false;  // cpuSuppressPolicy is cpuset, not cfsQuota
  bool protects_memory = false;       // a class has memoryLowPercent

  // Sets the lines and CPU settings that an agent starting now would have.
  void go_by(const protect::NodeRules& rules);
};

}  // namespace tidemark::policy::explain
