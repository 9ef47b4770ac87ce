#include "yarn_operator/book.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tidemark::yarn_operator {
namespace {

using model::Resources;
using model::YarnBook;
using namespace std::chrono_literals;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Resources amount(std::int64_t milli, std::int64_t gib) {
  return {{milli}, {gib * kGiB}};
}

TEST(BookTest, BeforeATotalIsKnownToBeInForceThereIsNothingToSay) {
  BookInput input;
  input.held = amount(1000, 1);
  EXPECT_FALSE(next_book(input));
}

TEST(BookTest, WhatIsInForceAndWhatIsHeld) {
  BookInput input;
  input.in_force = {7, amount(4000, 4)};
  input.held = amount(1000, 1);
  const YarnBook book = *next_book(input);
  EXPECT_EQ(book.generation, 7);
  EXPECT_EQ(book.confirmed, amount(4000, 4));
  ASSERT_TRUE(book.sold && book.sold->size() == 1);
  EXPECT_EQ(book.sold->front(), (YarnBook::Sold{"", amount(1000, 1)}));
  EXPECT_FALSE(book.waiting);
  input.held = Resources();
  EXPECT_TRUE(next_book(input)->sold && next_book(input)->sold->empty()) << "it is known that nothing is held";
}

TEST(BookTest, WhatIsNotKnownStaysAWhileAndThenNobodyKnows) {
  BookInput input;
  input.before = YarnBook{7, amount(4000, 4), {{{"", amount(1000, 1)}}}, std::nullopt};
  EXPECT_EQ(*next_book(input), *input.before);
  input.long_unknown = true;
  EXPECT_FALSE(next_book(input)->sold);
  input.held = amount(1000, 1);
  EXPECT_FALSE(next_book(input)->sold) << "what was known last is old";
  EXPECT_EQ(next_book(input)->generation, 7);
}

TEST(BookTest, WhatIsHeldAndWhatWaitsIsOfTheClassOfTheCluster) {
  BookInput input;
  input.in_force = {7, amount(4000, 4)};
  input.held = amount(1000, 1);
  input.waiting = amount(1000, 1);
  input.origin = amount(8000, 8);
  input.work_class = "spark";
  const YarnBook book = *next_book(input);
  ASSERT_TRUE(book.sold && book.sold->size() == 1);
  EXPECT_EQ(book.sold->front(), (YarnBook::Sold{"spark", amount(1000, 1)}));
  EXPECT_EQ(book.waiting, "spark");
  // What was held before its class was told is not held twice.
  input.before = YarnBook{7, amount(4000, 4), {{{"", amount(1000, 1)}}}, ""};
  EXPECT_EQ(*next_book(input), book);
}

TEST(BookTest, WhatWaitsIsToldInStepsOfTheNodeAndNoMoreThanItHas) {
  BookInput input;
  input.in_force = {0, amount(8000, 8)};
  input.origin = amount(8000, 8);
  const auto waits_for = [&](Resources waiting) {
    input.waiting = waiting;
    return next_book(input)->waiting_for.value_or(Resources());
  };
  EXPECT_EQ(waits_for(amount(1, 0)), amount(1000, 0));
  EXPECT_EQ(waits_for(amount(1000, 1)), amount(1000, 1));
  EXPECT_EQ(waits_for(amount(1001, 2)), amount(2000, 2));
  EXPECT_EQ(waits_for(amount(7001, 100)), amount(8000, 8));
  EXPECT_EQ(next_book(input)->waiting, "");
  EXPECT_EQ(waits_for(Resources()), Resources());
  EXPECT_FALSE(next_book(input)->waiting);
  input.origin = Resources();
  EXPECT_EQ(waits_for(amount(1, 1)), Resources()) << "it waits, and this node can give nothing";
  EXPECT_TRUE(next_book(input)->waiting);
}

TEST(RenewAfterTest, EveryFourMinutesOrAsHalfOfTheBudgetAllows) {
  EXPECT_EQ(renew_after(0, 30), 4min);
  EXPECT_EQ(renew_after(3'600, 30), 4min);
  EXPECT_EQ(renew_after(5'400, 30), 6min);
  EXPECT_EQ(renew_after(13'500, 30), 15min);
  EXPECT_EQ(renew_after(13'500, 100), 270s);
}

// Who was written together is not renewed together.
TEST(RenewAfterTest, NodesComeApartAndNoneIsLater) {
  int soon = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto after = renew_after(base::cat("node-", i), 5'400, 30);
    EXPECT_LE(after, 6min);
    EXPECT_GE(after, 288s);
    soon += after < 324s ? 1 : 0;
  }
  EXPECT_GT(soon, 400);
  EXPECT_LT(soon, 600);
}

}  // namespace
}  // namespace tidemark::yarn_operator
