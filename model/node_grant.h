// How many evictions a node may make in an hour, as granted by the manager.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace tidemark::model {

inline constexpr base::Duration kGrantLasts = std::chrono::hours(1);  // a grant counts for this long past its end

struct EvictionGrant {
  std::int64_t per_hour = 0;  // evictions of offline tasks in any hour
  base::WallTime until;

  bool counts(base::WallTime at) const { return per_hour > 0 && at < until + kGrantLasts; }
  bool operator==(const EvictionGrant&) const = default;
};

struct NodeGrant {
  EvictionGrant now;
  std::optional<EvictionGrant> before;  // a larger one that may still be in use

  std::int64_t held(base::WallTime at) const;
  bool operator==(const NodeGrant&) const = default;
};

}  // namespace tidemark::model
