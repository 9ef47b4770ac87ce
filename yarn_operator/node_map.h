// Finds the NodeManager of each node. Pure.
//
//   1  the node's annotation     yarn.hadoop.apache.org/node-id, …/cluster-id
//   2  its NodeManager's pod     label app.kubernetes.io/component=node-manager, same annotations; the first of several
//   3  its address               the one NodeManager whose host is the node's name, host name or internal address
//
// A contradiction is reported with both names, and the node gets no new total: a total on the wrong machine is worse
// than an old one. The same holds if the NodeManager is active but nothing names it for this node any more, or if its
// cluster no longer exists: its last total stands, and YARN may continue to allocate it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hadoop/yarn_records.h"

namespace tidemark::yarn_operator {

// Names the NodeManager of the ledger on a node, "CLUSTER/HOST:PORT". Written and removed with the ledger: a restarted
// operator could otherwise not know which NodeManager still uses it. If a cluster is gone for good, a person removes
// both.
inline constexpr std::string_view kYarnBookOfAnnotation = "tidemark.io/yarn-book-of";

struct NmName {
  std::string cluster;
  hadoop::NodeId id;
  auto operator<=>(const NmName&) const = default;
  std::string text() const;     // for people: "nm-1:45454 of cluster blue"
  std::string written() const;  // value of the annotation
};
std::optional<NmName> parse_nm_name(std::string_view written);

// Of a node or a pod: both values unchanged, empty if absent.
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
  std::optional<NmName> last{};  // its NodeManager at the last report
};

struct NmPod {
  std::string name;  // "NAMESPACE/NAME"
  std::string node;
  NmClaim claim;
};

struct MapInput {
  std::vector<NodePlace> nodes;
  std::vector<NmPod> pods;  // sorted by name
  std::map<std::string, std::vector<hadoop::NodeId>>
      known;  // by cluster: NodeManagers that its ResourceManager reports
};

struct NodeMap {
  std::map<std::string, NmName> nm_of;       // by node
  std::map<std::string, std::string> wrong;  // by node: mismatch, for people
  std::map<std::string, NmName> last;        // by node: NodePlace::last of the next map
  std::vector<NmName> without_node;          // reported, but without a node: no total is sent
};

NodeMap map_nodes(const MapInput& input);

}  // namespace tidemark::yarn_operator
