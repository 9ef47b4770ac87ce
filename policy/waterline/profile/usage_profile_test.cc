#include "policy/waterline/profile/usage_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "policy/sell/overcommit/warm_up.h"
#include "policy/testing/scenario.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::policy::waterline {
namespace {

using base::cat;
using model::CpuMilli;
using model::MemoryBytes;
using model::Resources;
using testing::Words;

constexpr base::WallTime kMidnight{std::chrono::hours(24 * 20'000)};

// ---- the scale ----

TEST(LogScale, NeverUnderstatesAndHardlyOverstates) {
  for (std::size_t code = 1; code + 1 < kLogCodes; ++code) {
    EXPECT_LE(log_value(static_cast<LogCode>(code)), log_value(static_cast<LogCode>(code + 1)));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto amount = static_cast<std::int64_t>(random() >> (random() % 43 + 21)) % log_value(kLogCodes - 1);
    const std::int64_t back = log_value(log_code(amount));
    ASSERT_GE(back, amount);
    ASSERT_LE(back, amount + amount * 6 / 100 + 1) << amount;
    ASSERT_EQ(log_value(log_code(back)), back) << "what came out goes in again unchanged";
  }
  EXPECT_EQ(log_code(0), 0);
  EXPECT_EQ(log_code(-5), 0);
  EXPECT_EQ(log_code(std::numeric_limits<std::int64_t>::max()), kLogCodes - 1);
  EXPECT_EQ(memory_code(MemoryBytes{1}), 1) << "a byte takes a MiB";
  EXPECT_EQ(memory_of(1).value, kMemoryUnit_bytes);
  EXPECT_GT(cpu_of(kLogCodes - 1).value, 2'000'000);
  EXPECT_GT(memory_of(kLogCodes - 1).value, std::int64_t{2} << 40);
}

// ---- percentiles ----

TEST(CodeCounts, PercentilesAreByNearestRank) {
  CodeCounts counts;
  EXPECT_EQ(counts.percentile(50), 0);
  for (int code = 1; code <= 100; ++code) counts.add(static_cast<LogCode>(code));
  EXPECT_EQ(counts.percentile(0), 1);
  EXPECT_EQ(counts.percentile(50), 50);
  EXPECT_EQ(counts.percentile(95), 95);
  EXPECT_EQ(counts.percentile(100), 100);
  EXPECT_EQ(counts.largest(), 100);
  counts.add(7, std::numeric_limits<std::uint32_t>::max());
  counts.add(7, 5);
  EXPECT_EQ(counts.percentile(95), 7) << "a count holds at its end";
}

// ---- a profile ----

Resources draw_use(std::mt19937_64& random) {
  switch (random() % 10) {
    case 0:
      return {CpuMilli{-1}, MemoryBytes{std::numeric_limits<std::int64_t>::min()}};
    case 1:
      return {CpuMilli{std::numeric_limits<std::int64_t>::max()}, MemoryBytes{0}};
    default:
      return {CpuMilli{static_cast<std::int64_t>(random() % 8'000)},
              MemoryBytes{static_cast<std::int64_t>(random() % (std::uint64_t{16} << 30))}};
  }
}

TEST(UsageProfile, TheOrderOfSamplesLeavesNoTrace) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<int, Resources>> samples;  // within an hour pods come in any order
    for (int i = 0; i < 300; ++i) samples.push_back({i / 20, draw_use(random)});
    const auto of = [&] {
      UsageProfile profile;
      for (const auto& [hour, use] : samples) add_sample(profile, use, kMidnight + std::chrono::hours(hour * 7));
      return profile;
    };
    const UsageProfile one = of();
    for (int hour = 0; hour < 15; ++hour)
      std::shuffle(samples.begin() + hour * 20, samples.begin() + (hour + 1) * 20, random);
    const UsageProfile other = of();
    ASSERT_TRUE(one == other);
    ASSERT_EQ(encode_profile(one), encode_profile(other));
  }
}

TEST(UsageProfile, ReadsWhatItWroteAndAgesAlike) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    UsageProfile profile;
    base::WallTime now = kMidnight;
    for (int i = 0; i < 400; ++i) {
      now = now + std::chrono::minutes(random() % 90);
      add_sample(profile, draw_use(random), now);
    }
    const auto read = decode_profile(encode_profile(profile));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(encode_profile(*read), encode_profile(profile));
    for (std::int64_t days = 0; days < 9; ++days) {
      for (std::int64_t hour = -1; hour <= kHoursADay; ++hour) {
        const auto later = now + std::chrono::hours(24 * days);
        ASSERT_EQ(usage_at(*read, hour, later), usage_at(profile, hour, later)) << days << " " << hour;
      }
    }
    EXPECT_EQ(usage_of_all_hours(profile, now + std::chrono::hours(24 * 7)), std::nullopt) << "a week later";
  }
}

TEST(UsageProfile, EveryAnswerIsInOrderAndNoSampleOfTheLastWeekIsAboveItsMax) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    UsageProfile profile;
    struct Sample {
      base::WallTime when;
      std::int64_t cpu;
    };
    std::vector<Sample> samples;
    base::WallTime now = kMidnight;
    for (int i = 0; i < 1000; ++i) {
      now = now + std::chrono::minutes(random() % 60);
      const auto cpu = static_cast<std::int64_t>(random() % 100'000);
      add_sample(profile, {CpuMilli{cpu}, MemoryBytes{cpu << 20}}, now);
      samples.push_back({now, cpu});
    }
    for (std::int64_t hour = 0; hour < kHoursADay; ++hour) {
      const auto at = usage_at(profile, hour, now);
      std::int64_t largest = -1;
      std::vector<std::int64_t> all;
      const auto today = std::chrono::floor<std::chrono::days>(now.since_epoch).count();
      for (const auto& [when, cpu] : samples) {
        const auto hours = std::chrono::floor<std::chrono::hours>(when.since_epoch).count();
        if (hours % 24 != hour || hours / 24 <= today - 7) continue;
        largest = std::max(largest, cpu);
        all.push_back(cpu);
      }
      ASSERT_EQ(at.has_value(), largest >= 0);
      if (!at) continue;
      std::sort(all.begin(), all.end());
      const auto p95 = all[(all.size() * 95 + 99) / 100 - 1];
      ASSERT_GE(at->max.cpu.value, largest);
      ASSERT_LE(at->max.cpu.value, largest + largest * 6 / 100 + 1);
      ASSERT_GE(at->p95.cpu.value, p95) << "no less than the p95 of all samples together";
      ASSERT_LE(at->p95.cpu, at->max.cpu);
      ASSERT_LE(at->p50.cpu, at->p95.cpu);
      ASSERT_LE(at->p50.memory, at->p95.memory);
      ASSERT_GE(at->days, 1);
      ASSERT_LE(at->days, kProfileDays);
    }
  }
}

