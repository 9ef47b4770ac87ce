// What the NUMA zones of a node carry where the node does not offer what its formula gives: motion, the ledger of its
// pool or a stop moved it. They follow it, by one factor for each resource:
//
//   zone' = zone × offered / max(formula, Σ zones), rounded down
//
// so what they carry together is never more than what the node offers. Where that waits to be written, the node carries
// something else, and they do not go ahead of it:
//
//   zone'' = min(zone', zone' × carried by the node / Σ zone'), rounded down
//
// Without measurements there is nothing to
// calculate zones from; what they carry goes down with the node, and nothing grows:
//
//   zone' = min(carried, carried × offered / Σ carried), rounded down
//
// Batch-cpu of a zone is in thousandths of the node's unit, batch-memory as well.
#pragma once

#include <optional>

#include "model/resources.h"
#include "model/topology.h"
#include "policy/overcommit/zones.h"

namespace tidemark::policy {

// `zones` were calculated beside `formula`.
ZonesPlan follow_node(ZonesPlan zones, model::Resources formula, model::Resources offered);
// `carried`: what the node's status says once this look at it is over.
ZonesPlan within_node(ZonesPlan zones, model::Resources carried);
// Nothing was calculated.
ZonesPlan hold_zones(const std::optional<model::TopologyView>& topology, model::Resources offered);

}  // namespace tidemark::policy
