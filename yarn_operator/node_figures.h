// Metrics with the cluster name as a label.
#pragma once

#include <string>
#include <vector>

#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

// Whether the ResourceManager of each cluster answers.
std::string cluster_figures(const std::vector<const ClusterLink*>& links);

// Koordinator's metrics of single NodeManagers, with its names and labels (copilot contract 6).
std::string node_figures(const std::vector<const ClusterLink*>& links);

}  // namespace tidemark::yarn_operator