TEST(UsageProfile, KeepsWithinItsBytes) {
  UsageProfile profile;
  std::mt19937_64 random(6);
  for (int hour = 0; hour < 24 * 9; ++hour) {
    for (int i = 0; i < 500; ++i) add_sample(profile, draw_use(random), kMidnight + std::chrono::hours(hour));
    ASSERT_LE(profile.bytes(), 4096U) << "the hour that runs, of a workload that uses anything";
    ASSERT_LE(encode_profile(profile).size(), 1100U);
  }
}

TEST(UsageProfile, AClockThatWasFarAheadDoesNotPoisonIt) {
  UsageProfile profile;
  const Resources use{CpuMilli{100}, MemoryBytes{1 << 20}};
  add_sample(profile, use, kMidnight + std::chrono::hours(24 * 400));
  add_sample(profile, use, kMidnight);
  add_sample(profile, use, kMidnight + std::chrono::hours(1));
  EXPECT_TRUE(usage_at(profile, 0, kMidnight + std::chrono::hours(2)));
  // Less than a day back counts into the hour that was last.
  add_sample(profile, use, kMidnight + -std::chrono::minutes(30));
  EXPECT_TRUE(usage_at(profile, 1, kMidnight + std::chrono::hours(2)));
  EXPECT_FALSE(usage_at(profile, 23, kMidnight + std::chrono::hours(2)));
  EXPECT_TRUE(add_sample(profile, use, base::WallTime{std::chrono::hours(-5)})) << "before 1970 is 1970";
}

