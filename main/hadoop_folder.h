// Finds the ResourceManagers in the directory of Hadoop's configuration files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::main {

// Reads files, directories and the environment of this machine.
yarn_operator::HadoopFolder hadoop_folder(std::string path);

// `user` names the caller; if empty, no caller is named, as in Koordinator.
// With `invalid`, an invalid file stops only its own cluster.
Result<std::vector<yarn_operator::YarnCluster>> clusters_in(const std::string& folder, const std::string& user,
                                                            std::vector<Error>* invalid = nullptr);
// For commands that work without YARN: empty if neither --hadoop-conf-dir nor $HADOOP_CONF_DIR is set.
Result<std::vector<yarn_operator::YarnCluster>> clusters_if_told(const yarn_operator::YarnOptions& options,
                                                                 std::vector<Error>* invalid = nullptr);

}  // namespace tidemark::main
