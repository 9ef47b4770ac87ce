// Limits how fast the offer of a node changes. A cut protects work and applies at once; growth can wait.
//
//   wanted ≤ offered                 → wanted
//   the measurement is not fresh     → offered, and later less (see below)
//   wanted − offered ≤ dead band     → offered
//   otherwise                        → min(wanted, offered + slew × time since it last changed, two minutes at most)
//
// Fresh means: this process saw NodeMetric.status.updateTime change recently. The value of the time stamp is not used,
// so a node with a wrong clock is neither stale nor fresh forever. When the changes stop, the offer
//
//   is held     for `hold`: it may be cut, not grow
//   decays      then, in `decay_steps` equal steps of `decay_step` each, toward the least that this node could recently
//               offer at this hour (0 if unknown)
//   is 0        after `forget`
//
// There is no cliff: if the agents of a whole fleet stop at once, its capacity shrinks in steps that an operator can
// watch. The same applies if this process could not receive reports (without_unheard): when an API server comes back
// after an hour, no node counts as silent for that hour.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/settings/motion_config.h"

namespace tidemark::policy::sell {

// The memory of a node between two passes. The caller keeps it; the default value is a new node.
struct MotionState {
  std::optional<model::Resources> offered;  // result of the last step
  base::MonotonicTime changed_at;           // when `offered` last changed

  std::optional<base::WallTime> stamp;   // status.updateTime when it was last seen to change
  base::MonotonicTime stamp_at;          // time of that change
  bool stamp_moved = false;              // it was seen to change: the agent is alive, whatever its clock shows
  std::optional<model::Resources> held;  // the offer when the decay started

  bool operator==(const MotionState&) const = default;
};

struct MotionInput {
  model::Resources wanted;                     // result of the formulas for the last measurement
  model::Resources capacity;                   // base of the shares of dead band and slew
  std::optional<model::Resources> on_node;     // the origin on the node: the offer of a predecessor
  std::optional<base::WallTime> stamp;         // status.updateTime
  std::optional<model::Resources> least_ever;  // the least that the node could recently offer at this hour
};

enum class Freshness : std::uint8_t {
  kFresh,
  kUnconfirmed,  // not seen to change yet: this process has just started, or the agent is gone
  kHeld,
  kDecaying,
  kForgotten,
};

template <class Amount>
struct Motion {
  Amount offered;
  model::Reason reason = model::Reason::kMotionFirst;
  bool operator==(const Motion&) const = default;
};

struct MotionPlan {
  Freshness freshness = Freshness::kFresh;
  Motion<model::CpuMilli> cpu;
  Motion<model::MemoryBytes> memory;
  // Time alone changes the answer: run again after this.
  std::optional<base::Duration> again_after;

  model::Resources offered() const { return {cpu.offered, memory.offered}; }
  bool operator==(const MotionPlan&) const = default;
};

struct MotionStep {
  MotionState state;
  MotionPlan plan;
};

// Total. Never above `wanted` while the measurement is fresh, never growing while it is not, never negative. The first
// value is not slewed. If the node carries an origin, that is the starting point (a restart must not starve running
// work, nor forget the slew of its predecessor). Else all of `wanted` is offered once the metric was seen to change,
// because the report at the start may be days old.
MotionStep move(const MotionState& state, const MotionInput& input, const model::MotionConfig& config,
                base::MonotonicTime now);

// The state without the time in which no report could arrive, because no API server answered or accepted any: whether
// the agent was alive then is unknown. Earlier reports are no longer fresh, though, and allow no growth.
MotionState without_unheard(MotionState state, base::Duration unheard, const model::MotionConfig& config,
                            base::MonotonicTime now);

}  // namespace tidemark::policy::sell
