// One node decided from what is known of it: shared by the controller, which carries it out, and `tidemark explain`,
// which shows it. So what is explained is what is done.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/node.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::manager {

struct NodeDecision {
  model::NodeSnapshot snapshot;
  std::vector<std::string> notes;  // parts of the node that could not be read
  policy::NodeStrategy strategy;
  policy::OvercommitPlan plan;
};

// `pods` are those bound to the node; `metric` may be null.
NodeDecision decide_node(const kube::Node& node, const std::vector<const kube::Pod*>& pods,
                         const kube::NodeMetric* metric, const policy::ColocationConfig& config, base::WallTime now);

// Holds every number at or below what the node carries, for when not all is known that a bigger one would rest on: a
// cut is still right, growth would be a guess. nullopt where the node carries none.
void keep_cuts_only(policy::OvercommitPlan& plan, const model::ExtendedResources& on_node,
                    const std::optional<model::Resources>& origin_on_node);

// What the ConfigMap says of co-location; null where it does not exist. The text lives as long as the map.
policy::ConfigSource config_source(const kube::ConfigMap* map);

// The fields that decide_node() reads, for decoders and caches.
kube::PodFields pod_fields();
kube::NodeFields node_fields();
kube::NodeMetricFields metric_fields();

}  // namespace tidemark::manager
