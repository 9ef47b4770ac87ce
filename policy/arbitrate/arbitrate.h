// Two schedulers hand out one node, and each sees late what the other did: together they may have sold more of it than
// it has to give. Whether they did, and when that is over.
//
//   allowed    max(gives, rest)                  of each resource
//   oversold   held > allowed × (1 + tolerance)
//   rest'      min(held, allowed)                what there is of what was let in while there was room for it
//   fits       held ≤ allowed
//
// What was let in before is no overselling: where the node gives less than it did (the water line fell, online work
// grew) nobody sold too much, and suppression deals with it. So it takes work that came while there was no room for it.
//
//   fits    TM-ARBITRATE-001   nothing to do
//   reject  TM-ARBITRATE-002   from the look that finds it oversold on: neither side is offered more than it holds, and
//                              the node is marked (model/oversold.h). Work that is over makes room for no other.
//   over    TM-ARBITRATE-004   once, after it fitted for `over_after` without a break
//
// What follows on the node itself, where it shows (TM-ARBITRATE-003), is policy/evict/gap.h's.
//
// A side that does not say what it holds proves nothing: what stood stands, and no time runs.
#pragma once

#include <optional>

#include "base/clock.h"
#include "model/reason.h"
#include "model/resources.h"
#include "policy/arbitrate/settings.h"

namespace tidemark::policy {

struct ArbitrateSeen {
  std::optional<model::Resources> held;  // by all sides, in real units; nullopt: not known
  model::Resources gives;                // the origin: what batch may use before the sides split it
};

struct ArbitrateState {
  bool looked = false;                            // false: a node never seen, whose mark tells what was decided before
  bool rejecting = false;                         // what the mark says, then
  std::optional<model::Resources> rest;           // nullopt: nothing was known yet
  std::optional<base::MonotonicTime> fits_since;  // while it rejects
  bool operator==(const ArbitrateState&) const = default;
};

struct ArbitratePlan {
  model::Reason reason = model::Reason::kArbitrateFits;
  std::optional<model::Resources> held;
  model::Resources gives;
  model::Resources excess;  // held above what is given; at least 0
  bool operator==(const ArbitratePlan&) const = default;

  bool rejects() const { return reason == model::Reason::kArbitrateReject; }
};

struct ArbitrateStep {
  ArbitrateState state;
  ArbitratePlan plan;
  std::optional<base::Duration> again_after;
};

// Total.
ArbitrateStep arbitrate(const ArbitrateState& before, const ArbitrateSeen& seen, const ArbitrateSettings& settings,
                        base::MonotonicTime now);

}  // namespace tidemark::policy
