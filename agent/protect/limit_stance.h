// The permit for limits that a copilot sets itself: the same as for the agent's own limits of tasks (strategy
// batchLimits).
#pragma once

#include "copilot/limit_stance.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

copilot::LimitStance limit_stance(const policy::state::AgentPermits& permits);

}  // namespace tidemark::agent
