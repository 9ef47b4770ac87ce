// What is known of a node's processor and its NUMA zones: the part of a NodeResourceTopology that decisions read.
//
// A zone is known by its place in the list: place i is NUMA node i of the machine, whatever its name.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/quantity.h"
#include "model/resources.h"

namespace tidemark::model {

// Zone amounts are a thousand times finer than a node's, because nobody rounds them: what a zone gets of the node's use
// is a division, and what normalization makes of its batch-cpu is a product.
using CpuMicro = Amount<struct CpuMicroUnit>;        // millionths of a core: thousandths of the unit of batch-cpu
using MemoryMilli = Amount<struct MemoryMilliUnit>;  // thousandths of a byte

inline CpuMicro cpu_micro_from_extended(const Quantity& batch_cpu) {
  return {batch_cpu.scaled_value_saturated(-3)};
}
inline MemoryMilli memory_milli(const Quantity& memory) {
  return {memory.scaled_value_saturated(-3)};
}

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
  // nullopt where the zone does not list it.
  std::optional<CpuMilli> cpu;        // allocatable
  std::optional<MemoryMilli> memory;  // allocatable
  // How the zone writes its memory: what is made of it is written in the same way.
  Quantity::Format memory_format = Quantity::Format::kBinarySI;
  // What the zone carries of batch resources now.
  std::optional<ZoneAmounts<CpuMicro>> batch_cpu{};
  std::optional<ZoneAmounts<MemoryMilli>> batch_memory{};
};

struct TopologyView {
  std::vector<ZoneView> zones;
  std::optional<CpuBasicInfo> cpu;   // nullopt where it is missing or cannot be read
  bool cpu_info_unreadable = false;  // it is there and cannot be read

  // Whether there is a zone to calculate for: one that lists cpu or memory.
  bool has_zone_resources() const {
    return std::any_of(zones.begin(), zones.end(), [](const ZoneView& zone) { return zone.cpu || zone.memory; });
  }
};

}  // namespace tidemark::model
