// Renders the intents of strategies for cgroups, with reasons: as text and as JSON. The same for every strategy of an
// agent.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

// A cgroup, and below it its intents in the given order; "" for none.
std::string render_text(std::span<const Intent> intents);
Json render_json(std::span<const Intent> intents);

}  // namespace tidemark::policy
