#include "policy/sell/prediction/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace tidemark::policy::sell {
namespace {

using base::WallTime;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A multiple of both half-lives: weights begin at 1.
constexpr WallTime kHistogramBegin{hours(24 * 20'000)};
constexpr double kMi = 1024.0 * 1024;

// Contract 7.13: exponential buckets of ratio 1.05. CPU: first 0.025 cores, max 1024. Memory: first 5 MiB, max 2^41.
TEST(HistogramShape, HasAsManyBucketsAsTheFormulaSays) {
  for (const HistogramShape* shape : {&kCpuShape, &kMemoryShape}) {
    const long double ratio = 1.05L;
    const auto last =
        std::ceil(std::log(static_cast<long double>(shape->most) * (ratio - 1) / shape->first + 1) / std::log(ratio));
    EXPECT_EQ(shape->buckets, static_cast<std::size_t>(last) + 1);
    EXPECT_GE(bucket_start(*shape, shape->buckets - 1), shape->most);
    EXPECT_LT(bucket_start(*shape, shape->buckets - 2), shape->most);
  }
  EXPECT_EQ(kCpuShape.half_life, hours(12));
  EXPECT_EQ(kMemoryShape.half_life, hours(24));
}

TEST(HistogramShape, EdgesByHand) {
  // 0.025 × (1.05^b − 1) / 0.05: b = 1 gives 0.025, b = 2 gives 0.025 × 2.05, b = 3 gives 0.025 × 3.1525.
  EXPECT_DOUBLE_EQ(bucket_start(kCpuShape, 0), 0);
  EXPECT_DOUBLE_EQ(bucket_start(kCpuShape, 1), 0.025);
  EXPECT_DOUBLE_EQ(bucket_start(kCpuShape, 2), 0.05125);
  EXPECT_DOUBLE_EQ(bucket_start(kCpuShape, 3), 0.0788125);
  EXPECT_EQ(bucket_of(kCpuShape, 0), 0U);
  EXPECT_EQ(bucket_of(kCpuShape, 0.0249), 0U);
  EXPECT_EQ(bucket_of(kCpuShape, 0.03), 1U);
  EXPECT_EQ(bucket_of(kCpuShape, 0.052), 2U);
  EXPECT_EQ(bucket_of(kCpuShape, 1e9), kCpuShape.buckets - 1);
  EXPECT_EQ(bucket_of(kMemoryShape, 5 * kMi - 1), 0U);
  EXPECT_EQ(bucket_of(kMemoryShape, 6 * kMi), 1U);
  for (const double wrong : {-1.0, -std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_EQ(bucket_of(kCpuShape, wrong), 0U);
  }
  EXPECT_EQ(bucket_of(kCpuShape, std::numeric_limits<double>::infinity()), kCpuShape.buckets - 1);
}

// Contract 7.13: a percentile is the upper edge of the first bucket with cumulative weight ≥ p×total.
TEST(DecayingHistogram, PercentilesByHand) {
  DecayingHistogram histogram(kCpuShape);
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.percentile(0.95), 0);
  for (int i = 0; i < 95; ++i) histogram.add(0.01, kHistogramBegin);
  for (int i = 0; i < 5; ++i) histogram.add(0.03, kHistogramBegin);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.95), 0.025) << "95 of 100 is reached by the first";
  EXPECT_DOUBLE_EQ(histogram.percentile(0.96), 0.05125);
  histogram.add(0.03, kHistogramBegin);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.95), 0.05125);
  EXPECT_DOUBLE_EQ(histogram.percentile(1), 0.05125);
  EXPECT_FALSE(histogram.empty());
}

TEST(DecayingHistogram, TheLastBucketHasNoUpperEdge) {
  DecayingHistogram histogram(kMemoryShape);
  histogram.add(1e15, kHistogramBegin);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.98), bucket_start(kMemoryShape, kMemoryShape.buckets - 1));
  EXPECT_DOUBLE_EQ(histogram.percentile(0), histogram.percentile(1));
}

