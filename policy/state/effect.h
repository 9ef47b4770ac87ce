// What the state of a node makes of its overcommit plan.
//
//   state      Kubernetes' amounts                       the origin, which YARN's offer is made from
//   on         as planned                                as planned
//   observe    as they are on the node                   as it is on the node
//   draining   0 where the node carries a key            0
//   off        no keys                                   0
//
// An absent key stays absent: draining takes back an offer, it does not make one of 0.
#pragma once

#include <optional>

#include "model/node.h"
#include "model/resources.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/plugins.h"
#include "policy/state/state.h"

namespace tidemark::policy {

struct OnNode {
  model::ExtendedResources published;
  std::optional<model::Resources> origin;  // nullopt where the node carries none
};

struct Obeyed {
  OvercommitPlan plan;
  bool write = true;  // false: observed, `plan` is what would be written
};

// Total. Never more than planned on a side that is not observed.
Obeyed obey(OvercommitPlan plan, const SideStates& state, const OnNode& on_node, const PluginSet& plugins);

}  // namespace tidemark::policy
