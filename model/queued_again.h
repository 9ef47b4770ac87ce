// How often a Job of one machine was queued again: it was evicted, or its machine ended. Its pods tell it no more, they
// go with their eviction.
//
//   annotation  tidemark.io/queued-again       of the Job: so often
//   annotation  tidemark.io/queued-again-pods  uids of pods that are in that number and may be there still: each once
#pragma once

#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace tidemark::model {

inline constexpr std::string_view kQueuedAgainAnnotation = "tidemark.io/queued-again";
inline constexpr std::string_view kQueuedAgainPodsAnnotation = "tidemark.io/queued-again-pods";
inline constexpr std::int64_t kQueuedAgainMax = 1'000'000;

// 0 of what is no count: anybody may write there.
inline std::int64_t queued_again(std::string_view annotation) {
  const std::int64_t times = base::parse_int(annotation).value_or(0);
  return times < 0 || times > kQueuedAgainMax ? 0 : times;
}

}  // namespace tidemark::model
