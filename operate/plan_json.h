// What new settings would do, as JSON: `tidemark plan -o json` prints it, and the console answers it.
#pragma once

#include <cstddef>

#include "base/json.h"
#include "operate/plan.h"

namespace tidemark::operate {

// Of a plan with problems.
Json problems_json(const SettingsPlan& plan);
// Of one without. `shown_max` nodes, those that change most first.
Json plan_json(const SettingsPlan& plan, std::size_t shown_max);

}  // namespace tidemark::operate
