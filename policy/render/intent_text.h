// What strategies want of groups, and why: as text and as JSON. The same for every strategy of an agent.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

// A group, and below it what is wanted of it, in the order given; "" for none.
std::string render_text(std::span<const Intent> intents);
Json render_json(std::span<const Intent> intents);

}  // namespace tidemark::policy
