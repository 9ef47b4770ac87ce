// Overrides of the water line as something to read.
#pragma once

#include <string>

#include "base/json.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::explain {

// "cpu 60 %, memory 55 %".
std::string line_text(const waterline::LinePercent& line);
// "cpu 60 %, until 2026-11-21T22:00:00Z, by ann@ops-1: a fire drill"
std::string override_text(const waterline::LineOverride& line);
// {"cpuPercent":…,"memoryPercent":…,"by":…,"why":…,"since":…,"until":…}
Json override_json(const waterline::LineOverride& line);

}  // namespace tidemark::policy::explain
