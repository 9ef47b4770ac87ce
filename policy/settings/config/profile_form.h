// The parts of `tidemark-config` that profiles of workloads go by (policy/waterline/profile/settings.h).
#pragma once

#include "policy/waterline/form.h"
#include "policy/waterline/profile/settings.h"

namespace tidemark::policy::settings {

void read_profiles(waterline::Form& document, waterline::ProfileSettings& profiles, waterline::Problems& problems);
void read_warm_up(waterline::Form& form, base::Duration& warm_up);

}  // namespace tidemark::policy::settings
