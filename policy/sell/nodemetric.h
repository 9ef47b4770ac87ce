// The spec of a node's NodeMetric: how long to average, how often to report (contract 3.1 and 5.8).
//
// It comes from the node's strategy if co-location is on for the node and all values are in range; otherwise from the
// defaults, so that a node keeps reporting. Only the node's own switch counts here, not the cluster's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/sell/overcommit/strategy.h"

namespace tidemark::policy::sell {

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
  std::string problem;   // the value out of range
};
CollectPlan collect_policy(const NodeStrategy& strategy);

// {"metricCollectPolicy":{…}}: the spec, and the content of a merge patch of the spec.
std::string collect_spec_json(const CollectPolicy& policy);

}  // namespace tidemark::policy::sell
