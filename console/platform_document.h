// The answers about the platform itself and about YARN's side of the nodes as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "console/view.h"
#include "operate/components.h"
#include "operate/decisions.h"

namespace tidemark::console {

// Components, leases, authorities, what the console itself holds, and for each kernel family what its agents report.
std::string platform_document(const operate::Components& components, View& view);

// "6.1" of "6.1.0-18-amd64"; the whole text if it does not begin so.
std::string kernel_family(std::string_view release);

// YARN clusters and their nodes: offered, confirmed, held. `events`: the last ones of the yarn-operator, or why they
// are unknown; they name nodes whose totals another program sets.
std::string yarn_document(View& view, const Result<std::vector<operate::Decision>>& events);

}  // namespace tidemark::console
