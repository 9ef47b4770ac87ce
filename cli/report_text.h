// The states of nodes, and what a manager would change on them, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "operate/report.h"

namespace tidemark::cli {

// `all`: also nodes that nothing is ordered for, or that need no change.
std::string render_text(const operate::NodesReport& report, operate::ReportOf about, bool all);
Json render_json(const operate::NodesReport& report, operate::ReportOf about);

}  // namespace tidemark::cli
