// Chooses between Koordinator's behavior and the safe one where Koordinator's is a trap; the READMEs of admission/ and
// settings/ list the traps.
#pragma once

#include "policy/waterline/pools.h"

namespace tidemark::policy::admission {

// The type Profile under another name, because "profile" means ClusterColocationProfile here.
using Parity = model::Profile;

}  // namespace tidemark::policy::admission
