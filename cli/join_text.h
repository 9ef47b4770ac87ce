// `tidemark node join` and `leave`: their progress and results as text and as JSON.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "operate/join.h"

namespace tidemark::cli {

std::string progress_text(const operate::JoinProgress& progress);

// A line for each node: what was done, or would be done, and why it goes no further; then the findings of the doctor.
std::string render_text(const operate::JoinReport& report);
// {"schema":1,"verb":"join","dryRun":…,"failed":…,"preflight":…,"nodes":[{"name":…,"poolBefore":…,"poolAfter":…,
//  "steps":["observe","pool","on"],"state":…,"agent":"fresh","reported":…,"problem":null}]}
Json render_json(const operate::JoinReport& report);

}  // namespace tidemark::cli
