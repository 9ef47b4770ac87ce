// What a decision about one node may look at: an immutable snapshot, already parsed. Whoever builds it reads the
// cluster once; whoever takes it asks nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"
#include "model/pod_id.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/topology.h"

namespace tidemark::model {

// One entry of podsMetric. `priority` and `qos` are what the agent reported: its readers are those with default.
struct PodUsage {
  PodId id;
  Resources usage;
  PriorityClass priority = PriorityClass::kNone;
  Qos qos = Qos::kNone;
};

// One entry of hostApplicationMetric: a service that runs outside Kubernetes.
struct HostApplicationUsage {
  std::string name;
  Resources usage;
  PriorityClass priority = PriorityClass::kNone;
  Qos qos = Qos::kNone;
};

// The part of a NodeMetric status that decisions read. Resources that are not listed count as 0.
struct NodeMetricView {
  std::optional<base::WallTime> update_time;
  bool has_node_metric = false;         // status.nodeMetric is there and not null
  std::optional<Resources> node_usage;  // nullopt unless both cpu and memory are listed
  Resources system_usage;
  std::vector<PodUsage> pods;
  std::vector<HostApplicationUsage> host_applications;
  Resources prod_reclaimable;  // 0 where the agent predicted nothing
  // Something above was reported as less than nothing. It stands there as 0, which nobody measured.
  bool below_zero = false;
};

// What somebody outside Kubernetes (YARN) holds of the batch resources of this node.
struct ThirdPartyAllocation {
  std::string name;  // "hadoop-yarn"
  PriorityClass priority = PriorityClass::kNone;
  Resources resources;  // of `priority`'s own resource names
};

// The four numbers that co-location publishes on a node; nullopt is an absent key.
struct ExtendedResources {
  std::optional<CpuMilli> batch_cpu;
  std::optional<MemoryBytes> batch_memory;
  std::optional<CpuMilli> mid_cpu;
  std::optional<MemoryBytes> mid_memory;
  bool operator==(const ExtendedResources&) const = default;
};

struct NodeSnapshot {
  std::string name;
  Resources capacity;
  Resources allocatable;
  ExtendedResources published;       // what status.allocatable carries now
  std::optional<Resources> origin;   // what the origin annotation says now; nullopt where it is absent or unreadable
  Resources reserved_by_annotation;  // 0 where there is none or it cannot be read
  bool reservation_unreadable = false;
  // nullopt where the annotation cannot be read: then nothing is subtracted. Empty where there is none.
  std::optional<std::vector<ThirdPartyAllocation>> third_party = std::vector<ThirdPartyAllocation>();
  std::vector<PodView> pods;             // all that are bound to this node, whatever their phase
  std::optional<NodeMetricView> metric;  // nullopt where there is no NodeMetric
  std::optional<TopologyView> topology;  // nullopt where there is no NodeResourceTopology
  // The texts of these annotations now; nullopt where they are absent.
  std::optional<std::string> normalization_annotation;
  std::optional<std::string> amplification_annotation;
};

}  // namespace tidemark::model
