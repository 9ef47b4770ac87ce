#include "policy/sell/motion.h"

#include <algorithm>

namespace tidemark::policy::sell {
namespace {

using base::Duration;
using model::Reason;

// Unused growth time is not saved beyond this, so that a node without changes for a day does not jump. Agents report
// every minute, and one report may be missed.
constexpr std::chrono::minutes kCreditMax(2);
constexpr std::int64_t kNanosecondsPerMinute = 60'000'000'000;

// Shares of extreme numbers are clamped to int64.
template <class Amount>
Amount permille_of(Amount value, std::int64_t permille) {
  const __int128 product = static_cast<__int128>(value.value) * std::max<std::int64_t>(permille, 0) / 1000;
  return {static_cast<std::int64_t>(std::min<__int128>(product, Amount::max_value().value))};
}

template <class Amount>
Amount not_negative(Amount amount) {
  return std::max(amount, Amount{0});
}

Duration since(base::MonotonicTime then, base::MonotonicTime now) {
  return std::max(now - then, Duration(0));
}

template <class Amount>
Amount grown(Amount capacity, Duration elapsed, const model::MotionConfig& config) {
  const Amount per_minute = permille_of(not_negative(capacity), config.slew_permille_per_minute);
  const auto credit = std::clamp<Duration>(elapsed, Duration(0), kCreditMax);
  const __int128 product = static_cast<__int128>(per_minute.value) * credit.count() / kNanosecondsPerMinute;
  return {static_cast<std::int64_t>(std::min<__int128>(product, Amount::max_value().value))};
}

struct Situation {
  Freshness freshness = Freshness::kFresh;
  std::int64_t step = 0;  // of the decay; 1 is the first
  Duration elapsed{0};    // since the offer last changed
};

Freshness freshness_of(Duration quiet, bool moved, const model::MotionConfig& config) {
  if (quiet >= config.forget) return Freshness::kForgotten;
  if (quiet >= config.hold) return Freshness::kDecaying;
  return moved ? Freshness::kFresh : Freshness::kUnconfirmed;
}

// Without new reports a metric is fresh no longer than this: an agent reports several times in it.
Duration fresh_for(const model::MotionConfig& config) {
  return config.hold / 2;
}

Situation situation(const MotionState& state, const model::MotionConfig& config, base::MonotonicTime now) {
  const Duration quiet = since(state.stamp_at, now);
  Situation found;
  found.elapsed = since(state.changed_at, now);
  found.freshness = freshness_of(quiet, state.stamp_moved, config);
  if (found.freshness == Freshness::kFresh && quiet >= fresh_for(config)) found.freshness = Freshness::kHeld;
  if (found.freshness == Freshness::kDecaying) {
    const Duration step = std::max<Duration>(config.decay_step, std::chrono::seconds(1));
    const auto steps = std::max<std::int64_t>(config.decay_steps, 1);
    found.step = std::min<std::int64_t>((quiet - config.hold) / step + 1, steps);
  }
  return found;
}

// The decay is a line from `held` to `floor`, in whole steps.
template <class Amount>
Amount decayed(Amount held, Amount floor, std::int64_t step, std::int64_t steps) {
  if (floor >= held) return held;
  const __int128 lost = static_cast<__int128>(held.value - floor.value) * step / std::max<std::int64_t>(steps, 1);
  return {held.value - static_cast<std::int64_t>(lost)};
}

template <class Amount>
struct OneAmount {
  std::optional<Amount> offered;
  Amount wanted;
  Amount capacity;
  Amount held;
  Amount floor;
};

template <class Amount>
Motion<Amount> move_one(const OneAmount<Amount>& one, const Situation& situation, const model::MotionConfig& config) {
  const Amount wanted = not_negative(one.wanted);
  if (situation.freshness == Freshness::kForgotten) return {Amount{0}, Reason::kMotionForgotten};
  if (!one.offered) {
    if (situation.freshness == Freshness::kFresh) return {wanted, Reason::kMotionFirst};
    return {Amount{0}, Reason::kMotionUnconfirmed};
  }
  const Amount offered = not_negative(*one.offered);
  if (situation.freshness == Freshness::kDecaying) {
    const Amount limit = decayed(one.held, one.floor, situation.step, config.decay_steps);
    return {std::min({offered, wanted, limit}), Reason::kMotionDecaying};
  }
  if (wanted < offered) return {wanted, Reason::kMotionCut};
  if (wanted == offered) return {wanted, Reason::kMotionSteady};
  if (situation.freshness == Freshness::kUnconfirmed) return {offered, Reason::kMotionUnconfirmed};
  if (situation.freshness == Freshness::kHeld) return {offered, Reason::kMotionHeld};
  if (wanted - offered <= permille_of(not_negative(one.capacity), config.dead_band_permille)) {
    return {offered, Reason::kMotionInsideDeadBand};
  }
  const Amount limit = offered + grown(one.capacity, situation.elapsed, config);
  if (wanted <= limit) return {wanted, Reason::kMotionReached};
  return {limit, Reason::kMotionSlewed};
}

template <class Amount>
OneAmount<Amount> of(Amount model::Resources::* side, const MotionState& state, const MotionInput& input,
                     const std::optional<model::Resources>& offered) {
  OneAmount<Amount> one;
  if (offered) one.offered = (*offered).*side;
  one.wanted = input.wanted.*side;
  one.capacity = input.capacity.*side;
  if (state.held) one.held = not_negative((*state.held).*side);
  if (input.least_ever) one.floor = not_negative((*input.least_ever).*side);
  return one;
}

std::optional<Duration> look_again(const MotionState& state, const MotionPlan& plan, const Situation& situation,
                                   const model::MotionConfig& config, base::MonotonicTime now) {
  const Duration quiet = since(state.stamp_at, now);
  switch (situation.freshness) {
    case Freshness::kForgotten:
      return std::nullopt;
    case Freshness::kDecaying: {
      const Duration step = std::max<Duration>(config.decay_step, std::chrono::seconds(1));
      if (situation.step >= std::max<std::int64_t>(config.decay_steps, 1)) return config.forget - quiet;
      return std::min(config.hold + step * situation.step, config.forget) - quiet;
    }
    case Freshness::kFresh:
    case Freshness::kUnconfirmed:
    case Freshness::kHeld:
      break;
  }
  // A slewed offer continues over time, in steps that are worth a write.
  const bool slewed = plan.cpu.reason == Reason::kMotionSlewed || plan.memory.reason == Reason::kMotionSlewed;
  const Duration until_decay = std::min(config.hold, config.forget) - quiet;
  return slewed ? std::min<Duration>(until_decay, std::chrono::seconds(30)) : until_decay;
}

}  // namespace

MotionStep move(const MotionState& before, const MotionInput& input, const model::MotionConfig& config,
                base::MonotonicTime now) {
  MotionStep out;
  MotionState& state = out.state;
  state = before;

  const bool first_look = !state.stamp.has_value() && !state.offered.has_value();
  if (input.stamp && input.stamp != state.stamp) {
    state.stamp_moved = state.stamp.has_value();  // the first report seen may be days old
    state.stamp = input.stamp;
    state.stamp_at = now;
    state.held = std::nullopt;
  } else if (first_look) {
    state.stamp_at = now;
  }

  const auto offered = state.offered ? state.offered : input.on_node;
  const Situation situation = policy::sell::situation(state, config, now);
  if (situation.freshness == Freshness::kDecaying && !state.held) state.held = offered;

  MotionPlan& plan = out.plan;
  plan.freshness = situation.freshness;
  plan.cpu = move_one(of(&model::Resources::cpu, state, input, offered), situation, config);
  plan.memory = move_one(of(&model::Resources::memory, state, input, offered), situation, config);
  // A node that offers nothing only because its first report is not confirmed has no value yet: its next value is its
  // first, and not slewed.
  const bool none_yet = !offered && situation.freshness != Freshness::kFresh;
  if (!none_yet) {
    const bool fresh = situation.freshness == Freshness::kFresh;  // no credit is earned while it is not
    if (!fresh || !state.offered || *state.offered != plan.offered()) state.changed_at = now;
    state.offered = plan.offered();
  }
  plan.again_after = look_again(state, plan, situation, config, now);
  return out;
}

MotionState without_unheard(MotionState state, Duration unheard, const model::MotionConfig& config,
                            base::MonotonicTime now) {
  const Duration quiet = since(state.stamp_at, now);
  const Duration heard = quiet - std::clamp<Duration>(unheard, Duration(0), quiet);
  state.stamp_at = state.stamp_at + (quiet - std::max(heard, std::min(quiet, fresh_for(config))));
  return state;
}

}  // namespace tidemark::policy::sell
