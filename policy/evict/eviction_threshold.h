// A threshold of a kubelet: a value of its `evictionHard` or `evictionSoft`, as its configz shows it. The grace period
// of a soft threshold counts as 0 here, so offline work is evicted that much earlier.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace tidemark::policy::evict {

struct EvictionThreshold {
  std::int64_t bytes = 0;
  std::int64_t milli_percent = 0;  // 7500 is 7.5 % of the capacity; 0: use `bytes`
  bool soft = false;               // from evictionSoft
  bool operator==(const EvictionThreshold&) const = default;
};

//   "100Mi"         bytes
//   "10%", "7.5%"   a share; finer than a thousandth of a percent is rounded up
// nullopt: no threshold; "0%" and "100%" mean that to a kubelet.
Result<std::optional<EvictionThreshold>> parse_eviction_threshold(std::string_view text);

// The free amount at the threshold, of `capacity`; rounded up, at least 0.
std::int64_t threshold_bytes(const EvictionThreshold& threshold, std::int64_t capacity);

// The threshold that is reached first for this capacity. nullopt: there is none.
std::optional<EvictionThreshold> reached_first(const std::optional<EvictionThreshold>& hard,
                                               const std::optional<EvictionThreshold>& soft, std::int64_t capacity);

}  // namespace tidemark::policy::evict
