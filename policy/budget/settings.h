// What the settings say of a pool's evictions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace tidemark::policy {

// At least `at_least` evictions within `window`, and more than `rate_percent` % of what ended in it, stop the pool.
struct BreakerSettings {
  bool watched = true;  // false: nothing stops it
  base::Duration window = std::chrono::minutes(10);
  std::int64_t at_least = 20;
  std::int64_t rate_percent = 10;
  base::Duration cool_down = std::chrono::minutes(30);  // before it sells again, and then so long on probation
  bool operator==(const BreakerSettings&) const = default;
};

inline constexpr base::Duration kBackOff = std::chrono::minutes(2);
inline constexpr base::Duration kBackOffMax = std::chrono::hours(1);

struct BudgetSettings {
  std::int64_t job_per_hour = 10;             // evictions of one job
  std::optional<std::int64_t> pool_per_hour;  // of all; nullopt: the nodes' own small budgets are the limit
  bool grants = false;  // `pool_per_hour` is granted to the nodes, each its part (policy/budget/grants.h)
  BreakerSettings breaker;
  // For so long a node sells nothing new after an eviction, so that the job is not placed straight back. nullopt:
  // kBackOff with profile tidemark; the peer has none.
  std::optional<base::Duration> back_off;
  bool operator==(const BudgetSettings&) const = default;
};

}  // namespace tidemark::policy
