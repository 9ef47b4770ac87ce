// The live signals of a decision in one line for users.
#pragma once

#include <string>

#include "policy/route/side.h"

namespace tidemark::policy::route {

// "needs 3 cores, 4224 MiB, 3 pods; Kubernetes: 20 cores, 65536 MiB idle; ads goes first with 8 cores, 9216 MiB; …"
std::string text_of_signals(const RouteInput& input);

}  // namespace tidemark::policy::route
