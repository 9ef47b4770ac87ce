// NUMA nodes (/sys/devices/system/node): which processors belong to each, and its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cpu_set.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct NumaNode {
  int id = 0;
  CpuSet cpus;  // that are on; empty for a node of memory only
};

// Ascending by id. kUnsupported: a kernel without NUMA, which has one unlisted node.
Result<std::vector<NumaNode>> read_numa_nodes(const Folder& nodes, Buffer&);

struct NumaMemory {  // bytes
  std::int64_t total = 0, free = 0, active_file = 0, inactive_file = 0, reclaimable_slab = 0;

  // What could not be given up at once; there is no MemAvailable of a node:
  //   max(total − free − active_file − inactive_file − reclaimable_slab, 0)
  std::int64_t used() const;
};
Result<NumaMemory> parse_numa_memory(std::string_view text);
// nullopt: the node was taken off.
Result<std::optional<NumaMemory>> read_numa_memory(const Folder& nodes, int id, Buffer&);

}  // namespace tidemark::linux
