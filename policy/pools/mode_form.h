// Reads modes from the settings and from the agent's part of the NodeSLO (policy/nodeslo/agent_word.h). Absent members
// leave the present value.
#pragma once

#include <optional>
#include <string_view>

#include "policy/pools/form.h"
#include "policy/pools/modes.h"

namespace tidemark::policy {

std::optional<Mode> read_mode(Form& form, std::string_view key);  // nullopt if there is no valid value

// `{default: observe, cpuSuppress: enforce}`.
void read_agent_modes(Form& form, AgentModes& modes);

// `mode: observe` for everything, or `mode: {capacity: …, nodeSlo: …, agent: …}`; `agent` is one mode for all
// strategies or one for each, as above.
void read_pool_modes(Form& form, PoolModes& modes, Problems& problems);

}  // namespace tidemark::policy
