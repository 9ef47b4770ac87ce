// Reads the YARN clusters from the files of one directory, usually a mounted ConfigMap.
//
//   yarn-site.xml        the cluster __default_yarn_cluster__
//   ID.yarn-site.xml     the cluster ID, with ID.core-site.xml and similar files beside it
//
// The property tidemark.class sets the class of the cluster's work (tidemark.io/class of pods), because a
// ResourceManager reports only how much containers hold on a node, not the class.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/resource_manager.h"
#include "hadoop/site.h"
#include "hadoop/yarn_records.h"

namespace tidemark::yarn_operator {

inline constexpr std::string_view kDefaultCluster = "__default_yarn_cluster__";
inline constexpr std::size_t kClustersMax = 100;
inline constexpr std::string_view kClassProperty = "tidemark.class";

struct YarnCluster {
  std::string id;
  hadoop::RmCluster managers;
  hadoop::Resource smallest{1024, 1, {}};  // container that its scheduler allocates
  std::string work_class{};                // of its work; "": not set
  std::string class_place{};               // the file that sets it
  std::vector<std::string> overruled;      // settings that a `final` one overrides
};

struct HadoopFolder {
  std::string path;
  std::function<Result<std::vector<std::string>>(const std::string& path)> list;  // names of its entries
  hadoop::ReadFile read;
  hadoop::Environment environment;
};

// Reads the settings of one cluster. `prefix` precedes its file names: "" or "ID.".
Result<hadoop::Site> read_site(const HadoopFolder& folder, std::string_view prefix);

// Returns at least one, sorted by id, the default cluster first. An invalid file is an error that names it. With
// `invalid` it stops only its own cluster, whose nodes keep their last totals; an error if no cluster is left.
Result<std::vector<YarnCluster>> read_clusters(const HadoopFolder& folder, const hadoop::Identity& identity,
                                               std::vector<Error>* invalid = nullptr);

// The text of all XML files of the folder, to find a change.
std::string files_of(const HadoopFolder& folder);

}  // namespace tidemark::yarn_operator
