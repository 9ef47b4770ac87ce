// The state of a node as something to read: for events, the node's condition, `explain` and the commands.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "policy/state/class_off.h"
#include "policy/state/state.h"

namespace tidemark::policy::explain {

// "draining", "Kubernetes on, YARN off", "on, class spark off".
std::string state_words(const state::EffectiveState& state);
// "ordered for the whole cluster by ann@ops: kernel update; until 2026-11-21T12:00:00Z".
std::string decided_words(const state::EffectiveState& state);
// Both, with their meaning: one line for a terminal or a condition.
std::string render_text(const state::EffectiveState& state);
// {"state":…,"kubernetes":…,"yarn":…,"decidedBy":{id,text},"by":…,"why":…,"since":…,"until":…}
Json render_json(const state::EffectiveState& state);

// Why a side's offer is below its ledger: a line for each class that is off; "" if there is none.
std::string classes_off_text(std::string_view side, const state::ClassesOff& off);
Json classes_off_json(const state::ClassesOff& off);

}  // namespace tidemark::policy::explain
