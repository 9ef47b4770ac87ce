// How a copilot's own limits stand on a node: as those that the agent gives tasks by itself (strategy batchLimits).
#pragma once

#include "copilot/limit_stance.h"
#include "policy/stance/stance.h"

namespace tidemark::agent {

copilot::LimitStance limit_stance(const policy::Stance& stands);

}  // namespace tidemark::agent
