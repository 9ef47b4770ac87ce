// Renders the progress of new settings: for events, logs and `tidemark list revisions`. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "policy/pools/pools.h"
#include "policy/rollout/revision.h"
#include "policy/rollout/rollout.h"
#include "policy/rollout/stored.h"

namespace tidemark::policy {

// One line: "revision 8 (7f3a…): paused: … [TM-ROLLOUT-012]: 13 evictions in pool canary, 12 allowed".
std::string render_text(model::Reason reason, const RolloutState& state, const RevisionBook& book,
                        const RolloutPlan& plan);
std::string render_text(const PoolOverlap& overlap);

// The reason of a Kubernetes event: one word in its style.
std::string_view event_reason(model::Reason reason);

// "8 (7f3a…)", or the hash if it has no number.
std::string revision_name(const RevisionBook& book, std::string_view hash);

// "canary nodes get it".
std::string_view rollout_phase_text(Phase phase);

// The revisions in force with their nodes, and those to which an undo is possible; `now` gives their ages.
std::string render_text(const Stored& stored, base::WallTime now);
Json render_json(const Stored& stored);

}  // namespace tidemark::policy
