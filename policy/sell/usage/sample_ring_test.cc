#include "policy/sell/usage/sample_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <random>

namespace tidemark::policy::sell {
namespace {

using base::MonotonicTime;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kSampleRingMi = std::int64_t{1} << 20;

MonotonicTime at(base::Duration since_start) {
  return {since_start};
}

UsageSample sample(base::Duration time, std::int64_t cpu_milli, std::int64_t memory_mi) {
  return {at(time), cpu_milli * 1000, memory_mi * kSampleRingMi};
}

// Contract 7.12: index floor(float32(n) × p) − 1, at least 0. In whole numbers that is floor(n × percent / 100) − 1.
TEST(PercentileIndex, IsTheContractsForEverySize) {
  struct Case {
    float p;
    std::int64_t percent;
  };
  for (const Case& each : {Case{0.5F, 50}, Case{0.9F, 90}, Case{0.95F, 95}, Case{0.99F, 99}}) {
    for (std::int64_t n = 1; n <= 10'000; ++n) {
      const std::int64_t wanted = std::max<std::int64_t>(n * each.percent / 100 - 1, 0);
      ASSERT_EQ(percentile_index(static_cast<std::size_t>(n), each.p), static_cast<std::size_t>(wanted))
          << n << " " << each.percent;
    }
  }
  EXPECT_EQ(percentile_index(1, 0.99F), 0U);
  EXPECT_EQ(percentile_index(3, 1.5F), 2U) << "never behind the last one";
}

// 1 … 100 milli-cores: their sum is 5050, the middle ones 50 and 51.
TEST(SampleRing, PercentilesByHand) {
  SampleRing ring(minutes(5));
  for (std::int64_t i = 100; i >= 1; --i) {
    ASSERT_EQ(ring.add(sample(seconds(101 - i), i, 2 * i)), SampleTaken::kKept);
  }
  WindowScratch scratch;
  const auto usage = ring.usage(at(seconds(100)), minutes(5), scratch);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->span, seconds(99));
  EXPECT_EQ(usage->avg, (UsageFigures{50'500, 101 * kSampleRingMi}));
  EXPECT_EQ(usage->p50, (UsageFigures{50'000, 100 * kSampleRingMi}));
  EXPECT_EQ(usage->p90, (UsageFigures{90'000, 180 * kSampleRingMi}));
  EXPECT_EQ(usage->p95, (UsageFigures{95'000, 190 * kSampleRingMi}));
  EXPECT_EQ(usage->p99, (UsageFigures{99'000, 198 * kSampleRingMi}));
  EXPECT_EQ(ring.percentile(at(seconds(100)), minutes(5), 0.9F, scratch), usage->p90);
  EXPECT_EQ(ring.average(at(seconds(100)), minutes(5)), usage->avg);
  EXPECT_EQ(ring.last(at(seconds(100)), minutes(5)), (UsageFigures{1'000, 2 * kSampleRingMi}))
      << "the latest, not the largest";
}

TEST(SampleRing, BothEndsOfAWindowCount) {
  SampleRing ring(minutes(1));
  ring.add(sample(seconds(10), 100, 1));
  ring.add(sample(seconds(40), 300, 1));
  EXPECT_EQ(ring.average(at(seconds(70)), minutes(1))->cpu_micro, 200'000);
  EXPECT_EQ(ring.average(at(seconds(70) + milliseconds(1)), minutes(1))->cpu_micro, 300'000);
  EXPECT_EQ(ring.average(at(seconds(39)), minutes(1))->cpu_micro, 100'000) << "what comes later is not in it";
  EXPECT_FALSE(ring.average(at(seconds(9)), minutes(1)));
  EXPECT_FALSE(ring.average(at(seconds(101)), minutes(1)));
  EXPECT_FALSE(ring.average(at(seconds(40)), -seconds(1)));
  EXPECT_EQ(ring.average(at(seconds(40)), seconds(0))->cpu_micro, 300'000);
  EXPECT_FALSE(ring.average(at(hours(24 * 60)), minutes(1))) << "in 49 days milliseconds come again in 32 bits";
}

TEST(SampleRing, AMissingSampleIsNotZero) {
  SampleRing ring(minutes(1));
  ring.add({at(seconds(1)), std::nullopt, 10 * kSampleRingMi});
  EXPECT_FALSE(ring.average(at(seconds(1)), minutes(1))) << "no CPU at all";
  EXPECT_FALSE(ring.last(at(seconds(1)), minutes(1)));
  WindowScratch scratch;
  EXPECT_FALSE(ring.usage(at(seconds(1)), minutes(1), scratch));
  EXPECT_FALSE(ring.percentile(at(seconds(1)), minutes(1), 0.9F, scratch));
  ring.add({at(seconds(2)), 4'000, std::nullopt});
  ring.add({at(seconds(3)), 8'000, 20 * kSampleRingMi});
  const auto usage = ring.usage(at(seconds(3)), minutes(1), scratch);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->avg, (UsageFigures{6'000, 15 * kSampleRingMi}));
  EXPECT_EQ(usage->span, seconds(1)) << "of the shorter series: CPU";
  EXPECT_EQ(ring.last(at(seconds(3)), minutes(1)), (UsageFigures{8'000, 20 * kSampleRingMi}));
}

TEST(SampleRing, RejectsInvalidSamples) {
  SampleRing ring(minutes(1));
  EXPECT_EQ(ring.add({at(seconds(1)), std::nullopt, std::nullopt}), SampleTaken::kRefused);
  EXPECT_EQ(ring.add({at(seconds(1)), -1, 0}), SampleTaken::kRefused);
  EXPECT_EQ(ring.add({at(seconds(1)), 0, -1}), SampleTaken::kRefused);
  EXPECT_EQ(ring.size(), 0U);
  EXPECT_EQ(ring.add({at(seconds(1)), std::numeric_limits<std::int64_t>::max(), 0}), SampleTaken::kKept);
  EXPECT_EQ(ring.average(at(seconds(1)), minutes(1))->cpu_micro, 4'294'967'294) << "held at what 32 bits carry";
}

TEST(SampleRing, OfOneInstantTheFirstCounts) {
  SampleRing ring(minutes(1));
  EXPECT_EQ(ring.add(sample(seconds(1), 100, 1)), SampleTaken::kKept);
  EXPECT_EQ(ring.add(sample(seconds(1), 900, 9)), SampleTaken::kTooSoon);
  EXPECT_EQ(ring.add(sample(seconds(1) + milliseconds(899), 900, 9)), SampleTaken::kTooSoon);
  EXPECT_EQ(ring.add(sample(seconds(1) + milliseconds(900), 200, 1)), SampleTaken::kKept);
  EXPECT_EQ(ring.average(at(seconds(2)), minutes(1))->cpu_micro, 150'000);
}

TEST(SampleRing, ALateSampleIsDroppedAndAClockThatWentBackBeginsAnew) {
  SampleRing ring(minutes(5));
  ring.add(sample(seconds(100), 100, 1));
  EXPECT_EQ(ring.add(sample(seconds(99), 900, 9)), SampleTaken::kLate);
  EXPECT_EQ(ring.add(sample(seconds(90), 900, 9)), SampleTaken::kLate);
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring.add(sample(seconds(89), 300, 3)), SampleTaken::kAnew);
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring.average(at(seconds(89)), minutes(5))->cpu_micro, 300'000);
}

TEST(SampleRing, AGapForgetsWhatIsTooOldAndNothingElse) {
  SampleRing ring(minutes(1));
  for (int i = 0; i <= 60; ++i) ring.add(sample(seconds(i), 100, 1));
  EXPECT_EQ(ring.size(), 61U);
  ring.add(sample(seconds(90), 400, 1));
  EXPECT_EQ(ring.size(), 32U) << "30 … 60, and 90";
  EXPECT_EQ(ring.add(sample(hours(24 * 60), 700, 1)), SampleTaken::kKept) << "60 days later";
  EXPECT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring.average(at(hours(24 * 60)), minutes(1))->cpu_micro, 700'000);
}

TEST(SampleRing, ItsSizeIsFixed) {
  SampleRing ring(minutes(30));
  const std::size_t bytes = ring.bytes();
  EXPECT_LE(bytes, 33U * 1024) << "30 minutes";
  EXPECT_LE(SampleRing(minutes(5)).bytes(), 5500U);
  EXPECT_LE(SampleRing(hours(2)).bytes(), 129U * 1024);
  // Four samples a second, with jitter: the window is whole all the same.
  std::mt19937 random(3);
  base::Duration time{0};
  for (int i = 0; i < 20'000; ++i) {
    time += milliseconds(150 + random() % 200);
    ring.add(sample(time, 100, 1));
    ASSERT_LE(ring.size(), ring.capacity());
  }
  EXPECT_EQ(ring.bytes(), bytes);
  WindowScratch scratch;
  EXPECT_GE(ring.usage(at(time), minutes(30), scratch)->span, minutes(30) - seconds(3));
}

TEST(SampleRing, AnotherWindowKeepsWhatFits) {
  SampleRing ring(minutes(5));
  for (int i = 0; i <= 300; ++i) ring.add(sample(seconds(i), i, 1));
  ring.set_window(minutes(1));
  EXPECT_EQ(ring.size(), 61U);
  EXPECT_EQ(ring.average(at(seconds(300)), minutes(5))->cpu_micro, 270'000) << "240 … 300";
  ring.set_window(minutes(10));
  EXPECT_EQ(ring.size(), 61U);
  for (int i = 301; i <= 1000; ++i) ring.add(sample(seconds(i), i, 1));
  EXPECT_EQ(ring.average(at(seconds(1000)), minutes(10))->cpu_micro, 700'000) << "400 … 1000";
  ring.set_window(-minutes(1));
  EXPECT_EQ(ring.size(), 1U);
  ring.forget_memory();
  EXPECT_FALSE(ring.last(at(seconds(1000)), minutes(1)));
}

// Against a plain list: any times, gaps, missing values.
TEST(SampleRing, MatchesAPlainList) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    const base::Duration window = seconds(1 + random() % 600);
    SampleRing ring(window);
    std::deque<UsageSample> list;
    base::Duration time = milliseconds(random() % 5'000'000'000);
    WindowScratch scratch;
    for (int i = 0; i < 1'500; ++i) {
      time += milliseconds(random() % 50 == 0 ? random() % 400'000 : 900 + random() % 300);
      UsageSample each{at(time), std::nullopt, std::nullopt};
      if (random() % 8 != 0) each.cpu_micro = static_cast<std::int64_t>(random() % 64'000'000);
      if (random() % 8 != 0) each.memory_bytes = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 40));
      if (ring.add(each) == SampleTaken::kKept) list.push_back(each);
      if (i % 37 != 0) continue;
      const MonotonicTime now = at(time + milliseconds(random() % 2'000));
      const base::Duration asked = std::min<base::Duration>(window, seconds(1 + random() % 600));
      std::vector<std::int64_t> cpu;
      std::vector<std::int64_t> memory;
      for (const auto& old : list) {
        // The ring has forgotten what was outside its window when the newest came.
        const bool held = list.back().at - old.at <= window;
        if (!held || now - old.at > asked) continue;
        if (old.cpu_micro) cpu.push_back(*old.cpu_micro);
        if (old.memory_bytes) memory.push_back(*old.memory_bytes);
      }
      const auto usage = ring.usage(now, asked, scratch);
      ASSERT_EQ(usage.has_value(), !cpu.empty() && !memory.empty());
      if (!usage) continue;
      std::ranges::sort(cpu);
      std::ranges::sort(memory);
      const auto pick = [](const std::vector<std::int64_t>& sorted, std::size_t percent) {
        const std::size_t rank = sorted.size() * percent / 100;
        return sorted[rank == 0 ? 0 : rank - 1];
      };
      const auto mean = [](const std::vector<std::int64_t>& all) {
        return std::accumulate(all.begin(), all.end(), std::int64_t{0}) / static_cast<std::int64_t>(all.size());
      };
      ASSERT_EQ(usage->avg, (UsageFigures{mean(cpu), mean(memory)}));
      ASSERT_EQ(usage->p50, (UsageFigures{pick(cpu, 50), pick(memory, 50)}));
      ASSERT_EQ(usage->p90, (UsageFigures{pick(cpu, 90), pick(memory, 90)}));
      ASSERT_EQ(usage->p95, (UsageFigures{pick(cpu, 95), pick(memory, 95)}));
      ASSERT_EQ(usage->p99, (UsageFigures{pick(cpu, 99), pick(memory, 99)}));
      ASSERT_EQ(ring.percentile(now, asked, 0.95F, scratch), usage->p95);
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
