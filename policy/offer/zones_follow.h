// What the NUMA zones of a node carry where the node does not offer what its formula gives: motion, the ledger of its
// pool or a stop moved it. They follow it, by one factor for each resource:
//
//   zone' = zone × offered / max(formula, Σ zones), rounded down
//
// so what they carry together is never more than what the node offers. Without measurements there is nothing to
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
// Nothing was calculated.
ZonesPlan hold_zones(const std::optional<model::TopologyView>& topology, model::Resources offered);

}  // namespace tidemark::policy
