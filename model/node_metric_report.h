// The status of a node's NodeMetric as its agent reports it (contract 3.1), in the units of the API: thousandths of a
// core and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/qos.h"
#include "model/resources.h"

namespace tidemark::model {

// nullopt: nothing was measured, or too little. The key is written all the same, as an empty object.
using ReportedUsage = std::optional<Resources>;

// The whole node, or its system part, over one of the durations in the spec.
struct AggregatedReport {
  base::Duration duration{0};
  ReportedUsage avg;
  ReportedUsage p50;
  ReportedUsage p90;
  ReportedUsage p95;
  ReportedUsage p99;
  bool operator==(const AggregatedReport&) const = default;
};

struct NumaReport {
  std::int32_t numa_node_id = 0;
  ReportedUsage node_usage;
  ReportedUsage system_usage;
  bool operator==(const NumaReport&) const = default;
};

// `priority` and `qos` by the readers with default; none is not written.
struct PodReport {
  std::string ns;
  std::string name;
  Resources usage;
  PriorityClass priority = PriorityClass::kNone;
  Qos qos = Qos::kNone;
  bool operator==(const PodReport&) const = default;
};

// `priority` and `qos` as in the NodeSLO.
struct HostApplicationReport {
  std::string name;
  Resources usage;
  PriorityClass priority = PriorityClass::kNone;
  Qos qos = Qos::kNone;
  bool operator==(const HostApplicationReport&) const = default;
};

struct NodeMetricReport {
  base::WallTime update_time;
  ReportedUsage node_usage;
  std::vector<AggregatedReport> aggregated_node_usages;  // in the order of the spec
  ReportedUsage system_usage;
  std::vector<AggregatedReport> aggregated_system_usages;
  std::vector<NumaReport> numa_usages;                   // by id
  std::vector<PodReport> pods;                           // by namespace and name
  std::vector<HostApplicationReport> host_applications;  // by name
  // nullopt if nothing could be predicted: the first is then written empty, the second not at all.
  ReportedUsage prod_reclaimable;
  ReportedUsage prod_peak;
  bool operator==(const NodeMetricReport&) const = default;
};

}  // namespace tidemark::model
