#include "demo/latencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace tidemark::demo {
namespace {

using base::Duration;

TEST(Latencies, NothingHasNoLatency) {
  EXPECT_EQ(Latencies().percentile(0.99), Duration(0));
  EXPECT_EQ(Latencies().count(), 0U);
}

TEST(Latencies, SmallValuesAreExact) {
  Latencies latencies;
  for (int i = 1; i <= 100; ++i) latencies.add(Duration(i));
  EXPECT_EQ(latencies.percentile(0.5), Duration(50));
  EXPECT_EQ(latencies.percentile(0.99), Duration(99));
  EXPECT_EQ(latencies.percentile(1), Duration(100));
  EXPECT_EQ(latencies.percentile(0), Duration(1));
}

TEST(Latencies, APercentileIsNeverBelowTheTrueOneAndAtMostOnePartIn64Above) {
  base::Random random(7);
  for (int round = 0; round < 50; ++round) {
    Latencies latencies;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 500; ++i) {
      const auto value = static_cast<std::int64_t>(std::exp(random.unit() * 25));  // 1 ns … 72 s
      values.push_back(value);
      latencies.add(Duration(value));
    }
    std::ranges::sort(values);
    for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
      const std::int64_t wanted = values[rank - 1];
      const std::int64_t found = latencies.percentile(share).count();
      EXPECT_GE(found, wanted);
      EXPECT_LE(found, wanted + wanted / 64);
    }
    EXPECT_EQ(latencies.highest(), Duration(values.back()));
  }
}

TEST(Latencies, TwoAddedAreAsIfCountedTogether) {
  base::Random random(8);
  Latencies one, other, both;
  for (int i = 0; i < 1000; ++i) {
    const Duration value(static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(40)))));
    (i % 3 == 0 ? one : other).add(value);
    both.add(value);
  }
  one.add(other);
  EXPECT_EQ(one.count(), both.count());
  for (const double share : {0.1, 0.5, 0.99, 1.0}) EXPECT_EQ(one.percentile(share), both.percentile(share));
}

TEST(Latencies, NegativeLatencyCountsAsZero) {
  Latencies latencies;
  latencies.add(Duration(-5));
  EXPECT_EQ(latencies.percentile(1), Duration(0));
  EXPECT_EQ(latencies.count(), 1U);
}

}  // namespace
}  // namespace tidemark::demo
