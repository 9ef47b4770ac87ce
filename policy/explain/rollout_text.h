// Renders the progress of new settings: for events, logs and `tidemark list revisions`. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "policy/settings/rollout/revision.h"
#include "policy/settings/rollout/rollout.h"
#include "policy/settings/rollout/stored.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::explain {

// One line: "revision 8 (7f3a…): paused: … [TM-ROLLOUT-012]: 13 evictions in pool canary, 12 allowed".
std::string render_text(model::Reason reason, const settings::RolloutState& state, const settings::RevisionBook& book,
                        const settings::RolloutPlan& plan);
std::string render_text(const waterline::PoolOverlap& overlap);

// The reason of a Kubernetes event: one word in its style.
std::string_view event_reason(model::Reason reason);

// "8 (7f3a…)", or the hash if it has no number.
std::string revision_name(const settings::RevisionBook& book, std::string_view hash);

// "canary nodes get it".
std::string_view rollout_phase_text(settings::Phase phase);

// The revisions in force with their nodes, and those to which an undo is possible; `now` gives their ages.
std::string render_text(const settings::Stored& stored, base::WallTime now);
Json render_json(const settings::Stored& stored);

}  // namespace tidemark::policy::explain
