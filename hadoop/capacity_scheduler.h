// What capacity-scheduler.xml says of queues.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "hadoop/site.h"
#include "hadoop/yarn_records.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kQueuesMax = 10'000;

// The largest container, by memory and then by vcores, that may be asked for in some queue. `cluster` is what holds
// where no queue says less (largest_container of yarn-site.xml): a queue's own maximum-allocation-mb and -vcores count,
// each for itself and up to the cluster's, be it more than the queue above has; where it has none what counts for that
// one. A queue that says both in one word, maximum-allocation, means that alone. A file that names no queue bounds
// nothing.
Result<Resource> largest_in_any_queue(const Site& scheduler, const Resource& cluster);

}  // namespace tidemark::hadoop
