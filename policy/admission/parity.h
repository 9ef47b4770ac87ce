// Which manners admission has where the peer's lead into a trap; the READMEs of admission/ and settings/ list them.
#pragma once

#include "policy/pools/pools.h"

namespace tidemark::policy {

// The same choice as of numbers, by another name here: among ClusterColocationProfiles "profile" means something else.
using Parity = Profile;

}  // namespace tidemark::policy
