#include "policy/drain/drain.h"

#include <gtest/gtest.h>

namespace tidemark::policy {
namespace {

using namespace std::chrono_literals;

const base::WallTime kNow{std::chrono::hours(500'000)};

DrainInput wanted() {
  DrainInput input;
  input.wanted = true;
  input.now = kNow;
  return input;
}

TEST(YarnDrain, TheEarlierOfLineAndOrder) {
  DrainInput input = wanted();
  EXPECT_EQ(yarn_drain(input), std::nullopt);
  input.line_comes_down = kNow + 20min;
  EXPECT_EQ(yarn_drain(input), kNow + 20min);
  input.order_ends = kNow + 10min;
  EXPECT_EQ(yarn_drain(input), kNow + 10min);
  input.line_comes_down.reset();
  EXPECT_EQ(yarn_drain(input), kNow + 10min);
}

TEST(YarnDrain, WherePoolsDoNotWantItNobodyEnds) {
  DrainInput input = wanted();
  input.wanted = false;
  input.line_comes_down = input.order_ends = kNow + 1min;
  input.told = kNow;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
}

// The calendar forgets a moment that has passed; who ends them may not have come to it.
TEST(YarnDrain, WhatWasToldStandsForTwoMinutesAfterItsMoment) {
  DrainInput input = wanted();
  input.told = kNow;
  EXPECT_EQ(yarn_drain(input), kNow);
  input.now = kNow + kDrainKept + -1ns;
  EXPECT_EQ(yarn_drain(input), kNow);
  input.now = kNow + kDrainKept;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
}

// It would stand with the offer that is made now, and end what is beyond that one.
TEST(YarnDrain, WhatIsGivenAgainAfterAnOrderDrainsNoMore) {
  DrainInput input = wanted();
  input.told = kNow;
  input.given_again = true;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
  input.line_comes_down = kNow + 5min;
  EXPECT_EQ(yarn_drain(input), kNow + 5min);
}

// The calendar was edited, or the order lifted.
TEST(YarnDrain, WhatWasToldOfAMomentToComeIsTakenBack) {
  DrainInput input = wanted();
  input.told = kNow + 1s;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
  input.line_comes_down = kNow + 1h;
  EXPECT_EQ(yarn_drain(input), kNow + 1h);
}

TEST(YarnDrain, ItIsDueFromItsMomentOnForTwoMinutesAndWithItsOfferAlone) {
  const model::YarnDrain drain{7, kNow};
  EXPECT_FALSE(drain_is_due(drain, 7, kNow + -1ns));
  EXPECT_TRUE(drain_is_due(drain, 7, kNow));
  EXPECT_TRUE(drain_is_due(drain, 7, kNow + kDrainKept + -1ns));
  EXPECT_FALSE(drain_is_due(drain, 7, kNow + kDrainKept));
  EXPECT_FALSE(drain_is_due(drain, 8, kNow));
  EXPECT_FALSE(drain_is_due({0, kNow}, 0, kNow)) << "there is no offer";
}

}  // namespace
}  // namespace tidemark::policy
