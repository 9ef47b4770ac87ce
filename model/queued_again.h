// How often a Job of one machine was queued again: it was evicted, or its machine stopped. Its pods cannot carry the
// count, because eviction removes them.
//
//    annotation  tidemark.io/queued-again       of the Job: the count
//    annotation  tidemark.io/queued-again-pods  uids of pods that are in the count and may still exist: each once
#pragma once

#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace tidemark::model {

inline constexpr std::string_view kQueuedAgainAnnotation = "tidemark.io/queued-again";
inline constexpr std::string_view kQueuedAgainPodsAnnotation = "tidemark.io/queued-again-pods";
inline constexpr std::int64_t kQueuedAgainMax = 1'000'000;

// 0 if the text is not a count: any user may write the annotation.
inline std::int64_t queued_again(std::string_view annotation) {
  const std::int64_t times = base::parse_int(annotation).value_or(0);
  return times < 0 || times > kQueuedAgainMax ? 0 : times;
}

}  // namespace tidemark::model
