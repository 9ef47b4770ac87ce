// What of a node, and of the settings that its agent goes by, is held against the configuration of its kubelet. Both
// doctors fill it in: of one machine all is known, of a cluster what the API server has.
#pragma once

#include <cstdint>
#include <optional>

namespace tidemark::policy {

struct NodeRules;

// A resource that runs out, and from which use on we evict.
struct LineFound {
  std::int64_t capacity = 0;            // bytes or inodes; 0: not known
  std::optional<std::int64_t> percent;  // nullopt: we never evict for it
  // Of memory: in use when all pods have used up the limit that they have together, and the rest of the node uses what
  // it does now. nullopt: they have none, or nobody looked.
  std::optional<std::int64_t> full_for_pods{};
};

struct OurSide {
  // Of a kubelet's nodefs and imagefs, which may be one: then both of its thresholds hold for it.
  LineFound memory, disk, disk_inodes, runtime_disk, runtime_inodes;
  bool suppresses_by_cpuset = false;  // cpuSuppressPolicy is cpuset, not cfsQuota
  bool protects_memory = false;       // a class has memoryLowPercent

  // Lines and processors as an agent that began now would have them.
  void go_by(const NodeRules& rules);
};

}  // namespace tidemark::policy
