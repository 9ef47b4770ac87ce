// Applies the state of a node to its overcommit plan.
//
//    state      Kubernetes' amounts                       the origin, which YARN's offer is made from
//    on         as planned                                as planned
//    observe    as they are on the node                   as it is on the node
//    draining   0 if the node has a key                   0
//    off        no keys                                   0
//
// An absent key stays absent: draining withdraws an offer, it does not create one of 0.
#pragma once

#include <optional>

#include "model/node.h"
#include "model/resources.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/plugins.h"
#include "policy/state/state.h"

namespace tidemark::policy::state {

struct OnNode {
  model::ExtendedResources published;
  std::optional<model::Resources> origin;  // nullopt if the node has none
};

struct Obeyed {
  sell::OvercommitPlan plan;
  bool write = true;  // false: observe, `plan` is only shown
};

// Total. Never more than planned on a side that is not observed.
Obeyed obey(sell::OvercommitPlan plan, const SideStates& state, const OnNode& on_node, const sell::PluginSet& plugins);

}  // namespace tidemark::policy::state
