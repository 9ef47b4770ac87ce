// What a node looks like to suppression at one instant. What is not known is nullopt, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/resources.h"
#include "model/task.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

struct ObservedTask {
  const model::Task* task = nullptr;    // null: a pod's group of which nobody knows whose it is; it counts as online
  std::optional<model::CpuMilli> used;  // its own, less what tasks in it use; not measured: it is the system's
  bool throttled = false;               // held back by a quota of its own since the last look
  bool refused = false;                 // held at the least there is: it came where too much was sold (policy/limits)
};

struct Processor {
  std::int32_t cpu = 0;
  std::int32_t core = 0;  // those of one core have the same, within their socket
  std::int32_t socket = 0;
  std::int32_t numa = 0;
  bool operator==(const Processor&) const = default;
};

// The groups that suppression writes, from the root of each hierarchy; also those that no task names.
struct OfflineGroups {
  std::string besteffort;               // the kubelet's group of BestEffort pods; "": there is none, or nobody knows
  std::vector<std::string> pods;        // directly in it
  std::vector<std::string> containers;  // all below those
};

struct SuppressObservation {
  bool node_off = false;  // co-location is off on this node

  std::optional<model::CpuMilli> capacity;
  std::optional<model::CpuMilli> node_used;
  std::optional<model::CpuMilli> kubelet_reserved;  // capacity − allocatable, before amplification
  model::CpuMilli annotation_reserved;              // 0: the node has no such annotation
  std::vector<ObservedTask> tasks;

  std::vector<Processor> processors;         // that are on; empty: not known
  std::vector<std::int32_t> reserved_cpus;   // by the node's annotation
  std::vector<std::int32_t> exclusive_cpus;  // of system QoS, where that has them for itself

  // In force on the besteffort group.
  std::optional<std::vector<std::int32_t>> besteffort_cpus;
  std::optional<std::int64_t> besteffort_quota_us;  // in 100 ms; kNoLimit

  OfflineGroups groups;
  bool kubelet_static = false;  // its CPU manager sets the processors of containers itself
  bool runs_last = false;       // offline work: the kernel gives it what nobody else wants, and nothing else
  // Of the kernel: a child's processors are a part of its parent's, its quota no larger (policy/knobs/knobs.h).
  bool nested_cpuset = true;
  bool nested_quota = true;
  std::int64_t ratio_percent = 100;  // CPU normalization, as batch limits go by it (policy/limits/limits.h)
};

}  // namespace tidemark::policy