TEST(UsageProfile, RefusesBytesThatAreNoProfile) {
  UsageProfile profile;
  add_sample(profile, {CpuMilli{100}, MemoryBytes{1 << 30}}, kMidnight);
  const std::string bytes = encode_profile(profile);
  EXPECT_FALSE(decode_profile(""));
  EXPECT_FALSE(decode_profile(bytes.substr(1)));
  EXPECT_FALSE(decode_profile(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(decode_profile(bytes + "x"));
  std::string later = bytes;
  later[7] = '\x7f';
  EXPECT_FALSE(decode_profile(later));
  std::string swapped = bytes;
  swapped[swapped.size() - 6] = '\xff';  // a p50 above its p95
  EXPECT_FALSE(decode_profile(swapped));
}

TEST(UsageProfile, MergedItIsNoSmallerThanEitherAndTheSameBothWays) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    UsageProfile a;
    UsageProfile b;
    base::WallTime now = kMidnight;
    for (int i = 0; i < 300; ++i) {
      now = now + std::chrono::minutes(random() % 120);
      add_sample(random() % 2 == 0 ? a : b, draw_use(random), now);
    }
    auto ab = *decode_profile(encode_profile(a));
    merge_profile(ab, *decode_profile(encode_profile(b)));
    auto ba = *decode_profile(encode_profile(b));
    merge_profile(ba, *decode_profile(encode_profile(a)));
    ASSERT_EQ(encode_profile(ab), encode_profile(ba));
    for (std::int64_t hour = 0; hour < kHoursADay; ++hour) {
      const auto both = usage_at(ab, hour, now);
      for (const auto& each : {usage_at(a, hour, now), usage_at(b, hour, now)}) {
        if (!each) continue;
        ASSERT_TRUE(both);
        ASSERT_GE(both->p95.cpu, each->p95.cpu);
        ASSERT_GE(both->max.memory, each->max.memory);
      }
    }
  }
}

// ---- workloads ----

TEST(Workload, IsTheTopmostKnownOwner) {
  const auto of = [](std::string_view kind, std::string_view name, std::string_view hash = "") {
    return workload_text(workload_of("shop", {kind, name, hash}));
  };
  EXPECT_EQ(of("ReplicaSet", "web-7d9c6b5f4", "7d9c6b5f4"), "shop/Deployment/web");
  EXPECT_EQ(of("ReplicaSet", "web-front-7d9c6b5f4", "7d9c6b5f4"), "shop/Deployment/web-front");
  EXPECT_EQ(of("ReplicaSet", "web-7d9c6b5f4", "other"), "shop/ReplicaSet/web-7d9c6b5f4");
  EXPECT_EQ(of("ReplicaSet", "web"), "shop/ReplicaSet/web");
  EXPECT_EQ(of("ReplicaSet", "-7d9c6b5f4", "7d9c6b5f4"), "shop/ReplicaSet/-7d9c6b5f4");
  EXPECT_EQ(of("StatefulSet", "db"), "shop/StatefulSet/db");
  EXPECT_EQ(of("DaemonSet", "log"), "shop/DaemonSet/log");
  EXPECT_EQ(of("Job", "night-29301120"), "shop/CronJob/night");
  EXPECT_EQ(of("Job", "night-2930112"), "shop/Job/night-2930112");
  EXPECT_EQ(of("Job", "load-2930112x"), "shop/Job/load-2930112x");
  EXPECT_EQ(of("CloneSet", "web"), "shop/CloneSet/web");
  EXPECT_EQ(of("", ""), "");
  EXPECT_EQ(of("Node", "n1"), "");
  EXPECT_EQ(of("Pod", "driver"), "");
}

TEST(Workload, ParsesItsDisplayForm) {
  EXPECT_EQ(parse_workload("shop/Deployment/web"), (Workload{"shop", "Deployment", "web"}));
  for (const char* text : {"", "web", "shop/web", "shop//web", "a/b/c/d", "/Deployment/web", "shop/Deployment/"}) {
    EXPECT_TRUE(parse_workload(text).none()) << text;
  }
  EXPECT_EQ(workload_api_version("Deployment"), "apps/v1");
  EXPECT_EQ(workload_api_version("CronJob"), "batch/v1");
  EXPECT_EQ(workload_api_version("CloneSet"), "");
}

// ---- pods that warm up ----

TEST(WarmUp, IsBetweenTheFloorAndTheRequestAndOnlyGoesDown) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 20'000; ++round) {
    const Resources request = draw_use(random);
    const Resources use = draw_use(random);
    model::WarmUp warm_up;
    if (random() % 3 > 0) warm_up.expected = draw_use(random);
    Resources last;
    for (const std::int64_t left :
         {sell::kWarmUpWhole, std::int64_t{999}, std::int64_t{500}, std::int64_t{1}, std::int64_t{0}}) {
      warm_up.left_permille = left;
      const Resources counts = sell::warming(request, use, warm_up);
      const Resources floor = warm_up.expected ? model::max(use, *warm_up.expected) : use;
      ASSERT_GE(counts.cpu, floor.cpu);
      ASSERT_GE(counts.memory, floor.memory);
      ASSERT_LE(counts.cpu, std::max(floor.cpu, request.cpu));
      ASSERT_LE(counts.memory, std::max(floor.memory, request.memory));
      if (left == sell::kWarmUpWhole) {
        ASSERT_GE(counts.cpu, request.cpu);
      } else {
        ASSERT_LE(counts.cpu, last.cpu);
        ASSERT_LE(counts.memory, last.memory);
      }
      last = counts;
    }
    if (warm_up.expected) {
      ASSERT_EQ(last.cpu, std::max(use.cpu, warm_up.expected->cpu));
    }
  }
}

