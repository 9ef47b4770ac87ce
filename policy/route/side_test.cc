#include "policy/route/side.h"

#include <gtest/gtest.h>

#include <bitset>
#include <chrono>
#include <limits>

namespace tidemark::policy::route {
namespace {

RouteInput both() {
  RouteInput input;
  input.possible = {true, true};
  input.business = "ads";
  input.queue = "night";
  input.name = "report-7";
  return input;
}

SideRule night_ban() {
  SideRule rule;
  rule.label = "rules[0]";
  rule.queue = "night";
  rule.name_prefix = "report-";
  rule.side = Side::kKubernetes;
  rule.ban = true;
  return rule;
}

// `day` counts from 1970-01-01, a Thursday.
base::WallTime at(std::int64_t day, std::int64_t minute) {
  return {std::chrono::days(day) + std::chrono::minutes(minute)};
}

TEST(RouteSide, ShareDecidesByTheDraw) {
  RouteRules rules;
  rules.kubernetes_percent = 30;
  RouteInput input = both();
  input.draw = 29;
  EXPECT_EQ(choose_side(input, rules).side, Side::kKubernetes);
  input.draw = 30;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kBeyondShare);
}

TEST(RouteSide, SwitchSendsEveryRunToYarn) {
  RouteInput input = both();
  input.signals.no_more_kubernetes = true;
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn);
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn) << "the switch wins over a pin";
  input.possible = {true, false};
  EXPECT_EQ(choose_side(input, {}).side, std::nullopt);
  EXPECT_EQ(choose_side(input, {}).reason, RouteReason::kWaitsForSwitch);
}

TEST(RouteSide, JobWhoseSidesDifferStaysOnYarn) {
  RouteInput input = both();
  input.comparison_differs = true;
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, {}).reason, RouteReason::kSidesDiffer);
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn) << "also with a pin";
  input.left = Side::kYarn;
  EXPECT_EQ(choose_side(input, {}).side, std::nullopt) << "it does not move there either";
  input.left.reset();
  input.possible = {true, false};
  EXPECT_EQ(choose_side(input, {}).side, std::nullopt);
}

TEST(RouteSide, PinOfTheJobWinsOverPinOfARule) {
  RouteRules rules;
  rules.rules.emplace_back().business = "ads";
  rules.rules.back().side = Side::kKubernetes;
  RouteInput input = both();
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kPinnedByRule);
  input.pin = Side::kYarn;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
}

TEST(RouteSide, BanWinsOverPin) {
  RouteRules rules;
  rules.rules = {night_ban()};
  RouteInput input = both();
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kBannedByRule);
  EXPECT_EQ(choose_side(input, rules).rule, "rules[0]");
  input.name = "other";
  EXPECT_EQ(choose_side(input, rules).side, Side::kKubernetes);
}

TEST(RouteSide, CapSendsRunsToYarnAndLetsPinnedRunsWait) {
  RouteRules rules;
  rules.kubernetes_waiting_max = 2;
  RouteInput input = both();
  input.signals.kubernetes_waiting = 2;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kTooManyWaiting);
  input.possible = {true, false};
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kWaitsForOthers);
}

RouteInput with_capacity(std::int64_t idle_milli, std::int64_t need_milli) {
  RouteInput input = both();
  input.signals.need.batch.cpu = {need_milli};
  input.signals.capacity = BatchCapacity{.nodes = {{"", {{10'000}, {}}, {{idle_milli}, {}}}}, .claims = {}};
  return input;
}

TEST(RouteSide, RunThatDoesNotFitGoesToYarn) {
  EXPECT_EQ(choose_side(with_capacity(3000, 3000), {}).side, Side::kKubernetes);
  RouteInput input = with_capacity(2999, 3000);
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, {}).reason, RouteReason::kKubernetesFull);
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, {}).side, Side::kKubernetes) << "a pinned run waits there";
  input.pin.reset();
  input.possible = {true, false};
  EXPECT_EQ(choose_side(input, {}).side, Side::kKubernetes);
  input.possible = {true, true};
  input.signals.capacity.reset();
  EXPECT_EQ(choose_side(input, {}).side, Side::kKubernetes) << "unknown is not 0";
  input.signals.quota = QuotaRoom{.batch_cpu = {}, .batch_memory = {}, .pods = 1};
  input.signals.need.pods = 2;
  EXPECT_EQ(choose_side(input, {}).reason, RouteReason::kNamespaceFull);
}

TEST(RouteSide, OwnersShareOfItsNodesSendsOthersToYarn) {
  RouteInput input = with_capacity(5000, 3000);
  input.signals.capacity->nodes[0].owner = "search";
  RouteRules rules;
  EXPECT_EQ(choose_side(input, rules).side, Side::kKubernetes);
  rules.owner_keeps_percent = 30;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kRoomIsForOwner);
  input.business = "search";
  EXPECT_EQ(choose_side(input, rules).side, Side::kKubernetes);
}

