// Where a command finds the ResourceManagers: the folder of Hadoop's configuration files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "yarn_operator/clusters.h"

namespace tidemark::main {

// `user` names the caller; empty: nobody is named, as the peer does it.
Result<std::vector<yarn_operator::YarnCluster>> clusters_in(const std::string& folder, const std::string& user);

}  // namespace tidemark::main
