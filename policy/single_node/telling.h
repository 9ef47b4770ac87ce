// Whether to update the status of a waiting pod: free capacity changes all the time, and each update is a write.
#pragma once

#include "policy/single_node/queue_types.h"

namespace tidemark::policy::single_node {

// True for another reason, resource, key or place. For numbers only a change that a reader would act on:
//
//   place, and how many wait    any change up to 10, beyond that a tenth
//   free, sold                  a tenth of what is wanted
//   remaining pause             never
bool worth_telling(const QueueWait& told, const QueueWait& now);

}  // namespace tidemark::policy::single_node
