// One node decided from what is known of it: shared by the controller, which carries it out, and `tidemark explain`,
// which shows it. So what is explained is what is done.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/objects.h"
#include "manager/pod_projection.h"
#include "model/node.h"
#include "model/selector.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/plugins.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::manager {

struct NodeDecision {
  model::NodeSnapshot snapshot;
  std::vector<std::string> notes;  // parts of the node that could not be read
  policy::NodeStrategy strategy;
  policy::OvercommitPlan plan;
};

// `pods` are those bound to the node; `metric` may be null.
NodeDecision decide_node(const kube::Node& node, std::span<const PodProjection* const> pods,
                         const kube::NodeMetric* metric, const policy::ColocationConfig& config,
                         const policy::PluginSet& plugins, base::WallTime now);

std::vector<model::Label> labels_of(const kube::Node& node);
// The strategy of a node: the settings, its annotation and its labels.
policy::NodeStrategy strategy_of_node(const kube::Node& node, const policy::ColocationConfig& config);

// What the ConfigMap says under a key; null where it does not exist. The text lives as long as the map.
policy::ConfigSource config_source(const kube::ConfigMap* map, std::string_view key);

// The fields that decide_node() reads, for decoders and caches; of pods it is PodProjection.
kube::NodeFields node_fields();
kube::NodeMetricFields metric_fields();

}  // namespace tidemark::manager
