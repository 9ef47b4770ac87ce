// What capacity-scheduler.xml says of queues.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/site.h"
#include "hadoop/yarn_records.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kQueuesMax = 10'000;

// The largest container, by memory and then by vcores, that may be asked for in some queue of those that may ask for
// the same partitions.
struct QueueBound {
  std::optional<std::set<std::string>> labels;  // nullopt: any. Who may ask for one may ask for none
  Resource largest;
  bool operator==(const QueueBound&) const = default;
};

// `cluster` is what holds where no queue says less (largest_container of yarn-site.xml): a queue's own
// maximum-allocation-mb and -vcores count, each for itself and up to the cluster's, be it more than the queue above
// has; where it has none what counts for that one. A queue that says both in one word, maximum-allocation, means that
// alone. So it is with accessible-node-labels, of which the root queue has all. A file that names no queue bounds
// nothing.
Result<std::vector<QueueBound>> queue_bounds(const Site& scheduler, const Resource& cluster);

// That may be asked for of the partition: nothing where no queue may. "": of nodes without a label.
Resource largest_in(const std::vector<QueueBound>& bounds, std::string_view partition);

}  // namespace tidemark::hadoop