TEST(RouteSide, RunWithoutRoomWaitsWhileYarnIsSlow) {
  RouteInput input = with_capacity(0, 3000);
  input.signals.queue =
      YarnQueue{.path = "root.night", .pending = 3, .used_percent = 100, .waits = 60, .p95_bound_s = 601};
  RouteRules rules;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn) << "without yarnWaitMax it does not wait";
  rules.yarn_wait_max = std::chrono::minutes(10);
  EXPECT_EQ(choose_side(input, rules).side, std::nullopt);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kWaitsForRoom);
  input.signals.waited = std::chrono::minutes(10);
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn) << "it waits no longer than that";
  input.signals.waited = {};
  input.signals.queue->p95_bound_s = 600;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  input.signals.queue.reset();
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn) << "an unknown wait is not a long one";
  input = with_capacity(3000, 3000);
  EXPECT_EQ(choose_side(input, rules).side, Side::kKubernetes);
}

TEST(RouteSide, MovedRunGoesToTheOtherSide) {
  RouteInput input = both();
  input.left = Side::kKubernetes;
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn);
  input.left = Side::kYarn;
  EXPECT_EQ(choose_side(input, {}).side, Side::kKubernetes);
}

TEST(RouteSide, BanKeepsAMovedRunToo) {
  RouteRules rules;
  rules.rules = {night_ban()};
  RouteInput input = both();
  input.left = Side::kYarn;
  EXPECT_EQ(choose_side(input, rules).side, std::nullopt);
  EXPECT_EQ(choose_side(input, rules).rule, "rules[0]");
  input.left = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
}

TEST(RouteSide, RuleAppliesInItsWindow) {
  RouteRules rules;
  rules.rules = {night_ban()};
  rules.rules[0].window = RouteWindow{.from_minute = 9 * 60, .to_minute = 17 * 60, .days = std::bitset<7>().set()};
  RouteInput input = both();
  const auto side = [&](base::WallTime now) {
    input.now = now;
    return choose_side(input, rules).side;
  };
  EXPECT_EQ(side(at(3, 9 * 60 - 1)), Side::kKubernetes);
  EXPECT_EQ(side(at(3, 9 * 60)), Side::kYarn);
  EXPECT_EQ(side(at(3, 17 * 60 - 1)), Side::kYarn);
  EXPECT_EQ(side(at(3, 17 * 60)), Side::kKubernetes);
}

TEST(RouteSide, WindowAcrossMidnightBelongsToTheDayOnWhichItBegins) {
  RouteWindow window{.from_minute = 22 * 60, .to_minute = 7 * 60, .days = std::bitset<7>().set(5)};  // Friday
  EXPECT_FALSE(window.contains(at(1, 6 * 60))) << "of Thursday's night";
  EXPECT_FALSE(window.contains(at(1, 22 * 60 - 1)));
  EXPECT_TRUE(window.contains(at(1, 22 * 60)));
  EXPECT_TRUE(window.contains(at(2, 7 * 60 - 1)));
  EXPECT_FALSE(window.contains(at(2, 7 * 60)));
  EXPECT_FALSE(window.contains(at(2, 23 * 60)));
}

TEST(RouteSide, WindowIsInItsTimeZone) {
  RouteWindow window{.from_minute = 0, .to_minute = 60, .days = std::bitset<7>().set(5)};
  window.zone = *model::TimeZone::from_spans(
      "East", {{.from_s = std::numeric_limits<std::int64_t>::min(), .offset_s = 2 * 3600}});
  EXPECT_TRUE(window.contains(at(0, 22 * 60))) << "Friday there";
  EXPECT_FALSE(window.contains(at(0, 21 * 60)));
  EXPECT_FALSE(window.contains(at(1, 0)));
}

TEST(RouteSide, RunWithoutASideWaits) {
  EXPECT_EQ(choose_side({}, {}).reason, RouteReason::kNoSidePossible);
}

}  // namespace
}  // namespace tidemark::policy::route