// Contract 7.13: sample weight 1 × 2^((t−ref)/half-life). A half-life later a sample weighs twice as much.
TEST(DecayingHistogram, DecayByHand) {
  DecayingHistogram histogram(kCpuShape);
  histogram.add(0.03, kHistogramBegin);
  histogram.add(0.01, kHistogramBegin + hours(12));  // 1 and 2
  EXPECT_EQ(histogram.reference(), kHistogramBegin);
  EXPECT_DOUBLE_EQ(histogram.total(), 3);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.66), 0.025);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.67), 0.05125);
  histogram.add(0.01, kHistogramBegin + hours(24));  // and 4
  EXPECT_DOUBLE_EQ(histogram.percentile(0.85), 0.025) << "6 of 7";
  EXPECT_DOUBLE_EQ(histogram.percentile(0.86), 0.05125);
}

TEST(DecayingHistogram, TheReferenceIsTheNearestMultiple) {
  for (const auto& [at, reference] :
       {std::pair(hours(5), hours(0)), std::pair(hours(6), hours(12)), std::pair(hours(7), hours(12)),
        std::pair(hours(-6), hours(0)), std::pair(hours(-7), hours(-12))}) {
    DecayingHistogram histogram(kCpuShape);
    histogram.add(1, kHistogramBegin + at);
    EXPECT_EQ(histogram.reference(), kHistogramBegin + reference) << at.count();
    EXPECT_DOUBLE_EQ(histogram.total(), std::exp2(static_cast<double>((at - reference).count()) / 12));
  }
}

TEST(DecayingHistogram, AHundredHalfLivesLaterTheReferenceMoves) {
  DecayingHistogram histogram(kCpuShape);
  histogram.add(0.03, kHistogramBegin);
  histogram.add(0.01, kHistogramBegin + hours(12 * 100));
  EXPECT_EQ(histogram.reference(), kHistogramBegin);
  EXPECT_DOUBLE_EQ(histogram.total(), std::exp2(100.0) + 1);
  histogram.add(0.2, kHistogramBegin + hours(12 * 101));
  EXPECT_EQ(histogram.reference(), kHistogramBegin + hours(12 * 101));
  EXPECT_DOUBLE_EQ(histogram.total(), 1.5);
  EXPECT_DOUBLE_EQ(histogram.percentile(0.33), 0.025) << "a third; what is 100 half-lives older is not there any more";
  EXPECT_GT(histogram.percentile(0.34), 0.2);
}

TEST(DecayingHistogram, NoTimeIsTooFarAway) {
  DecayingHistogram histogram(kCpuShape);
  histogram.add(0.03, WallTime{base::Duration::min()});
  histogram.add(0.03, WallTime{base::Duration::max()});
  EXPECT_TRUE(std::isfinite(histogram.total()));
  EXPECT_DOUBLE_EQ(histogram.percentile(0.95), 0.05125);
  histogram.add(0.03, WallTime{base::Duration::min()});
  EXPECT_TRUE(std::isfinite(histogram.total()));
  histogram.move_time(base::Duration::max());
  histogram.move_time(base::Duration::min());
  EXPECT_DOUBLE_EQ(histogram.percentile(0.95), 0.05125);
}

// ---- against a list of samples, in long double ----

struct Old {
  double amount;
  WallTime at;
};

// Weights below 1: nothing is lost to a common factor.
std::vector<std::pair<double, long double>> weighted(const std::vector<Old>& all, const HistogramShape& shape) {
  WallTime newest = all.front().at;
  for (const Old& each : all) newest = std::max(newest, each.at);
  std::vector<std::pair<double, long double>> out;
  out.reserve(all.size());
  for (const Old& each : all) {
    const auto age =
        static_cast<long double>((newest - each.at).count()) / static_cast<long double>(shape.half_life.count());
    out.emplace_back(each.amount, std::exp2(-age));
  }
  std::ranges::sort(out);
  return out;
}

class AgainstAList : public ::testing::TestWithParam<const HistogramShape*> {};