TEST(WarmUp, LeftOfTheRampIsTotal) {
  constexpr base::Duration kRamp = std::chrono::minutes(10);
  EXPECT_EQ(sell::warm_up_left(kMidnight, kRamp, kMidnight), sell::kWarmUpWhole);
  EXPECT_EQ(sell::warm_up_left(kMidnight, kRamp, kMidnight + std::chrono::minutes(5)), 500);
  EXPECT_EQ(sell::warm_up_left(kMidnight, kRamp, kMidnight + kRamp), 0);
  EXPECT_EQ(sell::warm_up_left(kMidnight, kRamp, kMidnight + kRamp + -std::chrono::nanoseconds(1)), 1);
  EXPECT_EQ(sell::warm_up_left(kMidnight, kRamp, kMidnight + -kRamp), sell::kWarmUpWhole);
  EXPECT_EQ(sell::warm_up_left(kMidnight, base::Duration(0), kMidnight), 0);
  constexpr base::WallTime kFirst{base::Duration::min()};
  constexpr base::WallTime kLast{base::Duration::max()};
  EXPECT_EQ(sell::warm_up_left(kFirst, base::Duration::max(), kLast), 0);
  EXPECT_EQ(sell::warm_up_left(kLast, base::Duration::max(), kFirst), sell::kWarmUpWhole);
}

// ---- scenarios ----

std::string amounts_text(const Resources& amount) {
  return cat(amount.cpu.value, "m/", amount.memory.value >> 20, "Mi");
}

// at DAY HH:MM | use C/M [xN] | tell HOUR | now | all | restart | ramp LENGTH request C/M use C/M age A
class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "at") {
      const std::int64_t day = base::parse_int(words.next()).value();
      const std::string clock = words.next();
      const auto parts = base::split(clock, ':');
      now_ = kMidnight + std::chrono::hours(24 * day + base::parse_int(parts.at(0)).value()) +
             std::chrono::minutes(base::parse_int(parts.at(1)).value());
    } else if (verb == "use") {
      const Resources use = testing::amounts(words.next());
      const std::int64_t times = words.empty() ? 1 : base::parse_int(words.next().substr(1)).value();
      for (std::int64_t i = 0; i < times; ++i) add_sample(profile_, use, now_);
    } else if (verb == "restart") {
      profile_ = *decode_profile(encode_profile(profile_));
    } else if (verb == "tell") {
      answers.push_back(told(usage_at(profile_, base::parse_int(words.next()).value(), now_)));
    } else if (verb == "now") {
      answers.push_back(told(usage_now(profile_, now_)));
    } else if (verb == "all") {
      answers.push_back(told(usage_of_all_hours(profile_, now_)));
    } else if (verb == "ramp") {
      answers.push_back(ramp(words));
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  static std::string told(const std::optional<UsageAt>& usage) {
    if (!usage) return "> nothing";
    return cat("> p50 ", amounts_text(usage->p50), "  p95 ", amounts_text(usage->p95), "  max ",
               amounts_text(usage->max), "  of ", usage->days, usage->days == 1 ? " day" : " days");
  }
  std::string ramp(Words& words) {
    const base::Duration length = testing::duration(words.next());
    Resources request;
    Resources use;
    base::Duration age{0};
    while (!words.empty()) {
      const std::string what = words.next();
      if (what == "request") {
        request = testing::amounts(words.next());
      } else if (what == "use") {
        use = testing::amounts(words.next());
      } else if (what == "age") {
        age = testing::duration(words.next());
      } else {
        throw std::runtime_error(cat("a ramp has no ", what));
      }
    }
    model::WarmUp warm_up{sell::warm_up_left(now_ + -age, length, now_), std::nullopt};
    if (const auto expected = usage_now(profile_, now_)) warm_up.expected = expected->p95;
    if (warm_up.left_permille == 0) return cat("> over: counts ", amounts_text(use));
    return cat("> left ", warm_up.left_permille, "  counts ", amounts_text(sell::warming(request, use, warm_up)));
  }

  UsageProfile profile_;
  base::WallTime now_ = kMidnight;
};

TEST(Profiles, MatchTheScenarioFiles) {
  testing::play_scenarios("policy/waterline/profile/testdata", 2, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::waterline
