// What a node's NodeMetric asks of the agent: how long to average, how often to report (contract 3.1 and 5.8).
//
// The node's strategy says so where co-location is on for the node and all its values are in range; else the defaults
// do, so that a node keeps reporting. The cluster's switch does not count here, only the node's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::policy {

struct CollectPolicy {
  std::int64_t aggregate_duration_s = 0;
  std::int64_t report_interval_s = 0;
  std::vector<base::Duration> aggregate_durations;
  std::string memory_collect_policy;
  bool operator==(const CollectPolicy&) const = default;
};

struct CollectPlan {
  CollectPolicy policy;
  model::Reason reason;  // kCollectFromStrategy, kCollectDisabled, kCollectInvalid
  std::string problem;   // what is out of range
};
CollectPlan collect_policy(const NodeStrategy& strategy);

// {"metricCollectPolicy":{…}}: the spec, and what a merge patch of the spec holds.
std::string collect_spec_json(const CollectPolicy& policy);

}  // namespace tidemark::policy
