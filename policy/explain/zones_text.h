// The parts of an overcommit plan beside the node's own numbers, as something to read: batch by NUMA zone, and the two
// ratios of the node. Pure.
#pragma once

#include <string>

#include "base/json.h"
#include "model/node.h"
#include "policy/sell/overcommit/overcommit.h"

namespace tidemark::policy::explain {

// A table with a line for each zone and its present values; empty if the node has no topology.
std::string render_zones_text(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node);
// {"reason":…,"zones":[{"name":…,"batch-cpu":{terms…},"batch-memory":{terms…}}]}. Amounts of zones are in milli-cores
// and bytes, as numbers with up to three decimals: a zone's part is not rounded.
Json render_zones_json(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node);

// CPU normalization and resource amplification: the ratio, its source, and the node's present value.
std::string render_ratios_text(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
                               const sell::PluginSet& plugins);
Json render_normalization_json(const sell::NormalizationPlan& plan, const model::NodeSnapshot& node);
Json render_amplification_json(const sell::AmplificationPlan& plan, const model::NodeSnapshot& node);

}  // namespace tidemark::policy::explain
