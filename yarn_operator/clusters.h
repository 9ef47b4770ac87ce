// Which YARN clusters there are: the files of one folder, as a ConfigMap is mounted.
//
//   yarn-site.xml        the cluster __default_yarn_cluster__
//   ID.yarn-site.xml     the cluster ID, with ID.core-site.xml and its like beside it
//
// In them the property tidemark.class says of which class the work of the cluster is (tidemark.io/class of pods): a
// ResourceManager tells by node how much containers hold, and not what of whom.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/resource_manager.h"
#include "hadoop/site.h"
#include "yarn_operator/container_room.h"

namespace tidemark::yarn_operator {

inline constexpr std::string_view kDefaultCluster = "__default_yarn_cluster__";
inline constexpr std::size_t kClustersMax = 100;
inline constexpr std::string_view kClassProperty = "tidemark.class";

struct YarnCluster {
  std::string id;
  hadoop::RmCluster managers;
  ContainerSizes containers;           // that its scheduler gives out
  std::string work_class{};            // of its work; "": nobody said
  std::string class_place{};           // the file that said so
  std::vector<std::string> overruled;  // settings that a `final` one shut out
};

struct HadoopFolder {
  std::string path;
  std::function<Result<std::vector<std::string>>(const std::string& path)> list;  // names of what lies in it
  hadoop::ReadFile read;
  hadoop::Environment environment;
};

// The settings of one cluster, `prefix` before the names of its files: "" or "ID.".
Result<hadoop::Site> read_site(const HadoopFolder& folder, std::string_view prefix);

// One at least; sorted by id, the default one first. A file that is wrong is an error that names it: a cluster that was
// left out would be one whose nodes keep what they were told last.
Result<std::vector<YarnCluster>> read_clusters(const HadoopFolder& folder, const hadoop::Identity& identity);

}  // namespace tidemark::yarn_operator
