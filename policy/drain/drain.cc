#include "policy/drain/drain.h"

namespace tidemark::policy {
namespace {

bool is_recent(base::WallTime by, base::WallTime now) {
  return by <= now && now - by < kDrainKept;
}

}  // namespace

std::optional<base::WallTime> yarn_drain(const DrainInput& input) {
  if (!input.wanted) return std::nullopt;
  if (input.told && !input.given_again && is_recent(*input.told, input.now)) return input.told;
  std::optional<base::WallTime> by = input.line_comes_down;
  if (input.order_ends && (!by || *input.order_ends < *by)) by = input.order_ends;
  return by;
}

std::optional<base::WallTime> drain_in_force(const model::YarnDrain& drain, std::int64_t offer_generation,
                                             base::WallTime now) {
  if (drain.generation != offer_generation || now - drain.by >= kDrainKept) return std::nullopt;
  return drain.by;
}

bool drain_is_due(const model::YarnDrain& drain, std::int64_t offer_generation, base::WallTime now) {
  return offer_generation != 0 && drain.generation == offer_generation && is_recent(drain.by, now);
}

}  // namespace tidemark::policy
