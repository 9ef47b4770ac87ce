// Where each processor is: on which core, in which socket, at which NUMA node.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cpu_set.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct Processor {
  int cpu = 0;
  int core = 0;  // the lowest processor of its core: the kernel's core_id begins anew in each socket and die
  int socket = 0;
  int node = 0;
  bool operator==(const Processor&) const = default;
};

struct Topology {
  std::vector<Processor> processors;  // that are on; ascending
  // CPUs without this information, as on some virtual machines: own core, socket 0, node 0.
  CpuSet without_core, without_socket, without_node;
};

// `cpus` is /sys/devices/system/cpu, `nodes` /sys/devices/system/node; nullptr: a kernel without NUMA.
Result<Topology> read_topology(const Folder& cpus, const Folder* nodes, Buffer&);

// core_id, die_id, physical_package_id. nullopt: -1, which is how a machine says that it does not know.
Result<std::optional<int>> parse_topology_id(std::string_view text);

}  // namespace tidemark::linux
