// A node's measurements for suppression at one instant. Unknown values are nullopt, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/resources.h"
#include "model/task.h"
#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

struct ObservedTask {
  const model::Task* task = nullptr;    // null: a pod's cgroup with an unknown owner; it counts as online
  std::optional<model::CpuMilli> used;  // its own, less that of tasks in it; not measured: it counts for the system
  bool throttled = false;               // throttled by a quota of its own since the last pass
  bool refused = false;                 // at the minimum: it came while too much was sold (policy/protect/limits)
};

struct Processor {
  std::int32_t cpu = 0;
  std::int32_t core = 0;  // those of one core have the same, within their socket
  std::int32_t socket = 0;
  std::int32_t numa = 0;
  bool operator==(const Processor&) const = default;
};

// The cgroups that suppression writes, from the root of each hierarchy; also those without tasks.
struct OfflineGroups {
  std::string besteffort;               // the kubelet's cgroup of BestEffort pods; "": none or unknown
  std::vector<std::string> pods;        // directly in it
  std::vector<std::string> containers;  // all below those
};

// Wide, because each field is a term of the formula or a fact that forbids suppression, and all are of one moment.
struct SuppressObservation {
  bool node_off = false;  // co-location is off on this node

  std::optional<model::CpuMilli> capacity;
  std::optional<model::CpuMilli> node_used;
  std::optional<model::CpuMilli> kubelet_reserved;  // capacity − allocatable, before amplification
  model::CpuMilli annotation_reserved;              // 0: the node has no such annotation
  std::vector<ObservedTask> tasks;

  std::vector<Processor> processors;         // that are on; empty: not known
  std::vector<std::int32_t> reserved_cpus;   // by the node's annotation
  std::vector<std::int32_t> exclusive_cpus;  // those that system QoS has exclusively

  // In force on the besteffort cgroup.
  std::optional<std::vector<std::int32_t>> besteffort_cpus;
  std::optional<std::int64_t> besteffort_quota_us;  // in 100 ms; kNoLimit

  OfflineGroups groups;
  bool kubelet_static = false;  // its CPU manager sets the CPUs of containers itself
  bool runs_last = false;       // offline work: the kernel gives it only idle CPU time
  // Of the kernel: a child's CPUs are a part of its parent's, its quota no larger (policy/protect/knobs.h).
  bool nested_cpuset = true;
  bool nested_quota = true;
  std::int64_t ratio_percent = 100;  // CPU normalization, as batch limits go by it (policy/protect/limits/limits.h)
};

}  // namespace tidemark::policy::protect
