// The parts of `tidemark-config` that profiles of workloads go by (policy/profile/settings.h).
#pragma once

#include "policy/pools/form.h"
#include "policy/profile/settings.h"

namespace tidemark::policy {

void read_profiles(Form& document, ProfileSettings& profiles, Problems& problems);
void read_warm_up(Form& form, base::Duration& warm_up);

}  // namespace tidemark::policy
