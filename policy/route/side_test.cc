#include "policy/route/side.h"

#include <gtest/gtest.h>

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
  input.no_more_kubernetes = true;
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
  rules.rules = {{.business = "ads", .queue = "", .name_prefix = "", .side = Side::kKubernetes}};
  RouteInput input = both();
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kPinnedByRule);
  input.pin = Side::kYarn;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
}

TEST(RouteSide, BanWinsOverPin) {
  RouteRules rules;
  rules.rules = {{.business = "", .queue = "night", .name_prefix = "report-", .side = Side::kKubernetes, .ban = true}};
  RouteInput input = both();
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kBannedByRule);
  input.name = "other";
  EXPECT_EQ(choose_side(input, rules).side, Side::kKubernetes);
}

TEST(RouteSide, CapSendsRunsToYarnAndLetsPinnedRunsWait) {
  RouteRules rules;
  rules.kubernetes_waiting_max = 2;
  RouteInput input = both();
  input.kubernetes_waiting = 2;
  EXPECT_EQ(choose_side(input, rules).side, Side::kYarn);
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kTooManyWaiting);
  input.possible = {true, false};
  EXPECT_EQ(choose_side(input, rules).reason, RouteReason::kWaitsForOthers);
}

TEST(RouteSide, MovedRunGoesToTheOtherSide) {
  RouteInput input = both();
  input.left = Side::kKubernetes;
  input.pin = Side::kKubernetes;
  EXPECT_EQ(choose_side(input, {}).side, Side::kYarn);
  input.left = Side::kYarn;
  EXPECT_EQ(choose_side(input, {}).side, Side::kKubernetes);
}

TEST(RouteSide, RunWithoutASideWaits) {
  EXPECT_EQ(choose_side({}, {}).reason, RouteReason::kNoSidePossible);
}

}  // namespace
}  // namespace tidemark::policy::route
