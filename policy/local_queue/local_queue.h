// Which pods a machine without a cluster takes next.
//
//   order       online before offline, higher priority first, then who has waited for 10 minutes, then older, then by
//               name
//   free        = allocatable − Σ requests of bound pods − Σ requests of those bound before in this pass
//               unknown while not all pods are known: then nobody is bound, or what one of the others has is sold twice
//   bound       where every resource that it asks for is free, in this order
//   passing     a smaller pod may be bound while a bigger one before it waits, until that one waits for 10 minutes:
//               then nobody behind it gets a resource that the bigger one lacks, but by kind or priority. One that the
//               empty node could not hold either holds nobody back
//   off         nothing offline is bound where it was switched off, or drains: also not what asks for nothing, for
//               which there is always room
//   cool-down   nothing offline is bound for 30 s after offline work was evicted: what room there is may be the room
//               that the node took back
//
// Total: wild amounts hold at the ends of int64. Where the clock was set, "older" is what it said; who waits for 10
// minutes comes before whoever looks older since then.
#pragma once

#include <chrono>

#include "policy/local_queue/queue_types.h"

namespace tidemark::policy {

inline constexpr base::Duration kPassedMax = std::chrono::minutes(10);
inline constexpr base::Duration kEvictionPause = std::chrono::seconds(30);

LocalQueuePlan local_queue(const LocalQueueInputs& inputs);

}  // namespace tidemark::policy
