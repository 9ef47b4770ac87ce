// The size of the node, from its Node object.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "kube/objects.h"
#include "model/resources.h"

namespace tidemark::agent {

struct NodeSize {
  model::Resources capacity;
  model::Resources allocatable;     // from the annotation, if set
  std::optional<Error> unreadable;  // the annotation; then the status counts
};

NodeSize node_size(const kube::Node& node);

}  // namespace tidemark::agent
