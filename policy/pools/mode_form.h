// What the settings, and the manager's word to an agent (policy/nodeslo/agent_word.h), say of modes. What is not given
// stays as it is.
#pragma once

#include <optional>
#include <string_view>

#include "policy/pools/form.h"
#include "policy/pools/modes.h"

namespace tidemark::policy {

std::optional<Mode> read_mode(Form& form, std::string_view key);  // nullopt where there is nothing good

// `{default: observe, cpuSuppress: enforce}`.
void read_agent_modes(Form& form, AgentModes& modes);

// `mode: observe` for everything, or `mode: {capacity: …, nodeSlo: …, agent: …}`, where `agent` is one mode for all
// strategies or one for each, as above.
void read_pool_modes(Form& form, PoolModes& modes, Problems& problems);

}  // namespace tidemark::policy
