// What new settings would do, as text.
#pragma once

#include <cstddef>
#include <string>

#include "operate/plan.h"

namespace tidemark::cli {

// Of a plan with problems.
std::string problems_text(const operate::SettingsPlan& plan);

// Of one without. `shown_max` nodes, those that change most first.
std::string plan_text(const operate::SettingsPlan& plan, std::size_t shown_max);

}  // namespace tidemark::cli
