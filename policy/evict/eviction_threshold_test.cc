#include "policy/evict/eviction_threshold.h"

#include <gtest/gtest.h>

#include <limits>

namespace tidemark::policy::evict {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(EvictionThreshold, IsAnAmountOrAShare) {
  EXPECT_EQ(parse_eviction_threshold("100Mi").value(), (EvictionThreshold{104'857'600, 0}));
  EXPECT_EQ(parse_eviction_threshold("1G").value(), (EvictionThreshold{1'000'000'000, 0}));
  EXPECT_EQ(parse_eviction_threshold("0").value(), (EvictionThreshold{0, 0}));
  EXPECT_EQ(parse_eviction_threshold("10%").value(), (EvictionThreshold{0, 10'000}));
  EXPECT_EQ(parse_eviction_threshold("7.5%").value(), (EvictionThreshold{0, 7500}));
  EXPECT_EQ(parse_eviction_threshold("0.0001%").value(), (EvictionThreshold{0, 1})) << "rounded up";
}

// pkg/kubelet/eviction: "ignore 0% and 100%".
TEST(EvictionThreshold, ZeroAndHundredPercentMeanNoThreshold) {
  EXPECT_EQ(parse_eviction_threshold("0%").value(), std::nullopt);
  EXPECT_EQ(parse_eviction_threshold("100%").value(), std::nullopt);
}

TEST(EvictionThreshold, RefusesInvalidThreshold) {
  for (const std::string_view text : {"", "%", "-1", "-1%", "101%", "100.1%", "1e1%", "10Mi%", ".%", "1.%", "+1%", "x",
                                      "1 %", "100 Mi", "999999999999999999999999%"}) {
    EXPECT_FALSE(parse_eviction_threshold(text)) << text;
  }
}

TEST(EvictionThreshold, InBytes) {
  EXPECT_EQ(threshold_bytes({104'857'600, 0}, 1), 104'857'600);
  EXPECT_EQ(threshold_bytes({0, 10'000}, 1000), 100);
  EXPECT_EQ(threshold_bytes({0, 7500}, 1000), 75);
  EXPECT_EQ(threshold_bytes({0, 7500}, 1001), 76) << "75.075, rounded up";
  EXPECT_EQ(threshold_bytes({0, 1}, 1), 1);
  EXPECT_EQ(threshold_bytes({0, 10'000}, -5), 0);
  EXPECT_EQ(threshold_bytes({-5, 0}, 100), 0);
}

TEST(EvictionThreshold, ShareGrowsAndStaysWithinCapacity) {
  for (const std::int64_t capacity :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{99'999}, std::int64_t{1} << 40, kMost}) {
    std::int64_t last = 0;
    for (std::int64_t share = 0; share <= 100'000; share += 77) {
      const std::int64_t bytes = threshold_bytes({0, share}, capacity);
      EXPECT_GE(bytes, last);
      EXPECT_LE(bytes, capacity);
      last = bytes;
    }
    EXPECT_EQ(threshold_bytes({0, 100'000}, capacity), capacity);
  }
}

}  // namespace
}  // namespace tidemark::policy::evict
