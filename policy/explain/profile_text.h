// The profile of a workload as a table by hour of the day, and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "policy/waterline/profile/usage_profile.h"

namespace tidemark::policy::explain {

std::string render_text(std::string_view workload, const waterline::UsageProfile& profile, base::WallTime now);
Json render_json(std::string_view workload, const waterline::UsageProfile& profile, base::WallTime now);

}  // namespace tidemark::policy::explain
