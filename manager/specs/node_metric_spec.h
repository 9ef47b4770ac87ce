// What is to become of a node's NodeMetric: the manager owns its spec, the agent its status.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/objects.h"
#include "manager/specs/node_objects.h"
#include "policy/sell/nodemetric.h"
#include "policy/sell/overcommit/strategy.h"

namespace tidemark::manager {

struct NodeMetricDecision {
  std::optional<policy::sell::CollectPlan> collect;  // nullopt where the node is gone, or an existing spec is kept
  NodeObjectPlan plan;
};
std::uint64_t content_of(const kube::NodeMetric& metric);  // NodeObjectPlan::content: of its spec

// Either object may be null. While the settings have an error, an existing spec stays; without settings nothing is
// made.
NodeMetricDecision decide_node_metric(const kube::Node* node, const kube::NodeMetric* object,
                                      const policy::sell::ConfigState& config);

}  // namespace tidemark::manager
