// Renders `tidemark doctor node`: each finding, and a fix if there is one. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/json.h"
#include "model/node_strategy.h"
#include "policy/explain/doctor/node_findings.h"
#include "policy/explain/finding_form.h"

namespace tidemark::policy::explain {

FormedFinding formed(const NodeFinding& finding);

// The count of a strategy's values in force: "2 files"; for oomOrder "1 process".
std::string in_force_count_text(model::Strategy strategy, std::int64_t count);

// The result of the trials, by verdict: "effective: cpu.shares, cpuset.cpus; accepted: memory.low; not decided: …; no
// effect: …; refused: …". Files that the kernel does not have are omitted. "" if none is left.
std::string knobs_text(std::span<const KnobFound> knobs);

// As finding_form.h has it.
std::string render_text(std::span<const NodeFinding> findings);

// {"severity":"warn","findings":[…]}
Json render_json(std::span<const NodeFinding> findings);

}  // namespace tidemark::policy::explain
