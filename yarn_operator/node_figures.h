// The peer's metrics of single NodeManagers, by its names and labels (yarn-copilot.md, section 6).
#pragma once

#include <string>
#include <vector>

#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

std::string node_figures(const std::vector<const ClusterLink*>& links);

}  // namespace tidemark::yarn_operator
