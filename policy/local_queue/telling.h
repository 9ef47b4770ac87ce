// Whether a waiting pod is to be told anew: what is free moves all the time, and each word of it is a write.
#pragma once

#include "policy/local_queue/queue_types.h"

namespace tidemark::policy {

// Another reason, resource, key or place. Of numbers only a move that a reader would act on:
//
//   place, and how many wait    any move up to 10, beyond that a tenth
//   free, sold                  a tenth of what is wanted
//   what is left of a pause     never
bool worth_telling(const QueueWait& told, const QueueWait& now);

}  // namespace tidemark::policy
