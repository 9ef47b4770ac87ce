// The leaf queues of YARN's scheduler, from GET /ws/v1/cluster/scheduler: those of the CapacityScheduler and of the
// FairScheduler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

struct QueueState {
  std::string path;                     // root.default
  std::int64_t pending = 0;             // applications that are not active
  std::int64_t pending_containers = 0;  // of active ones
  double used_percent = 0;              // of its largest capacity, or of the cluster if that is fuller
};
// Empty for a scheduler without a tree of queues.
Result<std::vector<QueueState>> parse_queues(std::string_view json);

// The queue that an application names by its path or by its last word; null: none, or several.
const QueueState* find_queue(const std::vector<QueueState>& queues, std::string_view name);

}  // namespace tidemark::hadoop
