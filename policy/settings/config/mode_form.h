// Reads modes from the settings and from the agent's part of the NodeSLO (policy/settings/nodeslo/agent_word.h). Absent
// members
// leave the present value.
#pragma once

#include <optional>
#include <string_view>

#include "model/settings/modes.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::settings {

std::optional<model::Mode> read_mode(waterline::Form& form,
                                     std::string_view key);  // nullopt if there is no valid value

// `{default: observe, cpuSuppress: enforce}`.
void read_agent_modes(waterline::Form& form, model::AgentModes& modes);

// `mode: observe` for everything, or `mode: {capacity: …, nodeSlo: …, agent: …}`; `agent` is one mode for all
// strategies or one for each, as above.
void read_pool_modes(waterline::Form& form, model::PoolModes& modes, waterline::Problems& problems);

}  // namespace tidemark::policy::settings
