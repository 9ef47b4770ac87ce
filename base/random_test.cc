#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace tidemark::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The published xoshiro256** seeded by splitmix64(0): the same on every machine and in every release of ours.
TEST(Random, FollowsTheReferenceSequence) {
  Random random(0);
  EXPECT_EQ(random.next(), 11091344671253066420u);
  EXPECT_EQ(random.next(), 13793997310169335082u);
  EXPECT_EQ(random.next(), 1900383378846508768u);
}

TEST(Random, SeedsTellSequencesApartAndRepeatThem) {
  Random one(1), again(1), two(2);
  const auto first = one.next();
  EXPECT_EQ(first, again.next());
  EXPECT_NE(first, two.next());
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(7);
  std::array<int, 10> seen{};
  for (int i = 0; i < 100'000; ++i) ++seen.at(random.below(10));
  // Each is 10,000 ± 95 (one standard deviation); six of them is never seen with an unbiased draw.
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 600);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
}

// With a plain remainder, a bound of 3/4 of the range would draw the lower third twice as often as the rest.
TEST(Random, BelowHasNoBiasWhereARemainderHas) {
  Random random(11);
  const std::uint64_t bound = 3ull << 62;
  int lower_third = 0;
  for (int i = 0; i < 30'000; ++i) lower_third += random.below(bound) < (1ull << 62) ? 1 : 0;
  EXPECT_NEAR(lower_third, 10'000, 500);
}

TEST(RandomDeathTest, BelowZeroIsABug) {
  EXPECT_DEATH(Random(1).below(0), "below zero");
}

TEST(Random, UnitIsInTheHalfOpenInterval) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double drawn = random.unit();
    ASSERT_GE(drawn, 0.0);
    ASSERT_LT(drawn, 1.0);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.01);
}

TEST(Random, JitterStaysInItsBandAndFillsIt) {
  Random random(5);
  Duration least = Duration::max(), most{0};
  for (int i = 0; i < 10'000; ++i) {
    const Duration drawn = random.jitter(seconds(10), 0.2);
    least = std::min(least, drawn);
    most = std::max(most, drawn);
  }
  EXPECT_GE(least, seconds(8));
  EXPECT_LT(least, milliseconds(8'100));
  EXPECT_LE(most, seconds(12));
  EXPECT_GT(most, milliseconds(11'900));
}

TEST(Random, JitterIsNeverNegativeNorOverflows) {
  Random random(5);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_GE(random.jitter(seconds(1), 50.0), Duration(0));
    EXPECT_LE(random.jitter(seconds(1), 50.0), seconds(2));
    EXPECT_GT(random.jitter(Duration::max(), 0.9), Duration(0));
  }
  EXPECT_EQ(random.jitter(seconds(-1), 0.5), Duration(0));
  EXPECT_EQ(random.jitter(seconds(3), 0.0), seconds(3));
  EXPECT_EQ(random.jitter(seconds(3), -1.0), seconds(3));
  EXPECT_EQ(random.jitter(Duration::max(), 0.0), Duration::max());
}

TEST(Random, AForkGoesItsOwnWay) {
  Random parent(9);
  Random child = parent.fork();
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 100; ++i) {
    drawn.insert(parent.next());
    drawn.insert(child.next());
  }
  EXPECT_EQ(drawn.size(), 200u);
}

TEST(Random, SystemSeedsDiffer) {
  EXPECT_NE(Random::seed_from_system(), Random::seed_from_system());
}

}  // namespace
}  // namespace tidemark::base
