// The format of a doctor's findings, for one node or a cluster: the same columns, and the same members in JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/reason.h"
#include "policy/explain/doctor/node_findings.h"

namespace tidemark::policy::explain {

std::string_view to_string(Severity severity);  // ok, warn, bad

struct FormedFinding {
  Severity severity = Severity::kOk;
  std::string_view topic;          // for people
  std::string_view key;            // the same for programs
  std::vector<std::string> found;  // lines, at least one
  std::string fix;                 // "" if none is needed
  std::optional<model::Reason> reason;
};

// A line or more for each, in their order:
//   ok    CPU priority  cpu.idle
//                       not cpu.bvt_warp_ns: …
//   warn  swap          on: 2147483648 (2.0 GiB)
//                       fix: …
std::string render_text(std::span<const FormedFinding> findings);

// {"what":"swap","severity":"warn","found":…,"fix":…,"reason":…}; `fix` is null if none is needed, `reason` if the fact
// has no id.
Json render_json(const FormedFinding& finding);

}  // namespace tidemark::policy::explain
