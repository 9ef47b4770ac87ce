#include "base/limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tidemark::base {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr MonotonicTime kStart{hours(1)};

TEST(TokenBucket, GivesTheBurstAtOnceThenTheRate) {
  TokenBucket bucket(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take(kStart)) << i;
  EXPECT_FALSE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.wait(kStart), milliseconds(100));
  EXPECT_EQ(bucket.wait(kStart + milliseconds(40)), milliseconds(60));
  EXPECT_FALSE(bucket.try_take(kStart + (milliseconds(100) - nanoseconds(1))));
  EXPECT_TRUE(bucket.try_take(kStart + milliseconds(100)));
  EXPECT_FALSE(bucket.try_take(kStart + milliseconds(100)));
}

TEST(TokenBucket, ReservationsQueueUpOneIntervalApart) {
  TokenBucket bucket(4, 1);
  EXPECT_EQ(bucket.reserve(kStart, seconds(10)), Duration(0));
  EXPECT_EQ(bucket.reserve(kStart, seconds(10)), milliseconds(250));
  EXPECT_EQ(bucket.reserve(kStart, seconds(10)), milliseconds(500));
}

TEST(TokenBucket, ARefusedReservationTakesNothing) {
  TokenBucket bucket(1, 1);
  EXPECT_EQ(bucket.reserve(kStart, Duration(0)), Duration(0));
  EXPECT_EQ(bucket.reserve(kStart, milliseconds(999)), std::nullopt);
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), seconds(1));
}

TEST(TokenBucket, IdleTimeFillsItNoFurtherThanTheBurst) {
  TokenBucket bucket(100, 2);
  EXPECT_TRUE(bucket.try_take(kStart));
  const MonotonicTime later = kStart + hours(10);
  EXPECT_TRUE(bucket.try_take(later));
  EXPECT_TRUE(bucket.try_take(later));
  EXPECT_FALSE(bucket.try_take(later));
}

TEST(TokenBucket, RefundUndoesTake) {
  TokenBucket bucket(4, 1);
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), Duration(0));
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(250));
  bucket.refund();
  EXPECT_EQ(bucket.reserve(kStart, seconds(1)), milliseconds(250));
  bucket.refund();
  bucket.refund();
  EXPECT_EQ(bucket.wait(kStart), Duration(0));
  TokenBucket never(0, 1);
  EXPECT_TRUE(never.try_take(kStart));
  never.refund();
  EXPECT_TRUE(never.try_take(kStart));
  EXPECT_FALSE(never.try_take(kStart));
}

TEST(TokenBucket, LongRunIsTheRateWhateverThePattern) {
  TokenBucket bucket(50, 5);
  Random random(42);
  MonotonicTime now = kStart;
  int taken = 0;
  while (now - kStart < seconds(60)) {
    now = now + milliseconds(static_cast<int>(random.below(30)));
    while (bucket.try_take(now)) ++taken;
  }
  EXPECT_LE(taken, 50 * 60 + 5 + 2);
  EXPECT_GE(taken, 50 * 60 - 2);
}

TEST(TokenBucket, NoRateMeansOnlyTheBurst) {
  TokenBucket bucket(0, 2);
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_EQ(bucket.wait(kStart + hours(1000)), Duration::max());
  EXPECT_EQ(bucket.reserve(kStart + hours(1000), Duration::max()), std::nullopt);
}

TEST(TokenBucket, SlowRatesAndHugeBurstsDoNotOverflow) {
  TokenBucket slow(1.0 / 3600, 1'000'000'000);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(slow.try_take(kStart));
  TokenBucket yearly(1.0 / (3600 * 24 * 364), 1'000'000'000);
  int taken = 0;
  while (yearly.reserve(kStart, Duration::max())) ++taken;
  EXPECT_EQ(taken, 101) << "a hundred years ahead is far enough";
  TokenBucket hourly(1.0 / 3600, 1);
  EXPECT_TRUE(hourly.try_take(kStart));
  EXPECT_EQ(hourly.wait(kStart), hours(1));
  TokenBucket fast(1e12, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(fast.try_take(kStart));
}

TEST(TokenBucket, TimeThatGoesBackGivesNothing) {
  TokenBucket bucket(1, 1);
  EXPECT_TRUE(bucket.try_take(kStart));
  EXPECT_FALSE(bucket.try_take(kStart + seconds(-10)));
  EXPECT_TRUE(bucket.try_take(kStart + seconds(1)));
}

TEST(Backoff, DoublesUpToItsMaximumAndStartsAnew) {
  Backoff backoff({.initial = milliseconds(100), .max = seconds(1), .factor = 2.0, .jitter = 0}, Random(1));
  const std::vector<Duration> want = {milliseconds(100), milliseconds(200), milliseconds(400),
                                      milliseconds(800), seconds(1),        seconds(1)};
  for (const Duration wait : want) EXPECT_EQ(backoff.next(), wait);
  EXPECT_EQ(backoff.attempts(), 6);
  backoff.reset();
  EXPECT_EQ(backoff.attempts(), 0);
  EXPECT_EQ(backoff.next(), milliseconds(100));
}

TEST(Backoff, JitterSpreadsEveryWaitInItsBand) {
  Backoff backoff({.initial = seconds(10), .max = seconds(10), .factor = 2.0, .jitter = 0.5}, Random(1));
  Duration least = hours(1), most{0};
  for (int i = 0; i < 1000; ++i) {
    const Duration wait = backoff.next();
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, seconds(5));
  EXPECT_LT(least, milliseconds(5'200));
  EXPECT_LE(most, seconds(15));
  EXPECT_GT(most, milliseconds(14'800));
}

TEST(Backoff, NeverOverflowsNorDecreases) {
  Backoff backoff({.initial = seconds(1), .max = Duration::max(), .factor = 1e6, .jitter = 0}, Random(1));
  Duration last{0};
  for (int i = 0; i < 100; ++i) {
    const Duration wait = backoff.next();
    EXPECT_GE(wait, last);
    last = wait;
  }
  EXPECT_EQ(last, Duration::max());

  Backoff odd({.initial = seconds(5), .max = seconds(1), .factor = 0.1, .jitter = 0}, Random(1));
  EXPECT_EQ(odd.next(), seconds(1));
  EXPECT_EQ(odd.next(), seconds(1));
}

TEST(RepeatGate, PassesTheBurstCountsTheRestAndTellsLater) {
  RepeatGate gate(2, seconds(30));
  EXPECT_TRUE(gate.admit(kStart).pass);
  EXPECT_TRUE(gate.admit(kStart + seconds(1)).pass);
  EXPECT_FALSE(gate.admit(kStart + seconds(2)).pass);
  EXPECT_FALSE(gate.admit(kStart + (seconds(30) - nanoseconds(1))).pass);
  EXPECT_EQ(gate.dropped(), 2);
  EXPECT_FALSE(gate.idle(kStart + (seconds(30) - nanoseconds(1))));
  EXPECT_TRUE(gate.idle(kStart + seconds(30)));

  const auto verdict = gate.admit(kStart + seconds(30));
  EXPECT_TRUE(verdict.pass);
  EXPECT_EQ(verdict.dropped, 2);
  EXPECT_EQ(gate.admit(kStart + seconds(31)).dropped, 0);
  EXPECT_FALSE(gate.admit(kStart + seconds(59)).pass) << "the window counts from its own first line";
  EXPECT_TRUE(gate.admit(kStart + seconds(60)).pass);
}

}  // namespace
}  // namespace tidemark::base
