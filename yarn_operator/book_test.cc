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

TEST(BookTest, IsEmptyUntilATotalIsInForce) {
  BookInput input;
  input.held = amount(1000, 1);
  EXPECT_FALSE(next_book(input));
}

TEST(BookTest, HoldsTotalInForceAndHeldAmount) {
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
  EXPECT_TRUE(next_book(input)->sold && next_book(input)->sold->empty()) << "known to be zero";
}

TEST(BookTest, KeepsUnknownHeldAmountForAWhileThenOmitsIt) {
  BookInput input;
  input.before = YarnBook{7, amount(4000, 4), {{{"", amount(1000, 1)}}}, std::nullopt};
  EXPECT_EQ(*next_book(input), *input.before);
  input.long_unknown = true;
  EXPECT_FALSE(next_book(input)->sold);
  input.held = amount(1000, 1);
  EXPECT_FALSE(next_book(input)->sold) << "the last known amount is too old";
  EXPECT_EQ(next_book(input)->generation, 7);
}

TEST(BookTest, GivesHeldAndWaitingAmountsTheClassOfTheCluster) {
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
  // An amount from before the class was set is not counted twice.
  input.before = YarnBook{7, amount(4000, 4), {{{"", amount(1000, 1)}}}, ""};
  EXPECT_EQ(*next_book(input), book);
}

TEST(BookTest, RoundsWaitingAmountUpToStepsWithinTheOrigin) {
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
  EXPECT_EQ(waits_for(amount(1, 1)), Resources()) << "work waits, but this node can give nothing";
  EXPECT_TRUE(next_book(input)->waiting);
}

TEST(RenewAfterTest, RenewsEveryTenMinutesOrAtHalfOfTheWriteBudget) {
  EXPECT_EQ(renew_after(0, 30), 10min);
  EXPECT_EQ(renew_after(9'000, 30), 10min);
  EXPECT_EQ(renew_after(13'500, 30), 15min);
  EXPECT_EQ(renew_after(13'500, 100), 10min);
}

// Ledgers written at the same time are not renewed at the same time.
TEST(RenewAfterTest, SpreadsRenewalsAndDelaysNone) {
  int soon = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto after = renew_after(base::cat("node-", i), 5'400, 30);
    EXPECT_LE(after, 10min);
    EXPECT_GE(after, 8min);
    soon += after < 9min ? 1 : 0;
  }
  EXPECT_GT(soon, 400);
  EXPECT_LT(soon, 600);
}

}  // namespace
}  // namespace tidemark::yarn_operator
