// A NodeMetric's status as the peer's agent writes it (contract 3.1): the same keys in the same order, quantities in
// their canonical text, {} where a usage is not known. Lists without an entry, and texts that are empty, are left out.
//
// The status is written whole (by whoever calls): a merge patch would leave keys standing that are not told any more.
#pragma once

#include <string>
#include <string_view>

#include "model/node_metric_report.h"

namespace tidemark::kube {

std::string encode_node_metric_status(const model::NodeMetricReport& report);  // the value of "status"

// The object for PUT …/nodemetrics/NAME/status. Of all but the status the server keeps what it has.
std::string encode_node_metric(std::string_view name, std::string_view resource_version,
                               const model::NodeMetricReport& report);

}  // namespace tidemark::kube
