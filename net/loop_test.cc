#include "net/loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/testing/clock.h"
#include "net/testing/loop.h"

namespace tidemark::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct SocketPair {
  SocketPair() {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    ours = Fd(fds[0]);
    theirs = Fd(fds[1]);
  }
  void send() const { EXPECT_EQ(::send(theirs.get(), "x", 1, MSG_NOSIGNAL), 1); }
  char take() const {
    char byte = 0;
    EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), 1);
    return byte;
  }
  Fd ours;
  Fd theirs;
};

class LoopTest : public ::testing::Test {
 protected:
  base::testing::Clock clock_;
  EventLoop loop_{clock_};
};

TEST_F(LoopTest, TimersFireInTheOrderOfTheirTimeThenOfTheirMaking) {
  std::string fired;
  const auto a = loop_.after(seconds(3), [&] { fired += 'a'; });
  const auto b = loop_.after(seconds(1), [&] { fired += 'b'; });
  const auto c = loop_.after(seconds(3), [&] { fired += 'c'; });
  loop_.run_ready();
  EXPECT_EQ(fired, "");
  EXPECT_EQ(*loop_.next_timer() - clock_.monotonic(), seconds(1));
  testing::run_for(loop_, clock_, milliseconds(999));
  EXPECT_EQ(fired, "");
  testing::run_for(loop_, clock_, milliseconds(1));
  EXPECT_EQ(fired, "b");
  EXPECT_FALSE(b.armed());
  EXPECT_TRUE(c.armed());
  testing::run_for(loop_, clock_, seconds(2));
  EXPECT_EQ(fired, "bac");
  EXPECT_FALSE(loop_.next_timer());
}

TEST_F(LoopTest, ATimerCancelsAnotherThatIsDueInTheSameRound) {
  bool fired = false;
  Timer second;
  const auto first = loop_.after(seconds(1), [&] { second.cancel(); });
  second = loop_.after(seconds(1), [&] { fired = true; });
  testing::run_for(loop_, clock_, seconds(2));
  EXPECT_FALSE(fired);
}

