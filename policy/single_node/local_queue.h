// Decides which pods a machine without a cluster binds next.
//
//   order       online before offline, higher priority first, then pods that have waited for 10 minutes, then older,
//               then by name
//   free        = allocatable − Σ requests of bound pods − Σ requests of those bound before in this pass
//               unknown while not all pods are known: then none is bound, or capacity would be sold twice
//   bound       if every requested resource is free, in this order
//   passing     a smaller pod may be bound while a bigger one before it waits, until that one waits for 10 minutes:
//               then no later pod gets a resource that the bigger one lacks, except by kind or priority. A pod that
//               does not fit the empty node holds no other back
//   off         no offline pod is bound if offline work was switched off or drains, not even one without requests, for
//               which there is always room
//   cool-down   no offline pod is bound for 30 s after offline work was evicted: the free capacity may be what the
//               eviction freed
//
// Total: sums of extreme amounts are clamped to int64. If the clock was set, "older" follows the recorded times; pods
// that wait for 10 minutes come before pods that look older since then.
#pragma once

#include <chrono>

#include "policy/single_node/queue_types.h"

namespace tidemark::policy::single_node {

inline constexpr base::Duration kPassedMax = std::chrono::minutes(10);
inline constexpr base::Duration kEvictionPause = std::chrono::seconds(30);

LocalQueuePlan local_queue(const LocalQueueInputs& inputs);

}  // namespace tidemark::policy::single_node
