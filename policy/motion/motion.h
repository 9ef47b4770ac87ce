// How fast what a node offers may move. A cut protects someone and is applied at once; growth is a favour and can wait.
//
//   wanted ≤ offered                 → wanted
//   the measurement is not fresh     → offered, and later less (see below)
//   wanted − offered ≤ dead band     → offered
//   otherwise                        → min(wanted, offered + slew × time since it last changed, two minutes at most)
//
// Fresh means: this process saw NodeMetric.status.updateTime change not long ago. The time stamp itself is not asked,
// so a node whose clock is wrong is neither stale nor fresh for ever. When the changes stop, the offer
//
//   is held     for `hold`: it may be cut, not grow
//   decays      then, in `decay_steps` equal steps of `decay_step` each, toward the least that this node could offer at
//               this hour lately (0 where nothing is known)
//   is nothing  after `forget`
//
// There is no cliff: a fleet whose agents stop at once gives its capacity back in steps that somebody can watch. Nor is
// there one where this process was deaf (without_unheard): when an API server comes back after an hour, no node was
// silent for an hour.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "model/reason.h"
#include "model/resources.h"

namespace tidemark::policy {

struct MotionConfig {
  // Shares of the node's capacity, so that one setting fits small nodes and large ones.
  std::int64_t dead_band_permille = 10;
  std::int64_t slew_permille_per_minute = 100;

  base::Duration hold = std::chrono::minutes(5);
  base::Duration decay_step = std::chrono::minutes(5);
  std::int64_t decay_steps = 6;
  base::Duration forget = std::chrono::hours(24);

  bool operator==(const MotionConfig&) const = default;
};

// What is remembered of a node between two looks. Kept by the caller; the default value is a node never seen.
struct MotionState {
  std::optional<model::Resources> offered;  // what the last step gave
  base::MonotonicTime changed_at;           // when `offered` last took another value

  std::optional<base::WallTime> stamp;   // status.updateTime when it was last seen to change
  base::MonotonicTime stamp_at;          // when that was
  bool stamp_moved = false;              // it was seen to change: the agent lives, whatever its clock says
  std::optional<model::Resources> held;  // what was offered when the decay began

  bool operator==(const MotionState&) const = default;
};

struct MotionInput {
  model::Resources wanted;                     // what the formulas give for the last measurement
  model::Resources capacity;                   // what dead band and slew are shares of
  std::optional<model::Resources> on_node;     // the origin that the node carries: what a predecessor offered
  std::optional<base::WallTime> stamp;         // status.updateTime
  std::optional<model::Resources> least_ever;  // the least that the node could offer at this hour lately
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
  // Time alone changes the answer: look again after this.
  std::optional<base::Duration> again_after;

  model::Resources offered() const { return {cpu.offered, memory.offered}; }
  bool operator==(const MotionPlan&) const = default;
};

struct MotionStep {
  MotionState state;
  MotionPlan plan;
};

// Total. Never above `wanted` while the measurement is fresh, never growing while it is not, never negative. The first
// value is not slewed: where the node carries an origin it is the starting point (a restart must not starve running
// work, nor forget what its predecessor had slowed down), else all of `wanted` is given once the metric was seen to
// change: a report that stands there at the start may be days old.
MotionStep move(const MotionState& state, const MotionInput& input, const MotionConfig& config,
                base::MonotonicTime now);

// The same node as if the time had not passed in which no report of anybody could come, since no API server answered,
// or took any: whether its agent lives is not known of that time. What was reported before is not fresh any more,
// though: nothing grows on it.
MotionState without_unheard(MotionState state, base::Duration unheard, const MotionConfig& config,
                            base::MonotonicTime now);

}  // namespace tidemark::policy
