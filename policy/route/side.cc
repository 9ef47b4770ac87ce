#include "policy/route/side.h"

#include <chrono>

namespace tidemark::policy::route {
namespace {

constexpr std::int64_t kMinuteS = 60;
constexpr std::int64_t kDayMinutes = 24 * 60;
constexpr std::int64_t kWeekDays = 7;
constexpr std::int64_t kWeekdayOf1970 = 4;  // a Thursday

bool applies(const SideRule& rule, const RouteInput& input) {
  return (rule.business.empty() || rule.business == input.business) &&
         (rule.queue.empty() || rule.queue == input.queue) && input.name.starts_with(rule.name_prefix) &&
         (!rule.window || rule.window->contains(input.now));
}

const SideRule* pin_of(const RouteInput& input, const RouteRules& rules) {
  for (const SideRule& rule : rules.rules) {
    if (!rule.ban && applies(rule, input)) return &rule;
  }
  return nullptr;
}

// Why Kubernetes has no room for the run; nullopt: it has, or the signals are unknown.
std::optional<RouteReason> lack_of_room(const RouteInput& input, const RouteRules& rules) {
  const RouteSignals& signals = input.signals;
  if (signals.quota && !fits(signals.need, *signals.quota)) return RouteReason::kNamespaceFull;
  if (!signals.capacity) return std::nullopt;
  switch (fit(signals.need, input.business, *signals.capacity, rules.owner_keeps_percent)) {
    case CapacityFit::kFits:
      return std::nullopt;
    case CapacityFit::kForOwner:
      return RouteReason::kRoomIsForOwner;
    case CapacityFit::kFull:
      break;
  }
  return RouteReason::kKubernetesFull;
}

// Whether the run waits rather than go to YARN.
bool yarn_is_slow(const RouteSignals& signals, const RouteRules& rules) {
  if (!rules.yarn_wait_max || !signals.queue || signals.waited >= *rules.yarn_wait_max) return false;
  const auto wait = expected_wait(*signals.queue);
  return wait && *wait > *rules.yarn_wait_max;
}

std::string label_of(const SideRule* rule) {
  return rule == nullptr ? "" : rule->label;
}

}  // namespace

bool RouteWindow::contains(base::WallTime now) const {
  const std::int64_t utc_s = std::chrono::floor<std::chrono::seconds>(now.since_epoch).count();
  const std::int64_t local_minute =
      std::chrono::floor<std::chrono::minutes>(std::chrono::seconds(zone.local(utc_s))).count();
  const std::int64_t day = std::chrono::floor<std::chrono::days>(std::chrono::minutes(local_minute)).count();
  const std::int64_t minute = local_minute - day * kDayMinutes;
  const auto begins_on = [&](std::int64_t that_day) {
    const std::int64_t weekday = ((that_day + kWeekdayOf1970) % kWeekDays + kWeekDays) % kWeekDays;
    return days.test(static_cast<std::size_t>(weekday));
  };
  if (from_minute < to_minute) return minute >= from_minute && minute < to_minute && begins_on(day);
  return (minute >= from_minute && begins_on(day)) || (minute < to_minute && begins_on(day - 1));
}

const SideRule* ban_of(Side side, const RouteInput& input, const RouteRules& rules) {
  for (const SideRule& rule : rules.rules) {
    if (rule.ban && rule.side == side && applies(rule, input)) return &rule;
  }
  return nullptr;
}

RouteDecision choose_side(const RouteInput& input, const RouteRules& rules) {
  const std::array<const SideRule*, kSides> bans = {ban_of(Side::kKubernetes, input, rules),
                                                    ban_of(Side::kYarn, input, rules)};
  const auto ban = [&](Side side) { return bans[static_cast<std::size_t>(side)]; };
  const auto possible = [&](Side side) { return input.possible[static_cast<std::size_t>(side)]; };
  const auto differs = [&](Side side) { return side == Side::kKubernetes && input.comparison_differs; };
  const auto banned = [&](Side side) { return differs(side) || ban(side) != nullptr; };
  const auto full = [&](Side side) {
    return side == Side::kKubernetes && input.signals.kubernetes_waiting >= rules.kubernetes_waiting_max;
  };
  // A run that has one side only: it goes there, or waits for it.
  const auto only = [&](Side side, RouteReason reason, const SideRule* rule = nullptr) -> RouteDecision {
    if (side == Side::kKubernetes && input.signals.no_more_kubernetes) {
      return {std::nullopt, RouteReason::kWaitsForSwitch, label_of(rule)};
    }
    if (full(side)) return {std::nullopt, RouteReason::kWaitsForOthers, label_of(rule)};
    return {side, reason, label_of(rule)};
  };

  if (input.left) {
    const Side side = other(*input.left);
    if (!possible(side) || banned(side)) return {std::nullopt, RouteReason::kNoSidePossible, label_of(ban(side))};
    return only(side, RouteReason::kMoved);
  }
  for (const Side side : {Side::kKubernetes, Side::kYarn}) {
    const Side rest = other(side);
    if (possible(side) && !banned(side)) continue;
    if (!possible(rest) || banned(rest)) {
      const SideRule* rule = possible(side) ? ban(side) : ban(rest);
      return {std::nullopt, RouteReason::kNoSidePossible, label_of(rule)};
    }
    if (!possible(side)) return only(rest, RouteReason::kOnlyPossibleSide);
    if (differs(side)) return only(rest, RouteReason::kSidesDiffer);
    return only(rest, RouteReason::kBannedByRule, ban(side));
  }
  if (input.signals.no_more_kubernetes) return {Side::kYarn, RouteReason::kSwitchedOff};
  if (input.pin) return only(*input.pin, RouteReason::kPinnedByJob);
  if (const SideRule* rule = pin_of(input, rules)) return only(rule->side, RouteReason::kPinnedByRule, rule);
  if (input.draw >= rules.kubernetes_percent) return {Side::kYarn, RouteReason::kBeyondShare};
  const std::optional<RouteReason> lack =
      full(Side::kKubernetes) ? RouteReason::kTooManyWaiting : lack_of_room(input, rules);
  if (!lack) return {Side::kKubernetes, RouteReason::kWithinShare};
  if (yarn_is_slow(input.signals, rules)) return {std::nullopt, RouteReason::kWaitsForRoom};
  return {Side::kYarn, *lack};
}

}  // namespace tidemark::policy::route
