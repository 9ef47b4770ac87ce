// Renders the reason for a waiting pod, in its condition and for `kubectl describe`. Pure.
#pragma once

#include <string>
#include <string_view>

#include "policy/single_node/queue_types.h"

namespace tidemark::policy::single_node {

// "position 3 of 7: batch-cpu: 4 cores wanted, 1.2 free of 6 sold to batch"
std::string local_queue_text(const QueueWait& wait);

// The reason of its condition PodScheduled, in Kubernetes' words.
std::string_view local_queue_condition_reason(QueueReason reason);

}  // namespace tidemark::policy::single_node
