// What an agent can measure on this machine, checked once at the start: for `doctor`, for metrics, and to explain
// missing values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/feature_gates.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"

namespace tidemark::agent {

enum class Facility : std::uint8_t {
  kCpuUse,
  kThrottling,
  kMemory,
  kMemoryEvents,
  kGroupIo,
  kGroupPressure,
  kNodePressure,
  kRunQueue,
  kNuma,
  kCpi,
  kKernelLog,
  kHotPageCache,
};
inline constexpr std::size_t kFacilities = 12;
std::string_view to_string(Facility);

struct FacilityReport {
  Facility facility = Facility::kCpuUse;
  bool there = false;
  std::string why;  // its place; or what was expected and what was found
};

struct FacilityPlaces {
  const linux::Hierarchies& hierarchies;
  const linux::Folder& proc;
  const linux::Folder* numa_nodes = nullptr;
  std::string kernel_log = "/dev/kmsg";
};

// One for each facility, in the order of Facility.
std::vector<FacilityReport> probe_facilities(const FacilityPlaces&);

// False: it is not read even if present. Cycles per instruction need descriptors and take two counters from profilers,
// so a gate enables them.
bool is_read(Facility, const FeatureGates&);

bool is_there(const std::vector<FacilityReport>&, Facility);

}  // namespace tidemark::agent
