// Counts tasks, including online pods, that were evicted per node within the last hour; a rollout pauses on them.
// Ordered evictions do not count.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/settings/rollout/rollout.h"

namespace tidemark::manager {

class EvictionTally {
 public:
  static constexpr base::Duration kKept = std::chrono::hours(1);

  void evicted(std::string_view node, base::WallTime when, std::int64_t times = 1);

  // In the window that ends now, a pool each. A node without a pool (gone meanwhile) counts nowhere.
  std::vector<policy::settings::PoolEvictions> count(base::WallTime now, base::Duration window,
                                                     const std::function<std::string(std::string_view node)>& pool_of);

 private:
  struct Seen {
    base::WallTime when;
    std::string node;
    std::int64_t times = 1;
  };
  std::deque<Seen> seen_;
};

}  // namespace tidemark::manager
