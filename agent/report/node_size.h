// How large the node is, by its Node object.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "kube/objects.h"
#include "model/resources.h"

namespace tidemark::agent {

// What the node could give before somebody told Kubernetes more of it than there is.
inline constexpr std::string_view kRawAllocatableAnnotation = "node.koordinator.sh/raw-allocatable";

struct NodeSize {
  model::Resources capacity;
  model::Resources allocatable;     // of the annotation, where it says so
  std::optional<Error> unreadable;  // the annotation; the status counts then
};

// The fields that node_size() reads.
kube::NodeFields node_size_fields();
NodeSize node_size(const kube::Node& node);

}  // namespace tidemark::agent
