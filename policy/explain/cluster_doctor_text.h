// Renders `tidemark doctor cluster`: each finding with the number and first names of its nodes, and a fix if there is
// one. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "policy/explain/doctor/cluster_findings.h"

namespace tidemark::policy::explain {

// Never changes, because programs use it.
std::string_view fact_key(const ClusterFinding& finding);

// As finding_form.h has it:
//   ok    kernel  6.1.0-18: 9998 nodes: a-1, a-2, a-3 and 9995 more
//   warn  kernel  older than 5.15 …: 2 nodes: b-1, b-2
//                 fix: …
std::string render_text(std::span<const ClusterFinding> findings);

// {"severity":"warn","findings":[{"what":…,"severity":…,"found":…,"fix":…,"reason":…,"fact":"kernelWithoutPriority",
//  "nodes":2,"groups":[{"value":"","nodes":2,"names":["b-1","b-2"]}],"groupsLeftOff":0}]}
Json render_json(std::span<const ClusterFinding> findings);

}  // namespace tidemark::policy::explain
