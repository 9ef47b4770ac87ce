// Decides when the time to drain is over for the YARN containers of a node. Then containers beyond the offer are
// preempted.
//
//   by = the earlier of   the moment at which the water line has come down, within its `lead`
//                         the end of the order to drain (policy/state)
//      = the published moment, for kDrainKept after it: the operator may act a bit later. Not if YARN gets capacity
//        back that an order took
//
// Until then no new work is admitted, as always. A cut with another cause (online use) preempts nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace tidemark::policy::evict {

// A drain is still carried out this long after its moment: by an operator that was down, or whose clock is behind.
inline constexpr base::Duration kDrainKept = std::chrono::minutes(2);

struct DrainInput {
  bool wanted = false;                            // by the node's pool
  std::optional<base::WallTime> line_comes_down;  // nullopt: not within its lead
  std::optional<base::WallTime> order_ends;       // of an order to drain YARN's side
  std::optional<base::WallTime> told;             // the value on the node with the offer in force
  bool given_again = false;                       // an order made that offer 0, and now it is above 0
  base::WallTime now;
};

// The value that the node gets with YARN's offer; nullopt: containers continue.
std::optional<base::WallTime> yarn_drain(const DrainInput& input);

// The published moment; nullopt: unset, or long over.
std::optional<base::WallTime> drain_in_force(std::optional<base::WallTime> by, base::WallTime now);

// Whether containers beyond the offer with this moment are to be preempted now.
bool drain_is_due(base::WallTime by, base::WallTime now);

}  // namespace tidemark::policy::evict
