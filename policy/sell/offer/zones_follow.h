// The values of a node's NUMA zones if the node's offer differs from its formula: motion, the ledger of its pool or a
// stop moved it. The zones follow by one factor for each resource:
//
//    zone' = zone × offered / max(formula, Σ zones), rounded down
//
// so their sum is never more than the node's offer. While that waits to be written, the node has another value, and the
// zones do not run ahead of it:
//
//    zone'' = min(zone', zone' × carried by the node / Σ zone'), rounded down
//
// Without measurements zones cannot be calculated; their present values fall with the node, and nothing grows:
//
//    zone' = min(carried, carried × offered / Σ carried), rounded down
//
// Batch-cpu of a zone is in thousandths of the node's unit, batch-memory as well.
#pragma once

#include <optional>

#include "model/resources.h"
#include "model/topology.h"
#include "policy/sell/overcommit/zones.h"

namespace tidemark::policy::sell {

// `zones` were calculated beside `formula`.
ZonesPlan follow_node(ZonesPlan zones, model::Resources formula, model::Resources offered);
// `carried`: the node's status at the end of this pass.
ZonesPlan within_node(ZonesPlan zones, model::Resources carried);
// Nothing was calculated.
ZonesPlan hold_zones(const std::optional<model::TopologyView>& topology, model::Resources offered);

}  // namespace tidemark::policy::sell
