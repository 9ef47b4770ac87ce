// What `tidemark doctor node` says: each finding with what was found and, where something is to be done, what. Pure.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "policy/doctor/node_findings.h"

namespace tidemark::policy {

// A line or more for each, in their order:
//   ok    CPU priority  cpu.idle
//                       not cpu.bvt_warp_ns: …
//   warn  swap          on: 2147483648 (2.0 GiB)
//                       fix: …
std::string render_text(std::span<const NodeFinding> findings);

// {"severity":"warn","findings":[{"what":"swap","severity":"warn","found":…,"fix":…,"reason":…}]}; `fix` is null where
// nothing is to be done, `reason` where the fact has no id.
Json render_json(std::span<const NodeFinding> findings);

// One line for a condition: "bad: memory line; warn: swap, pressure", or that nothing stands in the way.
std::string summary_text(std::span<const NodeFinding> findings);

}  // namespace tidemark::policy
