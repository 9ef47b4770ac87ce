// The limits of an offer that come from the evictions of its pool (policy/evict/budget).
#pragma once

namespace tidemark::policy::sell {

// What the evictions of its pool mean for a node's offer.
struct PoolGuard {
  bool stopped = false;   // nothing new is sold
  bool truthful = false;  // nothing is over-reported
  bool operator==(const PoolGuard&) const = default;
};

}  // namespace tidemark::policy::sell
