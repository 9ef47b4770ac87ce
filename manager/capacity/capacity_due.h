// Whether what was decided about a node is worth a write now, and when time alone changes the answer. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "manager/capacity/decide.h"
#include "policy/sell/overcommit/writes.h"

namespace tidemark::manager {

// Longest time until a node is decided again. It also keeps sums with settings, which have no upper limit, in range.
inline constexpr std::chrono::hours kLookAgainMax(24);

// Lower limits for the thresholds: a node annotation has no range, and below these every pass would write.
policy::sell::WriteThresholds write_thresholds(const NodeDecision& decision);

// Compares the amounts and the origin. `since_write`: time since the last write of this process; nullopt: none.
policy::sell::WriteDecision worth_a_write(const NodeDecision& decision, std::optional<base::Duration> since_write);

// Whether Kubernetes' offer or the total batch amount gets smaller.
policy::sell::WriteDecision is_cut(const NodeDecision& decision);

// How long from now; nullopt: only an event changes it.
std::optional<base::Duration> look_again(const NodeDecision& decision, base::WallTime now);

}  // namespace tidemark::manager
