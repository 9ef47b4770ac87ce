#include "policy/evict/drain.h"

#include <gtest/gtest.h>

namespace tidemark::policy::evict {
namespace {

using namespace std::chrono_literals;

const base::WallTime kDrainNow{std::chrono::hours(500'000)};

DrainInput wanted() {
  DrainInput input;
  input.wanted = true;
  input.now = kDrainNow;
  return input;
}

TEST(YarnDrain, UsesTheEarlierOfLineAndOrder) {
  DrainInput input = wanted();
  EXPECT_EQ(yarn_drain(input), std::nullopt);
  input.line_comes_down = kDrainNow + 20min;
  EXPECT_EQ(yarn_drain(input), kDrainNow + 20min);
  input.order_ends = kDrainNow + 10min;
  EXPECT_EQ(yarn_drain(input), kDrainNow + 10min);
  input.line_comes_down.reset();
  EXPECT_EQ(yarn_drain(input), kDrainNow + 10min);
}

TEST(YarnDrain, DrainsNothingUnlessThePoolEnablesIt) {
  DrainInput input = wanted();
  input.wanted = false;
  input.line_comes_down = input.order_ends = kDrainNow + 1min;
  input.told = kDrainNow;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
}

// The calendar forgets a moment that has passed; the operator may not have acted yet.
TEST(YarnDrain, PublishedMomentStaysForTwoMinutes) {
  DrainInput input = wanted();
  input.told = kDrainNow;
  EXPECT_EQ(yarn_drain(input), kDrainNow);
  input.now = kDrainNow + kDrainKept + -1ns;
  EXPECT_EQ(yarn_drain(input), kDrainNow);
  input.now = kDrainNow + kDrainKept;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
}

// It would belong to the new offer, and preempt what is beyond that one.
TEST(YarnDrain, OfferAfterAnOrderStopsTheDrain) {
  DrainInput input = wanted();
  input.told = kDrainNow;
  input.given_again = true;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
  input.line_comes_down = kDrainNow + 5min;
  EXPECT_EQ(yarn_drain(input), kDrainNow + 5min);
}

// The calendar was edited, or the order revoked.
TEST(YarnDrain, FutureMomentCanBeRevoked) {
  DrainInput input = wanted();
  input.told = kDrainNow + 1s;
  EXPECT_EQ(yarn_drain(input), std::nullopt);
  input.line_comes_down = kDrainNow + 1h;
  EXPECT_EQ(yarn_drain(input), kDrainNow + 1h);
}

TEST(YarnDrain, IsDueForTwoMinutes) {
  EXPECT_FALSE(drain_is_due(kDrainNow, kDrainNow + -1ns));
  EXPECT_TRUE(drain_is_due(kDrainNow, kDrainNow));
  EXPECT_TRUE(drain_is_due(kDrainNow, kDrainNow + kDrainKept + -1ns));
  EXPECT_FALSE(drain_is_due(kDrainNow, kDrainNow + kDrainKept));
}

}  // namespace
}  // namespace tidemark::policy::evict
