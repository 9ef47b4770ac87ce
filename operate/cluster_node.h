// A node as `tidemark doctor cluster` and the console examine it.
#pragma once

#include "kube/objects.h"
#include "policy/explain/doctor/cluster_findings.h"

namespace tidemark::operate {

// The fields that the Node object alone determines.
policy::explain::ClusterNode cluster_node(const kube::Node& node);

}  // namespace tidemark::operate
