#include "kube/memory/answer_budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/testing/clock.h"
#include "net/testing/loop.h"

namespace tidemark::kube::memory {
namespace {

using std::chrono::seconds;

class AnswerBudgetTest : public ::testing::Test {
 protected:
  struct Asked {
    std::optional<AnswerBudget::Share> share;
    bool answered = false;
  };
  net::Task<void> ask(std::size_t bytes, Asked& asked) {
    asked.share = co_await budget_.take(bytes, seconds(5));
    asked.answered = true;
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  AnswerBudget budget_{loop_, 100, 3};
  net::Scope scope_{loop_};
};

TEST_F(AnswerBudgetTest, AdmitsWhatFitsAtOnceAndTakesItBack) {
  auto one = budget_.try_take(60);
  ASSERT_TRUE(one);
  EXPECT_FALSE(budget_.try_take(41));
  {
    const auto two = budget_.try_take(40);
    ASSERT_TRUE(two);
    EXPECT_EQ(budget_.held(), 100u);
  }
  EXPECT_EQ(budget_.held(), 60u);
  one->resize(10);
  EXPECT_EQ(budget_.held(), 10u);
  AnswerBudget::Share moved = std::move(*one);
  one.reset();
  EXPECT_EQ(budget_.held(), 10u);
  moved = AnswerBudget::Share();
  EXPECT_EQ(budget_.held(), 0u);
}

TEST_F(AnswerBudgetTest, OversizedAnswerRunsAlone) {
  auto large = budget_.try_take(1000);
  ASSERT_TRUE(large);
  EXPECT_FALSE(budget_.try_take(1));
  large.reset();
  const auto small = budget_.try_take(1);
  EXPECT_FALSE(budget_.try_take(1000));
}

TEST_F(AnswerBudgetTest, ServesWaitersInOrder) {
  auto first = budget_.try_take(90);
  Asked large;
  Asked small;
  scope_.spawn(ask(80, large));
  scope_.spawn(ask(5, small));
  loop_.run_ready();
  EXPECT_FALSE(large.answered);
  EXPECT_FALSE(small.answered) << "a small one that passed the large one could do so for ever";
  EXPECT_FALSE(budget_.try_take(5));
  first.reset();
  loop_.run_ready();
  EXPECT_TRUE(large.share && small.share);
  EXPECT_EQ(budget_.held(), 85u);
}

TEST_F(AnswerBudgetTest, WaitIsBounded) {
  const auto first = budget_.try_take(90);
  Asked late;
  Asked behind;
  scope_.spawn(ask(80, late));
  loop_.run_ready();
  clock_.advance(seconds(1));
  scope_.spawn(ask(10, behind));
  net::testing::run_for(loop_, clock_, seconds(4));
  EXPECT_TRUE(late.answered);
  EXPECT_FALSE(late.share);
  EXPECT_TRUE(behind.share) << "who stood in its way has gone";
  EXPECT_EQ(budget_.waiting(), 0u);
}

TEST_F(AnswerBudgetTest, NumberOfWaitersIsBounded) {
  const auto first = budget_.try_take(100);
  std::vector<Asked> asked(4);
  for (Asked& one : asked) scope_.spawn(ask(1, one));
  loop_.run_ready();
  EXPECT_EQ(budget_.waiting(), 3u);
  EXPECT_TRUE(asked[3].answered);
  EXPECT_FALSE(asked[3].share);
}

TEST_F(AnswerBudgetTest, CancelledWaiterHoldsNothing) {
  auto first = budget_.try_take(100);
  Asked one;
  {
    net::Scope gone(loop_);
    gone.spawn(ask(50, one));
    loop_.run_ready();
    EXPECT_EQ(budget_.waiting(), 1u);
  }
  EXPECT_EQ(budget_.waiting(), 0u);
  {
    net::Scope gone(loop_);
    gone.spawn(ask(50, one));
    loop_.run_ready();
    first.reset();  // lets it in, but it does not run any more
    EXPECT_EQ(budget_.held(), 50u);
  }
  EXPECT_EQ(budget_.held(), 0u);
}

TEST_F(AnswerBudgetTest, TextHoldsItsShareWhileReferenced) {
  net::Buffer text = make_buffer_with_share("text", *budget_.try_take(70));
  const net::Buffer queued = text;
  EXPECT_EQ(*queued, "text");
  text.reset();
  EXPECT_EQ(budget_.held(), 70u);
}

}  // namespace
}  // namespace tidemark::kube::memory
