// Whether what was decided about a node is worth a write now, and when time alone changes the answer. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "manager/capacity/decide.h"
#include "policy/overcommit/writes.h"

namespace tidemark::manager {

// Each node is looked at so often at least. It also keeps sums with settings, which know no upper end, within range.
inline constexpr std::chrono::hours kLookAgainMax(24);

// A node's own annotation is held to no range: below these each look at the node would be a write.
policy::WriteThresholds write_thresholds(const NodeDecision& decision);

// Of the amounts and the origin. `since_write`: of this process; nullopt: it never wrote the node.
policy::WriteDecision worth_a_write(const NodeDecision& decision, std::optional<base::Duration> since_write);

// The same of a node that is only cut, with either profile.
policy::WriteDecision worth_a_cut(const NodeDecision& decision);
// Of what Kubernetes may use, and of what batch may in all.
policy::WriteDecision is_cut(const NodeDecision& decision);

// How long from now; nullopt: only an event changes it.
std::optional<base::Duration> look_again(const NodeDecision& decision, base::WallTime now);

}  // namespace tidemark::manager
