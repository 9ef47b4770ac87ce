// Decides whether the two schedulers of a node oversold it, and when that is over. Each of them sees late what the
// other placed.
//
//   allowed    max(gives, rest)                  of each resource
//   oversold   held > allowed × (1 + tolerance)
//   rest'      min(held, allowed)                what is left of the work that came while there was room for it
//   fits       held ≤ allowed
//
// Work that came while there was room is never overselling: if the node gives less later (the water line fell, online
// work grew), suppression deals with it. So only work that came without room can make a node oversold.
//
//   fits    TM-ARBITRATE-001   nothing to do
//   reject  TM-ARBITRATE-002   from the pass that finds it oversold: neither side is offered more than it holds, and
//                              the node is marked (model/oversold.h). Work that ends makes no room for other work.
//   over    TM-ARBITRATE-004   once, after the work fitted for `over_after` without a break
//
// policy/evict/gap.h acts if the node feels it (TM-ARBITRATE-003).
//
// If a side does not report what it holds, the decision stays and no time counts.
#pragma once

#include <optional>

#include "base/clock.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/settings/arbitrate_settings.h"

namespace tidemark::policy::sell {

struct ArbitrateSeen {
  std::optional<model::Resources> held;  // by all sides, in real units; nullopt: unknown
  model::Resources gives;                // the origin: what batch may use before the sides split it
};

struct ArbitrateState {
  bool looked = false;                   // false: first look at the node; its mark carries the earlier decision
  bool rejecting = false;                // from the mark, at the first look
  std::optional<model::Resources> rest;  // nullopt: nothing is known yet
  std::optional<base::MonotonicTime> fits_since;  // while it rejects
  bool operator==(const ArbitrateState&) const = default;
};

struct ArbitratePlan {
  model::Reason reason = model::Reason::kArbitrateFits;
  std::optional<model::Resources> held;
  model::Resources gives;
  model::Resources excess;  // held above what the node gives; at least 0
  bool operator==(const ArbitratePlan&) const = default;

  bool rejects() const { return reason == model::Reason::kArbitrateReject; }
};

struct ArbitrateStep {
  ArbitrateState state;
  ArbitratePlan plan;
  std::optional<base::Duration> again_after;
};

// Total.
ArbitrateStep arbitrate(const ArbitrateState& before, const ArbitrateSeen& seen,
                        const model::ArbitrateSettings& settings, base::MonotonicTime now);

}  // namespace tidemark::policy::sell
