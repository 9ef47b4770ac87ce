// Which of a node's many updates its state, or what the node says of it, depends on.
#pragma once

#include "kube/objects.h"

namespace tidemark::manager {

// An order for the node was added or withdrawn: that cannot wait in the line. `before` is null for a new node.
bool mark_changed(const kube::Node* before, const kube::Node& after);

// Whether the node's state is to be worked out again: null where the node was not there, or is gone.
bool state_may_change(const kube::Node* before, const kube::Node* after);

}  // namespace tidemark::manager
