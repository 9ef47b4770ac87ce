#include "agent/sampler/counter.h"

#include <gtest/gtest.h>

#include <limits>

namespace tidemark::agent {
namespace {

using base::MonotonicTime;
using std::chrono::seconds;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr MonotonicTime kStart{seconds(100)};

TEST(Counter, GrowsBetweenTwoLooks) {
  Counter counter;
  EXPECT_FALSE(counter.look(10, kStart));
  const auto growth = counter.look(15, kStart + seconds(2));
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->added, 5);
  EXPECT_EQ(growth->over, base::Duration(seconds(2)));
}

TEST(Counter, FallingCounterRestarts) {
  Counter counter;
  counter.look(10, kStart);
  EXPECT_FALSE(counter.look(9, kStart + seconds(1)));
  EXPECT_EQ(counter.look(11, kStart + seconds(2))->added, 2);
}

TEST(Counter, WithoutTimeThereIsNoGrowth) {
  Counter counter;
  counter.look(10, kStart);
  EXPECT_FALSE(counter.look(11, kStart));
}

TEST(Counter, ASecond) {
  EXPECT_EQ(per_second({10, seconds(4)}), 2);
  EXPECT_EQ(per_second({10, seconds(4)}, 1000), 2500);
  EXPECT_EQ(per_second({10, seconds(0)}), 0);
  EXPECT_EQ(per_second({kMax, base::Duration(1)}, 1'000'000), kMax) << "held, not wrapped around";
}

TEST(Counter, MicroCoresAreBoundedByCpus) {
  constexpr std::int64_t kNs = 1'000'000'000;
  EXPECT_EQ(micro_cores({kNs / 2, seconds(1)}, 1), 500'000);
  EXPECT_EQ(micro_cores({4 * kNs, seconds(1)}, 4), 4'000'000);
  EXPECT_TRUE(micro_cores({kNs + kNs / 100, seconds(1)}, 1)) << "a tick is booked late";
  EXPECT_FALSE(micro_cores({2 * kNs, seconds(1)}, 1));
  EXPECT_FALSE(micro_cores({kMax, seconds(1)}, 1));
  EXPECT_FALSE(micro_cores({0, seconds(0)}, 1));
}

TEST(Counter, Shares) {
  EXPECT_EQ(share_of(100, 1, 4), 25);
  EXPECT_EQ(share_of(100, 1, 0), 0);
  EXPECT_EQ(share_of(kMax, kMax, 1), kMax);
  EXPECT_EQ(sum_of({kMax, kMax}), kMax);
}

}  // namespace
}  // namespace tidemark::agent
