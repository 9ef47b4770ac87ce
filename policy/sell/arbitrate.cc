#include "policy/sell/arbitrate.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tidemark::policy::sell {
namespace {

using model::CpuMilli;
using model::MemoryBytes;
using model::Reason;
using model::Resources;

using Wide = __int128;  // no sum or product of amounts overflows

constexpr std::int64_t kPermille = 1000;

std::int64_t above(std::int64_t amount, std::int64_t line) {
  const Wide more = Wide{amount} - std::max<std::int64_t>(line, 0);
  return static_cast<std::int64_t>(std::clamp<Wide>(more, 0, std::numeric_limits<std::int64_t>::max()));
}

bool without_room(std::int64_t held, std::int64_t allowed, std::int64_t tolerance_permille) {
  return Wide{held} * kPermille > Wide{allowed} * (kPermille + tolerance_permille);
}

bool oversold(const Resources& held, const Resources& allowed, std::int64_t tolerance_permille) {
  return without_room(held.cpu.value, allowed.cpu.value, tolerance_permille) ||
         without_room(held.memory.value, allowed.memory.value, tolerance_permille);
}

}  // namespace

ArbitrateStep arbitrate(const ArbitrateState& before, const ArbitrateSeen& seen,
                        const model::ArbitrateSettings& settings, base::MonotonicTime now) {
  ArbitrateStep out{before, {}, std::nullopt};
  ArbitrateState& state = out.state;
  ArbitratePlan& plan = out.plan;
  state.looked = true;
  plan.held = seen.held;
  plan.gives = seen.gives;
  if (!seen.held) {
    state.fits_since.reset();
    if (state.rejecting) plan.reason = Reason::kArbitrateReject;
    return out;
  }
  plan.excess = {CpuMilli{above(seen.held->cpu.value, seen.gives.cpu.value)},
                 MemoryBytes{above(seen.held->memory.value, seen.gives.memory.value)}};
  // At the first look it is unknown which work came last: unless the node is marked, all work counts as work that came
  // while there was room.
  const Resources rest = before.rest.value_or(before.rejecting ? Resources{} : *seen.held);
  const Resources allowed = model::max(model::max(seen.gives, rest), Resources{});
  state.rest = model::min(*seen.held, allowed);
  const auto tolerance = std::clamp<std::int64_t>(settings.tolerance_permille, 0, kPermille);
  if (oversold(*seen.held, allowed, tolerance)) state.rejecting = true;
  if (!state.rejecting) return out;
  plan.reason = Reason::kArbitrateReject;
  if (seen.held->cpu > allowed.cpu || seen.held->memory > allowed.memory) {
    state.fits_since.reset();
    return out;
  }
  if (!state.fits_since) state.fits_since = now;
  const base::Duration fitted = now - *state.fits_since;
  if (fitted < settings.over_after) {
    out.again_after = settings.over_after - fitted;
    return out;
  }
  plan.reason = Reason::kArbitrateOver;
  state.rejecting = false;
  state.fits_since.reset();
  return out;
}

}  // namespace tidemark::policy::sell
