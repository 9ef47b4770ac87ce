#include "net/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/testing/clock.h"
#include "net/loop.h"
#include "net/testing/loop.h"

namespace tidemark::net {
namespace {

using std::chrono::seconds;

class TaskTest : public ::testing::Test {
 protected:
  base::testing::Clock clock_;
  EventLoop loop_{clock_};
};

// Records its destruction, to check that frames are destroyed and in which order.
struct Mark {
  Mark(std::string& log, char letter) : log_(log), letter_(letter) {}
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { log_ += letter_; }
  std::string& log_;
  char letter_;
};

Task<int> leaf(EventLoop& loop, std::string& log, seconds delay, int value) {
  const Mark mark(log, 'l');
  co_await loop.sleep(delay);
  co_return value;
}

Task<int> middle(EventLoop& loop, std::string& log, seconds delay) {
  const Mark mark(log, 'm');
  const int a = co_await leaf(loop, log, delay, 1);
  const int b = co_await leaf(loop, log, delay, 2);
  co_return a * 10 + b;
}

Task<void> root(EventLoop& loop, std::string& log, seconds delay, int& out) {
  const Mark mark(log, 'r');
  out = co_await middle(loop, log, delay);
}

Task<std::unique_ptr<int>> make_owned(int value) {
  co_return std::make_unique<int>(value);
}

Task<int> immediate(int value) {
  co_return value;
}

Task<long> add_many(int count) {
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await immediate(1);
  co_return sum;
}

TEST_F(TaskTest, NestedTasksGiveTheirValuesUp) {
  std::string log;
  int value = 0;
  testing::run_task(loop_, clock_, root(loop_, log, seconds(1), value));
  EXPECT_EQ(value, 12);
  EXPECT_EQ(log, "llmr");
}

TEST_F(TaskTest, ValuesMayBeMoveOnly) {
  EXPECT_EQ(*testing::run_task(loop_, clock_, make_owned(5)), 5);
}

TEST_F(TaskTest, ATaskIsLazyAndDestroyingItUnstartedRunsNothing) {
  std::string log;
  int value = 0;
  {
    const auto task = root(loop_, log, seconds(1), value);
  }
  EXPECT_EQ(log, "");
  EXPECT_FALSE(loop_.next_timer());
}

TEST_F(TaskTest, DestroyingTheOuterTaskUnwindsFromTheInsideAndUnlinksItsTimer) {
  std::string log;
  int value = 0;
  {
    Scope scope(loop_);
    scope.spawn(root(loop_, log, seconds(1), value));
    loop_.run_ready();
    EXPECT_TRUE(loop_.next_timer());
  }
  EXPECT_EQ(log, "lmr");
  EXPECT_FALSE(loop_.next_timer());
  testing::run_for(loop_, clock_, seconds(5));
  EXPECT_EQ(value, 0);
}

TEST_F(TaskTest, ATaskDestroyedWhileItIsOnTheReadyListIsNotResumed) {
  std::string log;
  int value = 0;
  Scope scope(loop_);
  scope.spawn(root(loop_, log, seconds(1), value));
  loop_.run_ready();
  // This timer comes after the sleeper's in the same round: the sleeper is on the ready list by then.
  const auto killer = loop_.after(seconds(1), [&] { scope.clear(); });
  testing::run_for(loop_, clock_, seconds(3));
  EXPECT_EQ(log, "lmr");
  EXPECT_EQ(value, 0);
}

TEST_F(TaskTest, ALongChainOfFinishedTasksDoesNotGrowTheStack) {
  EXPECT_EQ(testing::run_task(loop_, clock_, add_many(1'000'000)), 1'000'000);
}

TEST_F(TaskTest, AScopeStartsTasksInTheNextRoundAndForgetsThemWhenTheyEnd) {
  std::string log;
  int value = 0;
  Scope scope(loop_);
  scope.spawn(root(loop_, log, seconds(1), value));
  scope.spawn(root(loop_, log, seconds(2), value));
  EXPECT_EQ(scope.running(), 2U);
  EXPECT_FALSE(loop_.next_timer());
  testing::run_for(loop_, clock_, seconds(2));
  EXPECT_EQ(scope.running(), 1U);
  testing::run_for(loop_, clock_, seconds(2));
  EXPECT_EQ(scope.running(), 0U);
}

TEST_F(TaskTest, AScopeDestroyedBeforeItsTasksBeganRunsNothing) {
  std::string log;
  int value = 0;
  {
    Scope(loop_).spawn(root(loop_, log, seconds(1), value));
  }
  loop_.run_ready();
  EXPECT_EQ(log, "");
}

Task<void> spawn_at_end(EventLoop& loop, Scope& scope, std::string& log, int& value) {
  struct AtEnd {
    EventLoop& loop;
    Scope& scope;
    std::string& log;
    int& value;
    ~AtEnd() { scope.spawn(root(loop, log, seconds(1), value)); }
  } at_end{loop, scope, log, value};
  co_await loop.sleep(seconds(100));
}

TEST_F(TaskTest, ATaskThatSpawnsWhileTheScopeClearsIsClearedToo) {
  std::string log;
  int value = 0;
  Scope scope(loop_);
  scope.spawn(spawn_at_end(loop_, scope, log, value));
  loop_.run_ready();
  scope.clear();
  EXPECT_EQ(scope.running(), 0U);
  testing::run_for(loop_, clock_, seconds(5));
  EXPECT_EQ(value, 0);
}

Task<void> wait_and_log(Event& event, std::string& log, char letter) {
  co_await event.wait();
  log += letter;
}

Task<void> wait_for_and_log(Event& event, std::string& log, seconds limit) {
  log += co_await event.wait_for(limit) ? '+' : '-';
}

TEST_F(TaskTest, AnEventWakesAllWaitersAndLaterOnes) {
  Event event(loop_);
  std::string log;
  Scope scope(loop_);
  scope.spawn(wait_and_log(event, log, 'a'));
  scope.spawn(wait_and_log(event, log, 'b'));
  loop_.run_ready();
  EXPECT_EQ(log, "");
  event.set();
  event.set();
  EXPECT_EQ(log, "");  // never from inside set()
  loop_.run_ready();
  EXPECT_EQ(log, "ab");
  scope.spawn(wait_and_log(event, log, 'c'));
  loop_.run_ready();
  EXPECT_EQ(log, "abc");
  event.clear();
  scope.spawn(wait_and_log(event, log, 'd'));
  loop_.run_ready();
  EXPECT_EQ(log, "abc");
}

TEST_F(TaskTest, AnEventSetAndClearedAtOnceStillWakesItsWaiters) {
  Event event(loop_);
  std::string log;
  Scope scope(loop_);
  scope.spawn(wait_for_and_log(event, log, seconds(9)));
  loop_.run_ready();
  event.set();
  event.clear();
  loop_.run_ready();
  EXPECT_EQ(log, "+");
}

TEST_F(TaskTest, AnEventWakesOneWaiterAfterAnotherIfOneIsEnough) {
  Event event(loop_);
  std::string log;
  Scope scope(loop_);
  scope.spawn(wait_for_and_log(event, log, seconds(2)));
  scope.spawn(wait_and_log(event, log, 'a'));
  scope.spawn(wait_and_log(event, log, 'b'));
  testing::run_for(loop_, clock_, seconds(2));
  EXPECT_EQ(log, "-");  // a destroyed waiter takes no wake-up
  event.wake_one();
  loop_.run_ready();
  EXPECT_EQ(log, "-a");
  EXPECT_FALSE(event.is_set());
  event.wake_one();
  event.wake_one();  // no waiter is left: the flag stays for the next one
  loop_.run_ready();
  EXPECT_EQ(log, "-ab");
  EXPECT_TRUE(event.is_set());
}

TEST_F(TaskTest, AWaitWithALimitEndsWithTheLimit) {
  Event event(loop_);
  std::string log;
  Scope scope(loop_);
  scope.spawn(wait_for_and_log(event, log, seconds(2)));
  testing::run_for(loop_, clock_, std::chrono::milliseconds(1999));
  EXPECT_EQ(log, "");
  testing::run_for(loop_, clock_, std::chrono::milliseconds(1));
  EXPECT_EQ(log, "-");
  event.set();
  loop_.run_ready();
  EXPECT_EQ(log, "-");
}

TEST_F(TaskTest, AnEventMayDieBeforeItsWaiters) {
  auto event = std::make_unique<Event>(loop_);
  std::string log;
  Scope scope(loop_);
  scope.spawn(wait_and_log(*event, log, 'a'));
  scope.spawn(wait_for_and_log(*event, log, seconds(100)));
  loop_.run_ready();
  event.reset();
  scope.clear();
  EXPECT_EQ(log, "");
}

TEST_F(TaskTest, AWaitingTaskDestroyedIsNotWoken) {
  Event event(loop_);
  std::string log;
  {
    Scope scope(loop_);
    scope.spawn(wait_and_log(event, log, 'a'));
    loop_.run_ready();
  }
  event.set();
  loop_.run_ready();
  EXPECT_EQ(log, "");
}

Task<void> await_shot(OneShot<std::string>& shot, std::string& out) {
  out = co_await shot;
}

TEST_F(TaskTest, AOneShotGivesBeforeOrAfterTheAwait) {
  OneShot<std::string> early(loop_);
  OneShot<std::string> late(loop_);
  std::string a;
  std::string b;
  Scope scope(loop_);
  early.give("early");
  early.give("ignored");
  scope.spawn(await_shot(early, a));
  scope.spawn(await_shot(late, b));
  loop_.run_ready();
  EXPECT_EQ(a, "early");
  late.give("late");
  EXPECT_EQ(b, "");
  loop_.run_ready();
  EXPECT_EQ(b, "late");
}

TEST_F(TaskTest, ALoopMayEndBeforeTheTasksThatSleepOnIt) {
  std::string log;
  int value = 0;
  auto loop = std::make_unique<EventLoop>(clock_);
  auto task = root(*loop, log, seconds(1), value);
  task.start();
  loop.reset();
  task = Task<void>();
  EXPECT_EQ(log, "lmr");
}

}  // namespace
}  // namespace tidemark::net
