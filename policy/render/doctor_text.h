// What `tidemark doctor node` says: each finding with what was found and, where something is to be done, what. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/json.h"
#include "model/node_strategy.h"
#include "policy/doctor/node_findings.h"
#include "policy/render/finding_form.h"

namespace tidemark::policy {

FormedFinding formed(const NodeFinding& finding);

// What is in force of a strategy: "2 files"; of oomOrder "1 process".
std::string in_force_count_text(model::Strategy strategy, std::int64_t count);

// What a trial showed of them, by verdict: "effective: cpu.shares, cpuset.cpus; accepted: memory.low; not decided: …;
// no effect: …; refused: …". What a kernel does not have is not named. "" where nothing is.
std::string knobs_text(std::span<const KnobFound> knobs);

// As finding_form.h has it.
std::string render_text(std::span<const NodeFinding> findings);

// {"severity":"warn","findings":[…]}
Json render_json(std::span<const NodeFinding> findings);

}  // namespace tidemark::policy
