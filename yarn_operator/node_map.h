// Which NodeManager runs on which node. Pure.
//
//   1  the node's annotation     yarn.hadoop.apache.org/node-id, …/cluster-id
//   2  its NodeManager's pod     label app.kubernetes.io/component=node-manager, the same annotations; of several the
//   first 3  its address               the one NodeManager whose host is the node's name, host name or internal address
//
// What contradicts itself is told with both names, and then nobody is told anything of that node: a total on the wrong
// machine is worse than an old one.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hadoop/yarn_records.h"

namespace tidemark::yarn_operator {

struct NmName {
  std::string cluster;
  hadoop::NodeId id;
  auto operator<=>(const NmName&) const = default;
  std::string text() const;  // "nm-1:45454 of cluster blue"
};

// Of a node or a pod: both texts as they are, empty where there is none.
struct NmClaim {
  std::string node_id;
  std::string cluster_id;
  bool operator==(const NmClaim&) const = default;
};

struct NodePlace {
  std::string name;
  std::string host_name;  // label kubernetes.io/hostname
  std::string internal_ip;
  NmClaim claim;
};

struct NmPod {
  std::string name;  // "NAMESPACE/NAME"
  std::string node;
  NmClaim claim;
};

struct MapInput {
  std::vector<NodePlace> nodes;
  std::vector<NmPod> pods;                                   // sorted by name
  std::map<std::string, std::vector<hadoop::NodeId>> known;  // by cluster: what its ResourceManager reports
};

struct NodeMap {
  std::map<std::string, NmName> nm_of;       // by node
  std::map<std::string, std::string> wrong;  // by node: what does not fit, for people
};

NodeMap map_nodes(const MapInput& input);

}  // namespace tidemark::yarn_operator
