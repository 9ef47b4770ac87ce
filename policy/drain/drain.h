// When the time to drain is over for YARN's containers on a node, and what is beyond its offer ends there as
// pre-empted.
//
//   by = the earlier of   the moment at which the water line has come down   (policy/calendar, within its `lead`)
//                         the end of the order to drain                      (policy/state)
//      = as it was told, for kDrainKept after that moment: whoever ends them may come a bit later. Not where YARN is
//        given again what an order took
//
// Until then nothing new is let in, as ever; a cut that has another cause (what online work uses) ends nobody.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/annotations.h"

namespace tidemark::policy {

// So long after its moment a drain is still carried out: by an operator that was away, or whose clock is behind.
inline constexpr base::Duration kDrainKept = std::chrono::minutes(2);

struct DrainInput {
  bool wanted = false;                            // by the node's pool
  std::optional<base::WallTime> line_comes_down;  // nullopt: it does not, within its lead
  std::optional<base::WallTime> order_ends;       // of an order to drain YARN's side
  std::optional<base::WallTime> told;             // what the node carries with the offer that is in force
  bool given_again = false;                       // that offer was nothing by an order, and something is offered now
  base::WallTime now;
};

// What the node is to carry with YARN's offer; nullopt: what runs goes on.
std::optional<base::WallTime> yarn_drain(const DrainInput& input);

// Until when work drains by what stands beside an offer; nullopt: it goes with another one, or is long over.
std::optional<base::WallTime> drain_in_force(const model::YarnDrain& drain, std::int64_t offer_generation,
                                             base::WallTime now);

// Whether containers beyond the offer of `offer_generation` are to end now.
bool drain_is_due(const model::YarnDrain& drain, std::int64_t offer_generation, base::WallTime now);

}  // namespace tidemark::policy
