// What is to become of a node's NodeSLO, from the settings, the node and the object as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "manager/node_objects.h"
#include "policy/nodeslo/nodeslo.h"

namespace tidemark::manager {

// A NodeSLO as the manager keeps it: what it takes to see that it is right, not what it says.
struct NodeSloProjection {
  struct Meta {
    kube::Text ns;  // always empty
    kube::Text name;
    kube::Text uid;
    std::string resource_version;
  };
  Meta meta;
  policy::SloFingerprint fingerprint;
  std::size_t bytes() const;
};
Result<NodeSloProjection> decode_node_slo_projection(std::string_view bytes, kube::Interner& interner);

struct NodeSloDecision {
  policy::SloSpec spec;  // nothing in it where the node is gone
  NodeObjectPlan plan;
};
// Either may be null.
NodeSloDecision decide_node_slo(const kube::Node* node, const NodeSloProjection* object,
                                const policy::SloConfig& config);

// The spec of a node.
policy::SloSpec slo_of_node(const kube::Node& node, const policy::SloConfig& config);

}  // namespace tidemark::manager
