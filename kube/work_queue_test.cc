#include "kube/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using Urgency = WorkQueue::Urgency;

class WorkQueueTest : public ::testing::Test {
 protected:
  // A worker that finishes each key at once and writes down what it got.
  net::Task<void> work(Urgency least = Urgency::kRoutine) {
    while (true) {
      std::string key = co_await queue.next(least);
      worked.push_back(key);
      queue.done(key);
    }
  }
  net::Task<void> hold_one(Urgency least) { worked.push_back(co_await queue.next(least)); }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }
  std::string take() { return net::testing::run_task(loop, clock, queue.next()); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  WorkQueue queue{loop, metrics, "test", base::Random(1)};
  std::vector<std::string> worked;
};

TEST_F(WorkQueueTest, KeyIsQueuedOnce) {
  queue.add("a");
  queue.add("b");
  queue.add("a");
  EXPECT_EQ(queue.waiting(), 2u);
  net::Scope scope(loop);
  scope.spawn(work());
  run_for(1s);
  EXPECT_EQ(worked, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST_F(WorkQueueTest, LoadHasTheTimeSinceTheOldestKeyWaits) {
  EXPECT_EQ(queue.load().length, 0u);
  EXPECT_FALSE(queue.load().oldest_since);
  const auto begun = clock.monotonic();
  queue.add("a");
  run_for(1s);
  queue.stand_in_line("b");
  queue.add("a", Urgency::kUrgent);
  EXPECT_EQ(queue.load().length, 2u);
  EXPECT_EQ(queue.load().oldest_since, begun);
  ASSERT_EQ(take(), "a");
  EXPECT_EQ(queue.load().length, 1u);
  EXPECT_EQ(queue.load().oldest_since, begun + 1s);
}

TEST_F(WorkQueueTest, KeyAddedWhileInWorkIsQueuedAgainAfterwards) {
  queue.add("a");
  ASSERT_EQ(take(), "a");
  queue.add("a");
  queue.add("a");
  EXPECT_EQ(queue.waiting(), 0u);
  queue.done("a");
  EXPECT_EQ(queue.waiting(), 1u);
  EXPECT_EQ(take(), "a");
  queue.done("a");
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST_F(WorkQueueTest, UrgentAddMovesAWaitingKeyAhead) {
  for (const char* key : {"a", "b", "c"}) queue.add(key);
  queue.add("c", Urgency::kUrgent);
  EXPECT_EQ(queue.waiting(), 3u);
  net::Scope scope(loop);
  scope.spawn(work());
  run_for(1s);
  EXPECT_EQ(worked, (std::vector<std::string>{"c", "a", "b"}));
}

TEST_F(WorkQueueTest, KeepsUrgencyOfAKeyInWork) {
  queue.add("a");
  ASSERT_EQ(take(), "a");
  queue.add("b");
  queue.add("a", Urgency::kUrgent);
  queue.done("a");
  EXPECT_EQ(take(), "a");
}

TEST_F(WorkQueueTest, UrgentWorkerTakesOnlyUrgentKeys) {
  queue.add("routine");
  queue.add("urgent", Urgency::kUrgent);
  EXPECT_EQ(net::testing::run_task(loop, clock, queue.next(Urgency::kUrgent)), "urgent");
  net::Scope scope(loop);
  scope.spawn(work(Urgency::kUrgent));
  queue.add("another");
  run_for(1s);
  EXPECT_TRUE(worked.empty());
  queue.add("another", Urgency::kUrgent);
  run_for(1s);
  EXPECT_EQ(worked, (std::vector<std::string>{"another"}));
  EXPECT_EQ(take(), "routine");
}

TEST_F(WorkQueueTest, KeyReturnsWithTheUrgencyOfLaterAdds) {
  queue.add_after("late", 2s, Urgency::kUrgent);
  queue.add_after("late", 1s);
  run_for(1s);
  queue.add("first");
  queue.add("a");
  EXPECT_EQ(take(), "late");
  queue.done("late");
  queue.add("late");
  EXPECT_EQ(take(), "first") << "urgency does not outlive the wait";
  queue.done("first");
  EXPECT_EQ(take(), "a");
  queue.retry("a", Urgency::kUrgent);
  queue.done("a");
  run_for(100ms);
  EXPECT_EQ(take(), "a") << "before late";
}

TEST_F(WorkQueueTest, BusyKeyDoesNotStarveOthers) {
  queue.add("busy");
  queue.add("quiet");
  ASSERT_EQ(take(), "busy");
  queue.add("busy");
  queue.done("busy");
  EXPECT_EQ(take(), "quiet");
}

TEST_F(WorkQueueTest, SoonestOfSeveralDelaysWins) {
  net::Scope scope(loop);
  scope.spawn(work());
  queue.add_after("a", 10s);
  queue.add_after("a", 3s);
  queue.add_after("a", 20s);
  run_for(2999ms);
  EXPECT_TRUE(worked.empty());
  run_for(1ms);
  EXPECT_EQ(worked, (std::vector<std::string>{"a"}));
  run_for(1min);
  EXPECT_EQ(worked.size(), 1u);
}

TEST_F(WorkQueueTest, ImmediateAddCancelsTheDelay) {
  net::Scope scope(loop);
  scope.spawn(work());
  queue.add_after("a", 10s);
  queue.add("a");
  run_for(1min);
  EXPECT_EQ(worked.size(), 1u);
}

// As a node does: decided again at every report, and due after five minutes without one.
TEST_F(WorkQueueTest, RepeatedPostponementCountsFromTheLastOne) {
  net::Scope scope(loop);
  scope.spawn(work());
  for (int minute = 0; minute < 10; ++minute) {
    queue.add("a");
    run_for(1s);
    queue.add_after("a", 5min);
    run_for(59s);
  }
  EXPECT_EQ(worked.size(), 10u);
  run_for(5min - 60s);
  EXPECT_EQ(worked.size(), 10u);
  run_for(1s);
  EXPECT_EQ(worked.size(), 11u);
  run_for(1h);
  EXPECT_EQ(worked.size(), 11u);
  EXPECT_FALSE(loop.next_timer()) << "nothing is left of it";
}

TEST_F(WorkQueueTest, SoonerDelayCountsAfterACancelledLaterOne) {
  net::Scope scope(loop);
  scope.spawn(work());
  queue.add_after("a", 1h);
  queue.add("a");
  run_for(1s);
  queue.add_after("a", 10s);
  run_for(9s);
  EXPECT_EQ(worked.size(), 1u);
  run_for(2s);
  EXPECT_EQ(worked.size(), 2u);
}

TEST_F(WorkQueueTest, RetriesBackOffPerKeyUntilForgotten) {
  auto wait_of_retry = [&](const std::string& key) {
    queue.retry(key);
    const auto start = clock.monotonic();
    EXPECT_EQ(take(), key);
    queue.done(key);
    return clock.monotonic() - start;
  };
  const auto first = wait_of_retry("a");
  EXPECT_GE(first, 40ms);
  EXPECT_LE(first, 60ms);
  wait_of_retry("a");
  const auto third = wait_of_retry("a");
  EXPECT_GE(third, 160ms);  // 50 ms doubled twice, jitter of a fifth
  EXPECT_LE(wait_of_retry("b"), 60ms);
  queue.forget("a");
  EXPECT_LE(wait_of_retry("a"), 60ms);
  for (int i = 0; i < 20; ++i) EXPECT_LE(wait_of_retry("a"), 72s);
}

TEST_F(WorkQueueTest, SeveralWorkersNeverHoldTheSameKey) {
  queue.add("a");
  queue.add("b");
  ASSERT_EQ(take(), "a");
  queue.add("a");
  EXPECT_EQ(take(), "b");
  EXPECT_EQ(queue.waiting(), 0u);
  net::Scope scope(loop);
  scope.spawn(work());
  run_for(1s);
  EXPECT_TRUE(worked.empty());
  queue.done("a");
  run_for(1s);
  EXPECT_EQ(worked, (std::vector<std::string>{"a"}));
}

TEST_F(WorkQueueTest, StartsOneWorkerPerWaitingKeyOfEachUrgency) {
  net::Scope scope(loop);
  for (int i = 0; i < 4; ++i) scope.spawn(hold_one(Urgency::kRoutine));
  scope.spawn(hold_one(Urgency::kUrgent));  // may come too late for both
  run_for(1s);
  queue.add("a");
  queue.add("b");
  queue.add("urgent", Urgency::kUrgent);
  queue.add("urgent too", Urgency::kUrgent);
  run_for(1s);
  std::ranges::sort(worked);
  EXPECT_EQ(worked, (std::vector<std::string>{"a", "b", "urgent", "urgent too"}));
}

TEST_F(WorkQueueTest, KeyKeepsItsPlaceWhileRequeued) {
  const auto depth = [&] { return metrics.gauge("tidemark_work_queue_depth", "", {{"component", "test"}}).value(); };
  net::Scope scope(loop);
  bool there = false;
  scope.spawn([](WorkQueue& on, bool& said) -> net::Task<void> {
    co_await on.line();
    said = true;
  }(queue, there));
  run_for(1s);
  EXPECT_FALSE(there);
  for (const char* key : {"a", "b", "a"}) queue.stand_in_line(key);
  run_for(1s);
  EXPECT_TRUE(there);
  queue.add("b");
  EXPECT_EQ(depth(), 3) << "two stand there, one of them waits in the queue too";
  EXPECT_EQ(take(), "b");
  queue.stand_in_line("b");
  queue.done("b");
  EXPECT_EQ(queue.first_in_line(), "a");
  EXPECT_EQ(queue.first_in_line(), "b");
  EXPECT_EQ(depth(), 0);
}

}  // namespace
}  // namespace tidemark::kube
