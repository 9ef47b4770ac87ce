// The stored parts of Kubernetes objects, and how the operator reads them.
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
#include "model/settings/modes.h"
#include "policy/evict/left_over.h"
#include "policy/sell/yarn_total.h"
#include "yarn_operator/node_map.h"

namespace tidemark::yarn_operator {

struct PodMeta {
  kube::Text ns;
  kube::Text name;
  std::string resource_version;

  std::size_t bytes() const { return ns.bytes() + name.bytes() + kube::string_bytes(resource_version); }  // heap only
};

// A bound pod that has not ended. Only pods that hold batch are stored: a cluster has many times more others. Up to
// hundreds of thousands are stored, so a row contains only what all of them need.
struct PodRow {
  PodMeta meta;
  kube::Text node;
  model::Resources batch;  // batch that it holds

  std::size_t bytes() const { return sizeof(PodRow) + meta.bytes() + node.bytes(); }
};
bool says_the_same(const PodRow& a, const PodRow& b);

// What the pods of one node hold. A pod that is gone leaves nothing in the sum, however large the amounts are.
class BatchSum {
 public:
  void add(model::Resources batch, int pods);  // -1 subtracts a pod
  bool none() const { return pods_ == 0; }
  model::Resources sum() const;  // at most the largest amount that model::Resources can hold

 private:
  __int128 cpu_milli_ = 0, memory_bytes_ = 0;
  std::int64_t pods_ = 0;
};
Result<PodRow> decode_pod_row(std::string_view bytes, kube::Interner& interner);

// The pod of a NodeManager, with its annotations.
struct NmPodRow {
  PodMeta meta;
  kube::Text node;
  kube::Text id;
  kube::Text cluster;

  std::size_t bytes() const { return sizeof(NmPodRow) + meta.bytes() + node.bytes() + id.bytes() + cluster.bytes(); }
};
std::string nm_pod_selector();  // label selector
bool says_the_same(const NmPodRow& a, const NmPodRow& b);
Result<NmPodRow> decode_nm_pod_row(std::string_view bytes, kube::Interner& interner);

kube::NodeFields node_fields();
Result<kube::Node> decode_node(std::string_view bytes, kube::Interner& interner);

// Whether both give the same total. Ignores what the operator itself writes, and the periodic status of the kubelet.
// null: no node.
bool says_the_same(const kube::Node* a, const kube::Node* b);
// Compares the annotations that the operator writes.
bool carries_the_same(const kube::Node* a, const kube::Node* b);

NodePlace place_of(const kube::Node& node);
NmPod nm_pod_of(const NmPodRow& pod);

// Input of the policy. Fails if the origin or the offer exists but cannot be read; then nothing is decided. `mode` is
// that of the node's pool, `work_class` that of its YARN cluster.
Result<policy::sell::YarnNode> share_of(const kube::Node& node, model::Resources pods, model::Mode mode,
                                        std::string_view work_class, base::WallTime now);
// If the class of a cluster is off, the total is 0: its ResourceManager does not know classes and would otherwise start
// new work that must be returned at once.
model::NodeState yarn_state_of(const kube::Node& node, model::Mode mode, std::string_view work_class,
                               base::WallTime now);
// The manager's offer; nullopt: none or unreadable.
std::optional<model::YarnOffer> offer_on(const kube::Node& node);
// The order in force that evicts the containers of the node; nullopt: none does.
std::optional<policy::evict::EvictionOrder> eviction_order(const kube::Node& node, base::WallTime now);
std::int64_t offer_generation(const kube::Node& node);  // of the manager's offer; 0: none

}  // namespace tidemark::yarn_operator
