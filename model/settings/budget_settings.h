// Settings of a pool for evictions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace tidemark::model {

// At least `at_least` evictions within `window`, and more than `rate_percent` % of what ended in it, stop the pool.
struct BreakerSettings {
  bool watched = true;  // false: the breaker never opens
  base::Duration window = std::chrono::minutes(10);
  std::int64_t at_least = 20;
  std::int64_t rate_percent = 10;
  base::Duration cool_down = std::chrono::minutes(30);  // before it sells again, and then as long on probation
  bool operator==(const BreakerSettings&) const = default;
};

inline constexpr base::Duration kBackOff = std::chrono::minutes(2);
inline constexpr base::Duration kBackOffMax = std::chrono::hours(1);

// Evictions of a node without a grant in an hour, in a pool that grants them: enough to save a machine, too few to
// empty a cluster.
inline constexpr std::int64_t kUngrantedEvictionsPerHour = 2;
// The same in other pools with profile tidemark. Koordinator has no such limit.
inline constexpr std::int64_t kNodeEvictionsPerHour = 20;

struct BudgetSettings {
  std::int64_t job_per_hour = 10;             // evictions of one job
  std::optional<std::int64_t> pool_per_hour;  // of all jobs; nullopt: no limit
  bool grants = false;  // `pool_per_hour` is granted to the nodes in parts (policy/evict/budget/grants.h)
  BreakerSettings breaker;
  // A node sells nothing new for this long after an eviction, so that the job is not placed straight back. nullopt:
  // kBackOff with profile tidemark; Koordinator has none.
  std::optional<base::Duration> back_off;
  std::optional<std::int64_t> node_per_hour{};  // of a node without a grant; nullopt: see node_evictions_of()
  bool operator==(const BudgetSettings&) const = default;
};

}  // namespace tidemark::model
