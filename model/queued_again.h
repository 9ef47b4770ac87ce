// How often a Job of one machine was queued again: it was evicted, or its machine ended. Its pods tell it no more, they
// go with their eviction.
//
//   annotation  tidemark.io/queued-again       of the Job: so often
//   annotation  tidemark.io/queued-again-pods  uids of pods that are in that number and may be there still: each once
#pragma once

#include <string_view>

namespace tidemark::model {

inline constexpr std::string_view kQueuedAgainAnnotation = "tidemark.io/queued-again";
inline constexpr std::string_view kQueuedAgainPodsAnnotation = "tidemark.io/queued-again-pods";

}  // namespace tidemark::model
