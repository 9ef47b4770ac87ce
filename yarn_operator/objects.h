// What the operator keeps of Kubernetes' objects, and what it reads from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "model/resources.h"
#include "policy/pools/modes.h"
#include "policy/yarn_total/yarn_total.h"
#include "yarn_operator/node_map.h"

namespace tidemark::yarn_operator {

struct PodMeta {
  kube::Text ns;
  kube::Text name;
  std::string resource_version;

  std::size_t bytes() const { return ns.bytes() + name.bytes() + kube::string_bytes(resource_version); }  // heap only
};

// A pod that is bound and has not ended. Only those that hold of batch are kept: a cluster has many times as many
// others. Of these it may have hundreds of thousands, so a row has nothing that a few of them need.
struct PodRow {
  PodMeta meta;
  kube::Text node;
  model::Resources batch;  // what it holds of batch

  std::size_t bytes() const { return sizeof(PodRow) + meta.bytes() + node.bytes(); }
};
bool says_the_same(const PodRow& a, const PodRow& b);
Result<PodRow> decode_pod_row(std::string_view bytes, kube::Interner& interner);

// The pod of a NodeManager, with what its annotations say.
struct NmPodRow {
  PodMeta meta;
  kube::Text node;
  kube::Text id;
  kube::Text cluster;

  std::size_t bytes() const { return sizeof(NmPodRow) + meta.bytes() + node.bytes() + id.bytes() + cluster.bytes(); }
};
std::string nm_pod_selector();  // of labels
bool says_the_same(const NmPodRow& a, const NmPodRow& b);
Result<NmPodRow> decode_nm_pod_row(std::string_view bytes, kube::Interner& interner);

kube::NodeFields node_fields();
Result<kube::Node> decode_node(std::string_view bytes, kube::Interner& interner);

// Whether both are read alike wherever totals are made. What the operator writes itself is no part of that, nor is what
// a kubelet says every few minutes. A null one is no node.
bool says_the_same(const kube::Node* a, const kube::Node* b);
// What the operator writes of a node.
bool carries_the_same(const kube::Node* a, const kube::Node* b);

NodePlace place_of(const kube::Node& node);
NmPod nm_pod_of(const NmPodRow& pod);

// As a policy looks at the node. An origin that is there and cannot be read is an error: then nothing is decided.
// Nor is one whose offer cannot be read. `mode` is its pool's, `work_class` that of its YARN cluster's work.
Result<policy::YarnNode> share_of(const kube::Node& node, model::Resources pods, policy::Mode mode,
                                  std::string_view work_class, base::WallTime now);
// Where the class of all of a cluster's work is off, so is YARN: else its ResourceManager, which knows no classes,
// would begin work anew that is to be given back at once.
policy::NodeState yarn_state_of(const kube::Node& node, policy::Mode mode, std::string_view work_class,
                                base::WallTime now);
// The manager's offer; nullopt: there is none, or it cannot be read.
std::optional<model::YarnOffer> offer_on(const kube::Node& node);
// When what YARN holds beyond that offer ends; nullopt: nobody says, or it cannot be read.
std::optional<model::YarnDrain> drain_on(const kube::Node& node);
// What its work is to give back; nullopt: nothing, or it cannot be read.
std::optional<model::YarnReclaim> reclaim_on(const kube::Node& node);
std::int64_t offer_generation(const kube::Node& node);  // of the manager's offer; 0 where there is none

}  // namespace tidemark::yarn_operator
