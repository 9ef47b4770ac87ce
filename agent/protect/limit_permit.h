// The permit for limits that a copilot sets itself: the same as for the agent's own limits of tasks (strategy
// batchLimits).
#pragma once

#include "copilot/limit_permit.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

copilot::LimitPermit limit_permit(const policy::state::AgentPermits& permits);

}  // namespace tidemark::agent
