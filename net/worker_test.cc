#include "net/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "net/testing/loop.h"

namespace tidemark::net {
namespace {

// Holds workers until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for_arrivals(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

TEST(ConcurrentWorker, AValueComesBackToTheLoopsThread) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  WorkerPool pool(2, 8);
  const auto here = std::this_thread::get_id();
  const auto there =
      testing::run_task(loop, pool.run<std::thread::id>(loop, [] { return std::this_thread::get_id(); }));
  ASSERT_TRUE(there);
  EXPECT_NE(*there, here);
}

Task<void> square(WorkerPool& pool, EventLoop& loop, int n, long& sum) {
  const auto result = co_await pool.run<long>(loop, [n] { return long{n} * n; });
  EXPECT_TRUE(result);
  sum += *result;
}

TEST(ConcurrentWorker, ManyTasksGetTheirOwnValues) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  WorkerPool pool(4, 1000);
  Scope scope(loop);
  long sum = 0;
  for (int n = 1; n <= 500; ++n) scope.spawn(square(pool, loop, n, sum));
  EXPECT_TRUE(testing::run_real_until(loop, [&] { return scope.running() == 0; }));
  EXPECT_EQ(sum, 500L * 501 * 1001 / 6);
}

TEST(ConcurrentWorker, AFullQueueIsRefusedAtOnce) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  Gate gate;
  WorkerPool pool(1, 2);
  Scope scope(loop);
  long sum = 0;
  const auto blocked = [&](long& out) -> Task<void> {
    out += (co_await pool.run<long>(loop, [&gate] {
             gate.pass();
             return 1L;
           })).value_or(100);
  };
  scope.spawn(blocked(sum));
  loop.run_ready();
  gate.wait_for_arrivals(1);  // one runs; two may wait
  scope.spawn(blocked(sum));
  scope.spawn(blocked(sum));
  loop.run_ready();
  const auto refused = testing::run_task(loop, pool.run<long>(loop, [] { return 1L; }));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  gate.open();
  EXPECT_TRUE(testing::run_real_until(loop, [&] { return scope.running() == 0; }));
  EXPECT_EQ(sum, 3);
}

TEST(ConcurrentWorker, TheValueOfADestroyedTaskIsDropped) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  Gate gate;
  const auto kept = std::make_shared<int>(1);
  {
    WorkerPool pool(1, 2);
    {
      Scope scope(loop);
      bool resumed = false;
      const auto wait = [&]() -> Task<void> {
        (void)co_await pool.run<std::shared_ptr<int>>(loop, [&gate, kept] {
          gate.pass();
          return kept;
        });
        resumed = true;
      };
      scope.spawn(wait());
      loop.run_ready();
      gate.wait_for_arrivals(1);
      scope.clear();
      EXPECT_FALSE(resumed);
    }
    gate.open();
  }
  loop.run_ready();
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(ConcurrentWorker, AnAbandonedPoolDoesNotWaitAndPostsNoAnswer) {
  const base::SystemClock clock;
  const auto gate = std::make_shared<Gate>();
  const auto kept = std::make_shared<int>(1);
  {
    EventLoop loop(clock);
    Scope scope(loop);
    WorkerPool pool(1, 8, WorkerPool::AtEnd::kAbandon);
    const auto wait = [&]() -> Task<void> {
      (void)co_await pool.run<int>(loop, [gate, kept] {
        gate->pass();
        return *kept;
      });
    };
    scope.spawn(wait());
    loop.run_ready();
    gate->wait_for_arrivals(1);
  }
  EXPECT_EQ(kept.use_count(), 2);  // the work still runs
  gate->open();
  while (kept.use_count() != 1) std::this_thread::yield();
}

TEST(ConcurrentWorker, APoolDestroyedFinishesWhatRunsAndDropsWhatWaits) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  Gate gate;
  std::atomic<int> ran{0};
  Scope scope(loop);
  auto pool = std::make_unique<WorkerPool>(1, 8);
  const auto count = [&]() -> Task<void> {
    (void)co_await pool->run<int>(loop, [&] {
      gate.pass();
      return ++ran;
    });
  };
  for (int i = 0; i < 3; ++i) scope.spawn(count());
  loop.run_ready();
  gate.wait_for_arrivals(1);
  std::thread opener([&] { gate.open(); });
  pool.reset();
  opener.join();
  EXPECT_GE(ran.load(), 1);
  EXPECT_LE(ran.load(), 3);
  loop.run_ready();
  scope.clear();
}

}  // namespace
}  // namespace tidemark::net
