// Converts projections to the model, the input of policies. It decides nothing. For unreadable text, model/node.h
// gives the value, and `notes` has a message for the component to report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "model/node.h"
#include "model/pod.h"

namespace tidemark::kube {

// What these conversions read, for the filters of an informer.
PodFields overcommit_pod_fields();
NodeFields overcommit_node_fields();
NodeMetricFields overcommit_node_metric_fields();
MetaFields overcommit_topology_fields();

// Native cpu and memory; what is not listed is 0.
model::Resources native_resources(const ResourceList& list);
model::ExtendedResources extended_resources(const ResourceList& list);

// What a pod holds of batch: init containers run before the others, so the largest of them counts against the sum.
model::Resources batch_request(const Pod& pod);
model::PodResources to_pod_resources(const Pod& pod);
// QoS and priority with default; the Kubernetes QoS from the status, computed from the specification where it has none.
// A place on NUMA nodes that cannot be read counts as none in particular, as the peer has it.
model::PodView to_pod_view(const Pod& pod);
model::NodeMetricView to_node_metric_view(const NodeMetric& metric);

struct Conversion {
  model::NodeSnapshot snapshot;
  std::vector<std::string> notes;  // "annotation node.koordinator.sh/reservation: …"
};
// `pods` are those bound to the node. `metric` and `topology` may be null.
Conversion to_node_snapshot(const Node& node, std::vector<model::PodView> pods, const NodeMetric* metric,
                            const NodeResourceTopology* topology = nullptr);

}  // namespace tidemark::kube
