// Where a command finds the ResourceManagers: the folder of Hadoop's configuration files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {

// With the files, folders and environment of this machine.
yarn_operator::HadoopFolder hadoop_folder(std::string path);

// `user` names the caller; empty: nobody is named, as the peer does it.
Result<std::vector<yarn_operator::YarnCluster>> clusters_in(const std::string& folder, const std::string& user);
// For commands that do without them: none where neither --hadoop-conf-dir nor $HADOOP_CONF_DIR says where they are.
Result<std::vector<yarn_operator::YarnCluster>> clusters_if_told(const yarn_operator::YarnOptions& options);

}  // namespace tidemark::main