TEST_F(LoopTest, ATimerMayDestroyItselfInItsCallback) {
  auto timer = std::make_unique<Timer>();
  const auto kept = std::make_shared<int>(7);
  int seen = 0;
  *timer = loop_.after(seconds(1), [&timer, &seen, kept] {
    timer.reset();
    seen = *kept;  // what the callback holds must still be there
  });
  testing::run_for(loop_, clock_, seconds(1));
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(LoopTest, ATimerArmedAgainInItsCallbackKeepsItsPace) {
  std::vector<base::Duration> at;
  const auto start = clock_.monotonic();
  Timer timer;
  std::function<void()> tick = [&] {
    at.push_back(clock_.monotonic() - start);
    if (at.size() < 3) timer = loop_.after(seconds(5), tick);
  };
  timer = loop_.after(seconds(5), tick);
  testing::run_for(loop_, clock_, seconds(60));
  EXPECT_EQ(at, (std::vector<base::Duration>{seconds(5), seconds(10), seconds(15)}));
}

TEST_F(LoopTest, ATimerWithoutDelayThatArmsItselfStarvesNothing) {
  int ticks = 0;
  Timer timer;
  std::function<void()> tick = [&] {
    ++ticks;
    timer = loop_.after(seconds(0), tick);
  };
  timer = loop_.after(seconds(-1), tick);
  bool posted = false;
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(ticks, 1);
  loop_.post([&] { posted = true; });
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(ticks, 2);
  EXPECT_TRUE(posted);
}

// Fired timers are reused: an existing handle must still report its own timer.
TEST_F(LoopTest, ATimerThatFiredStaysSoWhateverIsMadeAfterIt) {
  std::string fired;
  Timer kept = loop_.after(seconds(1), [&] { fired += 'a'; });
  testing::run_for(loop_, clock_, seconds(1));
  const Timer next = loop_.after(seconds(1), [&] { fired += 'b'; });
  EXPECT_FALSE(kept.armed());
  EXPECT_TRUE(next.armed());
  kept.cancel();
  EXPECT_TRUE(next.armed()) << "it is another one";
  testing::run_for(loop_, clock_, seconds(1));
  EXPECT_EQ(fired, "ab");
}

TEST_F(LoopTest, CancelledTimersLeaveNothingBehind) {
  const auto kept = std::make_shared<int>(0);
  for (int i = 0; i < 100'000; ++i) auto timer = loop_.after(std::chrono::hours(1), [kept] {});
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_FALSE(loop_.next_timer());
}

TEST_F(LoopTest, AnEndlessDelayIsBoundedInsteadOfOverflowing) {
  const auto timer = loop_.after(base::Duration::max(), [] { FAIL(); });
  EXPECT_GT(*loop_.next_timer(), clock_.monotonic());
  loop_.run_ready();
}

TEST_F(LoopTest, HandlesMayOutliveTheLoop) {
  SocketPair pair;
  Timer timer;
  FdWatch watch;
  {
    EventLoop loop(clock_);
    timer = loop.after(seconds(1), [] {});
    watch = loop.watch(pair.ours.get(), kReadable, [](std::uint32_t) {});
    EXPECT_TRUE(timer.armed());
  }
  EXPECT_FALSE(timer.armed());
  watch.want(kWritable);
}

TEST_F(LoopTest, AWatchTellsReadableWritableAndHangUp) {
  SocketPair pair;
  std::uint32_t told = 0;
  auto watch = loop_.watch(pair.ours.get(), kReadable, [&](std::uint32_t events) { told = events; });
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(told, 0U);
  pair.send();
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(told, kReadable);
  pair.take();
  watch.want(kWritable);
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(told, kWritable);
  watch.want(0);
  pair.theirs.reset();
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(told, kHangup);
}

TEST_F(LoopTest, AWatchMayDestroyItselfAndOthersOfTheSameBatch) {
  SocketPair a;
  SocketPair b;
  int calls = 0;
  auto first = std::make_unique<FdWatch>();
  auto second = std::make_unique<FdWatch>();
  const auto both = [&](std::uint32_t) {
    ++calls;
    first.reset();
    second.reset();
    a.ours.reset();
    b.ours.reset();
  };
  *first = loop_.watch(a.ours.get(), kReadable, both);
  *second = loop_.watch(b.ours.get(), kReadable, both);
  a.send();
  b.send();
  loop_.run_ready();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, AStaleEventIsNotGivenToTheNextOwnerOfADescriptorNumber) {
  SocketPair a;
  SocketPair b;
  const int number = b.ours.get();
  bool wrong = false;
  FdWatch first;
  FdWatch second;
  FdWatch third;
  SocketPair* fresh = nullptr;
  const auto swap = [&](std::uint32_t) {
    if (fresh != nullptr) return;
    first.cancel();
    second.cancel();
    a.ours.reset();
    b.ours.reset();
    fresh = new SocketPair;
    for (Fd* fd : {&fresh->ours, &fresh->theirs}) {
      if (fd->get() == number) third = loop_.watch(number, kReadable, [&](std::uint32_t) { wrong = true; });
    }
  };
  first = loop_.watch(a.ours.get(), kReadable, swap);
  second = loop_.watch(b.ours.get(), kReadable, swap);
  a.send();
  b.send();
  loop_.turn(EventLoop::Wait::kNo);
  ASSERT_NE(fresh, nullptr);
  EXPECT_FALSE(wrong);
  third.cancel();
  delete fresh;
}

TEST_F(LoopTest, PostedCallbacksRunInTheNextRoundInOrder) {
  std::string ran;
  loop_.post([&] {
    ran += 'a';
    loop_.post([&] { ran += 'c'; });
  });
  loop_.post([&] { ran += 'b'; });
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(ran, "ab");
  loop_.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(ran, "abc");
}

TEST_F(LoopTest, WhatIsPostedWhileTheLoopEndsIsDestroyedWithIt) {
  const auto kept = std::make_shared<int>(0);
  {
    EventLoop loop(clock_);
    struct PostsAtItsEnd {
      EventLoop& loop;
      std::shared_ptr<int> kept;
      ~PostsAtItsEnd() {
        loop.post([k = kept] { FAIL(); });
      }
    };
    loop.post([p = std::make_shared<PostsAtItsEnd>(loop, kept)] { FAIL(); });
  }
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(LoopRealClock, WaitsForItsTimerAndNotLess) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  const auto start = clock.monotonic();
  const auto timer = loop.after(milliseconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_GE(clock.monotonic() - start, milliseconds(20));
}

TEST(LoopRealClock, AStopBeforeTheRunIsNotLost) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  loop.stop();
  loop.run();
  loop.stop_from_any_thread();
  loop.run();
}

TEST(LoopRealClock, SignalsAreEvents) {
  const base::SystemClock clock;
  EventLoop loop(clock);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::vector<int> seen;
  FdWatch watch;
  watch = loop.watch_signals({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 2) watch.cancel();
  });
  pthread_kill(pthread_self(), SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR2);
  EXPECT_TRUE(testing::run_real_until(loop, [&] { return seen.size() == 2; }));
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ConcurrentLoop, PostsFromManyThreadsAllArriveInTheOrderOfTheirThread) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 5000;
  const base::SystemClock clock;
  EventLoop loop(clock);
  std::vector<int> last(kThreads, -1);
  int arrived = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        loop.post_from_any_thread([&, t, i] {
          EXPECT_EQ(last[static_cast<std::size_t>(t)], i - 1);
          last[static_cast<std::size_t>(t)] = i;
          ++arrived;
        });
      }
    });
  }
  EXPECT_TRUE(testing::run_real_until(loop, [&] { return arrived == kThreads * kPosts; }));
  for (auto& thread : threads) thread.join();
}

TEST(ConcurrentLoop, AnotherThreadStopsAWaitingLoopThatIsDestroyedAtOnce) {
  const base::SystemClock clock;
  for (int i = 0; i < 200; ++i) {
    auto loop = std::make_unique<EventLoop>(clock);
    std::thread stopper([&l = *loop] { l.stop_from_any_thread(); });
    loop->run();
    stopper.join();
    loop.reset();
  }
}

}  // namespace
}  // namespace tidemark::net
