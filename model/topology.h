// A node's CPU model and NUMA zones: the part of a NodeResourceTopology that decisions read.
//
// A zone is identified by its position in the list: position i is NUMA node i of the machine, regardless of its name.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/quantity.h"
#include "model/resources.h"

namespace tidemark::model {

// Zone amounts are a thousand times finer than a node's, because they are not rounded: a zone's part of the node's use
// is a quotient, and normalization multiplies its batch-cpu.
using CpuMicro = Amount<struct CpuMicroUnit>;        // millionths of a core: thousandths of the unit of batch-cpu
using MemoryMilli = Amount<struct MemoryMilliUnit>;  // thousandths of a byte

// `node.koordinator.sh/cpu-basic-info` of the NodeResourceTopology.
struct CpuBasicInfo {
  std::string model;  // "Intel(R) Xeon(R) Platinum 8369B CPU @ 2.90GHz"
  bool hyper_thread = false;
  bool turbo = false;
  bool operator==(const CpuBasicInfo&) const = default;
};

// One resource of a zone, in each of the three ways that a zone lists it.
template <class Fine>
struct ZoneAmounts {
  Fine capacity;
  Fine allocatable;
  Fine available;
  bool operator==(const ZoneAmounts&) const = default;
};

struct ZoneView {
  std::string name;  // "node-0"
  // nullopt if the zone does not list it.
  std::optional<CpuMilli> cpu;        // allocatable
  std::optional<MemoryMilli> memory;  // allocatable
  // The format of the zone's memory: derived values are written in the same one.
  Quantity::Format memory_format = Quantity::Format::kBinarySI;
  // The zone's current batch resources.
  std::optional<ZoneAmounts<CpuMicro>> batch_cpu{};
  std::optional<ZoneAmounts<MemoryMilli>> batch_memory{};
};

struct TopologyView {
  std::vector<ZoneView> zones;
  std::optional<CpuBasicInfo> cpu;   // nullopt if missing or unreadable
  bool cpu_info_unreadable = false;  // present but unreadable

  // True if a zone can be calculated: it lists cpu or memory.
  bool has_zone_resources() const {
    return std::any_of(zones.begin(), zones.end(), [](const ZoneView& zone) { return zone.cpu || zone.memory; });
  }
};

}  // namespace tidemark::model
