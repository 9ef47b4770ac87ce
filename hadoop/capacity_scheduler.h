// Queues in capacity-scheduler.xml.
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
  std::optional<std::set<std::string>> labels;  // nullopt: any. A queue that may use a label may also use none
  Resource largest;
  bool operator==(const QueueBound&) const = default;
};

// `cluster` applies if no queue has less (largest_container of yarn-site.xml). A queue's own maximum-allocation-mb and
// -vcores apply, each separately and up to the cluster's, even above the parent's; without them the parent's apply. If
// a queue sets both in maximum-allocation, only that applies. accessible-node-labels works the same way; the root queue
// has all labels. A file without queues limits nothing.
Result<std::vector<QueueBound>> queue_bounds(const Site& scheduler, const Resource& cluster);

// Largest container that may be requested in the partition; zero if no queue may use it. "": nodes without a label.
Resource largest_in(const std::vector<QueueBound>& bounds, std::string_view partition);

}  // namespace tidemark::hadoop
