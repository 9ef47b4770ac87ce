#include "policy/route/side.h"

namespace tidemark::policy::route {
namespace {

bool applies(const SideRule& rule, const RouteInput& input) {
  return (rule.business.empty() || rule.business == input.business) &&
         (rule.queue.empty() || rule.queue == input.queue) && input.name.starts_with(rule.name_prefix);
}

struct Ruled {
  std::array<bool, kSides> banned{};
  std::optional<Side> pin;
};

Ruled ruled(const RouteInput& input, const RouteRules& rules) {
  Ruled out;
  out.banned[static_cast<std::size_t>(Side::kKubernetes)] = input.comparison_differs;
  for (const SideRule& rule : rules.rules) {
    if (!applies(rule, input)) continue;
    if (rule.ban) {
      out.banned[static_cast<std::size_t>(rule.side)] = true;
    } else if (!out.pin) {
      out.pin = rule.side;
    }
  }
  return out;
}

}  // namespace

RouteDecision choose_side(const RouteInput& input, const RouteRules& rules) {
  const Ruled by_rules = ruled(input, rules);
  const auto possible = [&](Side side) { return input.possible[static_cast<std::size_t>(side)]; };
  const auto banned = [&](Side side) { return by_rules.banned[static_cast<std::size_t>(side)]; };
  const auto switched_off = [&](Side side) { return side == Side::kKubernetes && input.no_more_kubernetes; };
  const auto full = [&](Side side) {
    return side == Side::kKubernetes && input.kubernetes_waiting >= rules.kubernetes_waiting_max;
  };
  // A run that has one side only: it goes there, or waits for it.
  const auto only = [&](Side side, RouteReason reason) -> RouteDecision {
    if (switched_off(side)) return {std::nullopt, RouteReason::kWaitsForSwitch};
    if (full(side)) return {std::nullopt, RouteReason::kWaitsForOthers};
    return {side, reason};
  };

  if (input.left) {
    const Side side = other(*input.left);
    if (!possible(side) || (side == Side::kKubernetes && input.comparison_differs))
      return {std::nullopt, RouteReason::kNoSidePossible};
    return only(side, RouteReason::kMoved);
  }
  for (const Side side : {Side::kKubernetes, Side::kYarn}) {
    const Side rest = other(side);
    if (possible(side) && !banned(side)) continue;
    if (!possible(rest) || banned(rest)) return {std::nullopt, RouteReason::kNoSidePossible};
    if (!possible(side)) return only(rest, RouteReason::kOnlyPossibleSide);
    const bool differs = side == Side::kKubernetes && input.comparison_differs;
    return only(rest, differs ? RouteReason::kSidesDiffer : RouteReason::kBannedByRule);
  }
  if (input.no_more_kubernetes) return {Side::kYarn, RouteReason::kSwitchedOff};
  if (input.pin) return only(*input.pin, RouteReason::kPinnedByJob);
  if (by_rules.pin) return only(*by_rules.pin, RouteReason::kPinnedByRule);
  if (input.draw >= rules.kubernetes_percent) return {Side::kYarn, RouteReason::kBeyondShare};
  if (full(Side::kKubernetes)) return {Side::kYarn, RouteReason::kTooManyWaiting};
  return {Side::kKubernetes, RouteReason::kWithinShare};
}

}  // namespace tidemark::policy::route
