#include "kube/call_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;

class CallBudgetTest : public ::testing::Test {
 protected:
  // A call that waits for a place, records its time, and keeps it.
  net::Task<void> visit(std::string name, base::Duration limit = 1h) {
    auto place = co_await budget->take(limit);
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(loop.clock().monotonic() - began);
    log.push_back(base::cat(name, place ? " at " : " refused at ", at.count()));
    if (place) kept.push_back(*place);
  }
  std::unique_ptr<net::Scope> come(const std::string& name, base::Duration limit = 1h) {
    auto scope = std::make_unique<net::Scope>(loop);
    scope->spawn(visit(name, limit));
    loop.run_ready();
    return scope;
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::MonotonicTime began = clock.monotonic();
  std::shared_ptr<CallBudget> budget = std::make_shared<CallBudget>(loop, 1, 2);
  std::vector<std::string> log;
  std::vector<Place> kept;
};

using Log = std::vector<std::string>;

TEST_F(CallBudgetTest, AdmitsBurstThenOneByOneInOrder) {
  const auto a = come("a"), b = come("b"), c = come("c"), d = come("d");
  EXPECT_EQ(log, (Log{"a at 0", "b at 0"}));
  EXPECT_EQ(budget->wait(), 3s);
  run_for(10s);
  EXPECT_EQ(log, (Log{"a at 0", "b at 0", "c at 1000", "d at 2000"}));
  EXPECT_EQ(kept[0].waited(), 0s);
  EXPECT_EQ(kept[3].waited(), 2s);
}

TEST_F(CallBudgetTest, RefusesAtOnceACallThatCannotWaitLongEnough) {
  const auto a = come("a"), b = come("b"), c = come("c", 999ms), d = come("d", 1s);
  EXPECT_EQ(log.back(), "c refused at 0");
  run_for(10s);
  EXPECT_EQ(log.back(), "d at 1000");
}

TEST_F(CallBudgetTest, CopiesOfAPlaceShareOneUse) {
  const auto a = come("a");
  Place copy = kept[0];
  EXPECT_TRUE(copy);
  EXPECT_TRUE(copy.use());
  EXPECT_FALSE(kept[0]);
  EXPECT_FALSE(kept[0].use());
  EXPECT_FALSE(Place());
  EXPECT_FALSE(Place().use());
}

TEST_F(CallBudgetTest, UnusedPlaceGoesToTheFirstWaiter) {
  const auto a = come("a"), b = come("b"), c = come("c"), d = come("d");
  Place copy = kept[1];
  kept.pop_back();
  run_for(100ms);
  EXPECT_EQ(log.size(), 2u) << "a copy of it is left";
  copy = Place();
  loop.run_ready();
  EXPECT_EQ(log.back(), "c at 100");
  const auto e = come("e");
  run_for(10s);
  EXPECT_EQ(log, (Log{"a at 0", "b at 0", "c at 100", "d at 1000", "e at 2000"}));
}

TEST_F(CallBudgetTest, UnusedPlaceServesTheNextCall) {
  const auto a = come("a"), b = come("b");
  kept.pop_back();
  const auto c = come("c"), d = come("d");
  EXPECT_EQ(log.back(), "c at 0");
  run_for(10s);
  EXPECT_EQ(log.back(), "d at 1000");
}

TEST_F(CallBudgetTest, UsedPlaceIsNotReturned) {
  const auto a = come("a"), b = come("b");
  for (auto& place : kept) place.use();
  kept.clear();
  EXPECT_EQ(budget->wait(), 1s);
}

TEST_F(CallBudgetTest, CancelledWaiterLeavesNoGap) {
  auto a = come("a"), b = come("b"), c = come("c"), d = come("d");
  c.reset();
  const auto e = come("e");
  run_for(10s);
  EXPECT_EQ(log, (Log{"a at 0", "b at 0", "d at 1000", "e at 2000"}));
}

TEST_F(CallBudgetTest, CancelledWaiterReturnsItsPlace) {
  auto a = come("a"), b = come("b"), c = come("c"), d = come("d");
  kept.pop_back();  // c has it, and has not been told yet
  c.reset();
  loop.run_ready();
  EXPECT_EQ(log.back(), "d at 0");
}

TEST_F(CallBudgetTest, WithoutRefillHasOnlyBurstAndReturnedPlaces) {
  budget = std::make_shared<CallBudget>(loop, 0, 1);
  const auto a = come("a"), b = come("b");
  EXPECT_EQ(log.back(), "b refused at 0");
  kept.clear();
  const auto c = come("c");
  EXPECT_EQ(log.back(), "c at 0");
}

// However places are taken, kept, used, returned or left: use never exceeds burst + rate × time, and no call waits
// forever.
TEST_F(CallBudgetTest, UseStaysWithinTheBudget) {
  base::Random random(3);
  for (int round = 0; round < 50; ++round) {
    base::Random dice = random.fork();
    budget = std::make_shared<CallBudget>(loop, 10, 3);
    std::int64_t used = 0;
    std::int64_t served = 0;
    const base::MonotonicTime start = clock.monotonic();
    const auto visitor = [&]() -> net::Task<void> {
      auto place = co_await budget->take(1h);
      ++served;
      if (dice.unit() < 0.3) co_await loop.sleep(std::chrono::milliseconds(static_cast<int>(dice.unit() * 500)));
      if (dice.unit() < 0.5 && place->use()) {
        ++used;
        const double seconds = std::chrono::duration<double>(clock.monotonic() - start).count();
        EXPECT_LE(static_cast<double>(used), 3 + 10 * seconds + 1e-6);
      }
    };
    std::vector<std::unique_ptr<net::Scope>> visitors;
    std::int64_t left = 0;
    for (int i = 0; i < 100; ++i) {
      visitors.push_back(std::make_unique<net::Scope>(loop));
      visitors.back()->spawn(visitor());
      run_for(std::chrono::milliseconds(static_cast<int>(dice.unit() * 60)));
      if (dice.unit() < 0.1 && visitors.back()->running() > 0) ++left, visitors.back()->clear();
    }
    run_for(1min);
    EXPECT_GE(served + left, 100);
    EXPECT_EQ(budget->wait(), 0s);
  }
}

}  // namespace
}  // namespace tidemark::kube
