// "Was it us?" on one page. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "policy/explain/incident.h"

namespace tidemark::policy::explain {

inline constexpr std::size_t kIncidentRowsMax = 24;   // lines of the record that are shown; JSON has all
inline constexpr std::size_t kIncidentDeedsMax = 12;  // and of our actions

std::string render_text(const IncidentReport& report);

// {"schema":1,"task":…,"node":…,"from":…,"to":…,"verdict":"likely","answer":…,"findings":[…],"recorded":…,"moments":[…],
//  "deeds":[…]}
Json render_json(const IncidentReport& report);

}  // namespace tidemark::policy::explain
