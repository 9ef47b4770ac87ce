// Encodes the status of a NodeMetric like Koordinator's agent (contract 3.1): the same keys in the same order,
// quantities in canonical text, {} for an unset usage. Empty lists and texts are omitted.
//
// The caller must write the whole status: a merge patch would keep keys that are no longer reported.
#pragma once

#include <string>

#include "model/node_metric_report.h"

namespace tidemark::kube {

std::string encode_node_metric_status(const model::NodeMetricReport& report);  // the value of "status"

}  // namespace tidemark::kube
