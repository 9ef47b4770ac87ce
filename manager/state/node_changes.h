// Which of a node's many updates its state, or what the node says of it, depends on.
#pragma once

#include "kube/objects.h"

namespace tidemark::manager {

// Somebody ordered something for the node, or took it back: that cannot wait in line. `before` is null for a new node.
bool mark_changed(const kube::Node* before, const kube::Node& after);

// Whether the node's state is to be worked out again: null where the node was not there, or is gone.
bool state_may_change(const kube::Node* before, const kube::Node* after);

}  // namespace tidemark::manager
