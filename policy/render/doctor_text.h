// What `tidemark doctor node` says: each finding with what was found and, where something is to be done, what. Pure.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "policy/doctor/node_findings.h"
#include "policy/render/finding_form.h"

namespace tidemark::policy {

FormedFinding formed(const NodeFinding& finding);

// As finding_form.h has it.
std::string render_text(std::span<const NodeFinding> findings);

// {"severity":"warn","findings":[…]}
Json render_json(std::span<const NodeFinding> findings);

}  // namespace tidemark::policy
