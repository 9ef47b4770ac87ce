// Below what a kubelet evicts: a value of its `evictionHard` or `evictionSoft`, as its configz shows it. By a soft one
// it evicts when it was below for a grace period, which counts as none here: so much earlier is offline work gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace tidemark::policy {

struct EvictionThreshold {
  std::int64_t bytes = 0;
  std::int64_t milli_percent = 0;  // 7500 is 7.5 % of what there is; 0: `bytes` says it
  bool soft = false;               // of evictionSoft
  bool operator==(const EvictionThreshold&) const = default;
};

//   "100Mi"         bytes
//   "10%", "7.5%"   a share; finer than a thousandth of a percent is rounded up
// nullopt: none, which "0%" and "100%" mean to a kubelet.
Result<std::optional<EvictionThreshold>> parse_eviction_threshold(std::string_view text);

// What is free at the threshold, of `capacity`; rounded up, at least 0.
std::int64_t threshold_bytes(const EvictionThreshold& threshold, std::int64_t capacity);

// The one that is reached first, where there is so much. nullopt: there is neither.
std::optional<EvictionThreshold> reached_first(const std::optional<EvictionThreshold>& hard,
                                               const std::optional<EvictionThreshold>& soft, std::int64_t capacity);

}  // namespace tidemark::policy
