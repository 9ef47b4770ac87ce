// The input of a decision about one node: an immutable, parsed snapshot. Its builder reads the cluster once; its users
// make no requests.
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

// One entry of podsMetric. `priority` and `qos` are as the agent reported them, with default.
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
  // A value above was reported as negative. It is stored as 0, which was not measured.
  bool below_zero = false;
};

// The part of this node's batch resources that a third party outside Kubernetes (YARN) holds.
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
  // nullopt if the annotation cannot be read: then nothing is subtracted. Empty if there is none.
  std::optional<std::vector<ThirdPartyAllocation>> third_party = std::vector<ThirdPartyAllocation>();
  std::vector<PodView> pods;             // all that are bound to this node, whatever their phase
  std::optional<NodeMetricView> metric;  // nullopt if there is no NodeMetric
  std::optional<TopologyView> topology;  // nullopt if there is no NodeResourceTopology
  // The current texts of these annotations; nullopt if absent.
  std::optional<std::string> normalization_annotation;
  std::optional<std::string> amplification_annotation;
};

}  // namespace tidemark::model
