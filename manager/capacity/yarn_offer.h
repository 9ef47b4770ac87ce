// What YARN is told of a node: how much it may hand out, what of its work is to be given back, and when what it holds
// beyond that ends. It rides on the same write as Kubernetes' amounts, so that no moment has the growth of one side
// without the cut of the other.
#pragma once

#include "base/clock.h"
#include "kube/objects.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/capacity/decide.h"
#include "policy/overcommit/writes.h"

namespace tidemark::manager {

// Whether YARN is to be told less, by enough to be worth a write of itself.
policy::WriteDecision yarn_needs_cut(const kube::Node& node, const NodeDecision& decision);
// Whether YARN must hear of something else than the node says.
policy::WriteDecision yarn_needs_write(const kube::Node& node, const NodeDecision& decision);
// Its offer goes or gets less, or it is to give something back: that waits for nobody's growth.
bool yarn_loses(const kube::Node& node, const NodeDecision& decision);

// YARN's part of a write. `amounts`: those of Kubernetes are part of it, so that nothing of YARN's stays by itself.
void tell_yarn(const kube::Node& node, const NodeDecision& decision, bool amounts, base::WallTime now,
               CapacityWrite& write);

}  // namespace tidemark::manager
