#include "policy/state/contest.h"

#include <algorithm>
#include <utility>

namespace tidemark::policy::state {
namespace {

using model::Reason;

base::Duration calm_of(const ContestConfig& config, std::int64_t times) {
  base::Duration calm = config.calm;
  for (std::int64_t i = 1; i < times && calm < config.calm_max; ++i) calm *= 2;
  return std::clamp(calm, base::Duration(0), std::max(config.calm_max, base::Duration(0)));
}

void stand_back(ContestState& state, base::MonotonicTime now) {
  state.overwrites.clear();
  state.reset_at.reset();
  state.on_probation_at.reset();
  state.standing_back = true;
  state.foreign_at = now;
  ++state.times;
}

// Whether the reset is rare enough to be an accident. Then the reset before it no longer counts.
bool comes_seldom(ContestState& state, const ContestConfig& config, base::MonotonicTime now) {
  const auto before = std::exchange(state.reset_at, now);
  const bool seldom = !before || now - *before >= config.reset_gap;
  if (before && seldom) std::erase(state.overwrites, *before);
  return seldom;
}

ContestStep while_standing_back(ContestState state, ContestEvent event, const ContestConfig& config,
                                base::MonotonicTime now) {
  if (event != ContestEvent::kNothing || now < state.foreign_at) state.foreign_at = now;
  const base::Duration left = calm_of(config, state.times) - (now - state.foreign_at);
  if (left > base::Duration(0)) return {std::move(state), std::nullopt, left};
  state.standing_back = false;
  state.on_probation_at = now;
  return {std::move(state), Reason::kContestReturn, std::nullopt};
}

}  // namespace

ContestStep step(const ContestState& before, ContestEvent event, const ContestConfig& config, base::MonotonicTime now) {
  ContestState state = before;
  if (state.standing_back) return while_standing_back(std::move(state), event, config, now);
  std::erase_if(state.overwrites, [&](base::MonotonicTime at) { return now - at > config.window; });
  if (state.reset_at && now - *state.reset_at > config.window) state.reset_at.reset();
  if (state.on_probation_at && now - *state.on_probation_at > config.calm_max) {
    state.on_probation_at.reset();
    state.times = 0;
  }
  if (event != ContestEvent::kOverwritten && event != ContestEvent::kReset) {
    return {std::move(state), std::nullopt, std::nullopt};
  }
  const bool seldom = event == ContestEvent::kReset && comes_seldom(state, config, now);
  state.overwrites.push_back(now);
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(config.overwrites, 1, kOverwritesMax));
  if ((!state.on_probation_at || seldom) && state.overwrites.size() < most) {
    return {std::move(state), Reason::kContestRepair, std::nullopt};
  }
  stand_back(state, now);
  const base::Duration calm = calm_of(config, state.times);
  return {std::move(state), Reason::kContestStandBack, calm};
}

}  // namespace tidemark::policy::state
