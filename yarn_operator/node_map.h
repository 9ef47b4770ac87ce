// Which NodeManager runs on which node. Pure.
//
//   1  the node's annotation     yarn.hadoop.apache.org/node-id, …/cluster-id
//   2  its NodeManager's pod     label app.kubernetes.io/component=node-manager, the same annotations; of several the
//   first 3  its address               the one NodeManager whose host is the node's name, host name or internal address
//
// What contradicts itself is told with both names, and then nobody is told anything of that node: a total on the wrong
// machine is worse than an old one. So it is with a node whose NodeManager works on while nothing says any more that it
// is that node's, or whose cluster is none any more: its last total stands, and YARN may go on to hand it out.
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

// Of which NodeManager YARN's book on a node is, "CLUSTER/HOST:PORT". It comes and goes with the book: an operator that
// begins anew would else not know whom to ask whether that is still to be feared. By hand it is taken away with the
// book, of a cluster that is gone for good.
inline constexpr std::string_view kYarnBookOfAnnotation = "tidemark.io/yarn-book-of";

struct NmName {
  std::string cluster;
  hadoop::NodeId id;
  auto operator<=>(const NmName&) const = default;
  std::string text() const;     // for people: "nm-1:45454 of cluster blue"
  std::string written() const;  // as the annotation has it
};
std::optional<NmName> parse_nm_name(std::string_view written);

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
  std::optional<NmName> last{};  // the NodeManager that it had when one was reported last
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
  std::map<std::string, NmName> last;        // by node: NodePlace::last of the next map
  std::vector<NmName> without_node;          // reported, and no node is theirs: nothing is told of them
};

NodeMap map_nodes(const MapInput& input);

}  // namespace tidemark::yarn_operator
