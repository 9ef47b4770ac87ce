#include "policy/evict/drain.h"

namespace tidemark::policy::evict {
std::optional<base::WallTime> yarn_drain(const DrainInput& input) {
  if (!input.wanted) return std::nullopt;
  if (input.told && !input.given_again && drain_is_due(*input.told, input.now)) return input.told;
  std::optional<base::WallTime> by = input.line_comes_down;
  if (input.order_ends && (!by || *input.order_ends < *by)) by = input.order_ends;
  return by;
}

std::optional<base::WallTime> drain_in_force(std::optional<base::WallTime> by, base::WallTime now) {
  return by && now - *by < kDrainKept ? by : std::nullopt;
}

bool drain_is_due(base::WallTime by, base::WallTime now) {
  return by <= now && now - by < kDrainKept;
}

}  // namespace tidemark::policy::evict
