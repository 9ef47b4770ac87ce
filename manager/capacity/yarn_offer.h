// YARN's part of a node: its offer, the amount to reclaim from its work, and the end of its work beyond the offer. It
// is part of the same write as Kubernetes' amounts, so that one side never grows before the other is cut.
#pragma once

#include "base/clock.h"
#include "kube/objects.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/capacity/decide.h"
#include "policy/sell/overcommit/writes.h"

namespace tidemark::manager {

// Whether YARN's annotations on the node must change.
policy::sell::WriteDecision yarn_needs_write(const kube::Node& node, const NodeDecision& decision);
// YARN's offer shrinks or disappears, or YARN must reclaim: this does not wait for growth.
bool yarn_loses(const kube::Node& node, const NodeDecision& decision);

// Adds YARN's part to a write. `amounts`: the write includes Kubernetes' amounts, so YARN's values are never alone.
void tell_yarn(const kube::Node& node, const NodeDecision& decision, bool amounts, base::WallTime now,
               CapacityWrite& write);

}  // namespace tidemark::manager