TEST_P(AgainstAList, PercentilesAreOfTheBucketThatTheExactOneIsIn) {
  const HistogramShape& shape = *GetParam();
  std::mt19937_64 random(23);
  for (int round = 0; round < 20; ++round) {
    DecayingHistogram histogram(shape);
    std::vector<Old> all;
    WallTime now = kHistogramBegin + minutes(random() % 100'000);
    const double scale = shape.first * std::exp2(static_cast<double>(random() % 12));
    std::lognormal_distribution<double> amounts(0, 1 + static_cast<double>(random() % 3));
    for (int i = 0; i < 3'000; ++i) {
      now = now + minutes(random() % 40 == 0 ? random() % 1'000 : 1);
      const Old each{scale * amounts(random), now};
      histogram.add(each.amount, each.at);
      all.push_back(each);
    }
    const auto sorted = weighted(all, shape);
    long double total = 0;
    for (const auto& each : sorted) total += each.second;
    double before = 0;
    for (const double p : {0.01, 0.1, 0.3, 0.5, 0.6, 0.9, 0.95, 0.98, 0.999}) {
      // Whose bucket: of the first sample with which the sum reaches p, give or take what double precision loses.
      long double sum = 0;
      std::size_t least = 0;
      for (; sum + sorted[least].second < (p - 1e-6L) * total; ++least) sum += sorted[least].second;
      std::size_t most = least;
      for (; most + 1 < sorted.size() && sum + sorted[most].second < (p + 1e-6L) * total; ++most) {
        sum += sorted[most].second;
      }
      const auto edge_above = [&](double amount) {
        return bucket_start(shape, std::min(bucket_of(shape, amount) + 1, shape.buckets - 1));
      };
      const double told = histogram.percentile(p);
      ASSERT_GE(told, edge_above(sorted[least].first)) << p;
      ASSERT_LE(told, edge_above(sorted[most].first)) << p;
      ASSERT_GE(told, std::min(sorted[least].first, bucket_start(shape, shape.buckets - 1)));
      ASSERT_LE(told, std::max(sorted[most].first * shape.ratio + shape.first, shape.first)) << "within one bucket";
      ASSERT_GE(told, before) << "grows with p";
      before = told;
    }
  }
}

TEST_P(AgainstAList, TheOrderWithinAnInstantLeavesNoTrace) {
  const HistogramShape& shape = *GetParam();
  std::mt19937_64 random(29);
  for (int round = 0; round < 50; ++round) {
    DecayingHistogram one(shape);
    DecayingHistogram other(shape);
    WallTime now = kHistogramBegin;
    for (int pass = 0; pass < 20; ++pass) {
      now = now + minutes(random() % 5'000);
      std::vector<double> amounts;
      amounts.reserve(50);
      for (int i = 0; i < 50; ++i) amounts.push_back(shape.first * static_cast<double>(random() % 10'000) / 7);
      for (const double each : amounts) one.add(each, now);
      std::ranges::shuffle(amounts, random);
      for (const double each : amounts) other.add(each, now);
    }
    ASSERT_EQ(one, other);
  }
}

// A larger sample in place of a smaller one never makes a percentile smaller.
TEST_P(AgainstAList, MoreUseNeverYieldsLess) {
  const HistogramShape& shape = *GetParam();
  std::mt19937_64 random(31);
  DecayingHistogram less(shape);
  DecayingHistogram more(shape);
  WallTime now = kHistogramBegin;
  for (int i = 0; i < 5'000; ++i) {
    now = now + seconds(random() % 10'000);
    const double amount = shape.first * static_cast<double>(random() % 1'000) / 3;
    less.add(amount, now);
    more.add(amount * (1 + static_cast<double>(random() % 100) / 50), now);
    if (i % 100 != 0) continue;
    for (const double p : {0.5, 0.9, 0.95, 0.98}) ASSERT_GE(more.percentile(p), less.percentile(p));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgainstAList, ::testing::Values(&kCpuShape, &kMemoryShape));

}  // namespace
}  // namespace tidemark::policy::sell
