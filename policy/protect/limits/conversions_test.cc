#include "policy/protect/limits/conversions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;
using model::MemoryBytes;

// Contract 7.2: shares = max(2, milli×1024/1000), capped at 262144.
TEST(Conversions, Shares) {
  EXPECT_EQ(shares_of(std::nullopt), 2);
  EXPECT_EQ(shares_of(CpuMilli{0}), 2);
  EXPECT_EQ(shares_of(CpuMilli{-5}), 2);
  EXPECT_EQ(shares_of(CpuMilli{1}), 2);
  EXPECT_EQ(shares_of(CpuMilli{3}), 3);  // 3.072
  EXPECT_EQ(shares_of(CpuMilli{1000}), 1024);
  EXPECT_EQ(shares_of(CpuMilli{2500}), 2560);
  EXPECT_EQ(shares_of(CpuMilli{256'000}), 262'144);
  EXPECT_EQ(shares_of(CpuMilli{256'001}), 262'144);
  EXPECT_EQ(shares_of(CpuMilli{INT64_MAX}), 262'144);
}

// Contract 7.2: quota = milli×100000/1000; ≤0 → −1, <1000 → 1000.
TEST(Conversions, Quota) {
  EXPECT_EQ(quota_of(std::nullopt), -1);
  EXPECT_EQ(quota_of(CpuMilli{0}), -1);
  EXPECT_EQ(quota_of(CpuMilli{-1}), -1);
  EXPECT_EQ(quota_of(CpuMilli{1}), 1000);
  EXPECT_EQ(quota_of(CpuMilli{10}), 1000);
  EXPECT_EQ(quota_of(CpuMilli{11}), 1100);
  EXPECT_EQ(quota_of(CpuMilli{2000}), 200'000);
  EXPECT_EQ(quota_of(CpuMilli{INT64_MAX}), 17'592'186'044'415);  // 2^44 − 1, all that a kernel takes
}

// Contract 7.8: a ratio above 1 makes it ceil(quota/ratio).
TEST(Conversions, QuotaOfAFasterCore) {
  EXPECT_EQ(quota_of(CpuMilli{2000}, 100), 200'000);
  EXPECT_EQ(quota_of(CpuMilli{2000}, 90), 200'000);
  EXPECT_EQ(quota_of(CpuMilli{2000}, 0), 200'000);
  EXPECT_EQ(quota_of(CpuMilli{2000}, 125), 160'000);
  EXPECT_EQ(quota_of(CpuMilli{1000}, 110), 90'910);  // 90909.09
  EXPECT_EQ(quota_of(CpuMilli{10}, 500), 1000);      // a kernel refuses 200
  EXPECT_EQ(quota_of(std::nullopt, 125), -1);
}

// Contract 7.8: batch-memory limit, none → −1.
TEST(Conversions, Memory) {
  EXPECT_EQ(memory_limit_of(std::nullopt), -1);
  EXPECT_EQ(memory_limit_of(MemoryBytes{0}), -1);
  EXPECT_EQ(memory_limit_of(MemoryBytes{-3}), -1);
  EXPECT_EQ(memory_limit_of(MemoryBytes{4097}), 4097);
}

// A larger amount never gives less, and every value is in the kernel's range.
TEST(ConversionsProperty, GrowWithTheAmountAndStayInRange) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto any = [&] { return static_cast<std::int64_t>(random()) >> (random() % 64); };
    std::int64_t less = any(), more = any();
    if (less > more) std::swap(less, more);
    const std::int64_t ratio = any();
    ASSERT_LE(shares_of(CpuMilli{less}), shares_of(CpuMilli{more}));
    for (const std::int64_t milli : {less, more}) {
      const std::int64_t shares = shares_of(CpuMilli{milli}), quota = quota_of(CpuMilli{milli}, ratio);
      ASSERT_TRUE(shares >= 2 && shares <= 262'144) << milli;
      ASSERT_EQ(quota == -1, milli <= 0) << milli;
      ASSERT_TRUE(quota == -1 || (quota >= 1000 && quota < std::int64_t{1} << 44)) << milli << " " << ratio;
      ASSERT_TRUE(quota == -1 || quota <= quota_of(CpuMilli{milli})) << milli << " " << ratio;
    }
    if (less <= 0) continue;  // no limit is the largest
    ASSERT_LE(quota_of(CpuMilli{less}, ratio), quota_of(CpuMilli{more}, ratio));
    ASSERT_LE(memory_limit_of(MemoryBytes{less}), memory_limit_of(MemoryBytes{more}));
    // For a whole ratio the result is the smallest number that is large enough.
    if (ratio > 100 && ratio <= 500 && more < 1'000'000'000) {
      const std::int64_t whole = quota_of(CpuMilli{more}), part = quota_of(CpuMilli{more}, ratio);
      ASSERT_GE(part * ratio, whole * 100);
      ASSERT_TRUE(part == 1000 || (part - 1) * ratio < whole * 100);
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::protect
