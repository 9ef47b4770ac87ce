#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>

#include "base/testing/clock.h"

namespace tidemark::base {
namespace {

using namespace std::chrono_literals;

constexpr Duration kShortest = Duration(1);
constexpr Duration kMost = Duration(std::numeric_limits<std::int64_t>::max());
constexpr Duration kLeast = Duration(std::numeric_limits<std::int64_t>::min());

TEST(SystemClock, GoesForward) {
  const SystemClock clock;
  const MonotonicTime monotonic = clock.monotonic();
  const BootTime boot = clock.boot();
  EXPECT_GE(clock.monotonic(), monotonic);
  EXPECT_GE(clock.boot(), boot);
  EXPECT_GE(boot.since_boot, monotonic.since_start) << "boot time counts sleep as well";
  EXPECT_GT(format_rfc3339(clock.wall()), "2026-01-01T00:00:00Z");
}

TEST(SimulatedClock, MovesOnlyOnRequest) {
  testing::Clock clock;
  const auto boot = clock.boot();
  const auto monotonic = clock.monotonic();
  clock.advance(5s);
  clock.sleep_machine(1h);
  clock.jump_wall(-24h);
  EXPECT_EQ(clock.monotonic() - monotonic, 5s);
  EXPECT_EQ(clock.boot() - boot, 1h + 5s);
  EXPECT_EQ(format_rfc3339(clock.wall()), "2025-12-31T01:00:05Z");
}

TEST(WallTime, SaturatesAtItsLimits) {
  const WallTime first{Duration::min()};
  const WallTime last{Duration::max()};
  const WallTime now{1'767'323'045s};
  EXPECT_EQ(now - first, Duration::max());
  EXPECT_EQ(first - now, Duration::min());
  EXPECT_EQ(last - first, Duration::max());
  EXPECT_EQ(last + 1s, last);
  EXPECT_EQ(first + -1s, first);
  EXPECT_EQ(now + 5s - now, 5s);
}

TEST(Rfc3339, FormatsAsMetav1TimeAndMicroTime) {
  EXPECT_EQ(format_rfc3339(WallTime{0s}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{0s}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_rfc3339(WallTime{1'767'323'045'678'901'234ns}), "2026-01-02T03:04:05Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{1'767'323'045'678'901'234ns}), "2026-01-02T03:04:05.678901Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{-kShortest}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_rfc3339(WallTime{951'782'400s}), "2000-02-29T00:00:00Z");
  EXPECT_EQ(format_rfc3339(WallTime{kMost}), "2262-04-11T23:47:16Z");
  EXPECT_EQ(format_rfc3339(WallTime{kLeast}), "1677-09-21T00:12:43Z");
}

TEST(Rfc3339, ReadsFractionsAndOffsets) {
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05Z"), WallTime{1'767'323'045s});
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.5Z"), WallTime{1'767'323'045'500ms});
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.678901Z"), WallTime{1'767'323'045'678'901us});
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.1234567899999Z"), WallTime{1'767'323'045'123'456'789ns});
  EXPECT_EQ(parse_rfc3339("2026-01-02T05:34:05+02:30"), WallTime{1'767'323'045s});
  EXPECT_EQ(parse_rfc3339("2026-01-01T19:04:05-08:00"), WallTime{1'767'323'045s});
  EXPECT_EQ(parse_rfc3339("1969-12-31T23:59:59.9Z"), WallTime{-100ms});
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z"), WallTime{1'709'164'800s});
}

TEST(Rfc3339, RefusesWhatGoRefuses) {
  for (const std::string_view wrong : {"",
                                       "2026-01-02",
                                       "2026-01-02T03:04:05",
                                       "2026-01-02 03:04:05Z",
                                       "2026-1-02T03:04:05Z",
                                       "2026-01-02T3:04:05Z",
                                       "2026-13-02T03:04:05Z",
                                       "2026-00-02T03:04:05Z",
                                       "2026-01-32T03:04:05Z",
                                       "2026-01-00T03:04:05Z",
                                       "2025-02-29T03:04:05Z",
                                       "2026-04-31T03:04:05Z",
                                       "2026-01-02T24:00:00Z",
                                       "2026-01-02T03:60:05Z",
                                       "2026-01-02T03:04:60Z",
                                       "2026-01-02T03:04:05.Z",
                                       "2026-01-02T03:04:05z",
                                       "2026-01-02t03:04:05Z",
                                       "2026-01-02T03:04:05+2:00",
                                       "2026-01-02T03:04:05+24:00",
                                       "2026-01-02T03:04:05+02:60",
                                       "2026-01-02T03:04:05+0200",
                                       "2026-01-02T03:04:05Zx",
                                       "-026-01-02T03:04:05Z",
                                       "2026-01-02T03:04:05+-2:00",
                                       " 2026-01-02T03:04:05Z"}) {
    EXPECT_EQ(parse_rfc3339(wrong), std::nullopt) << wrong;
  }
}

TEST(Rfc3339, TimesOutsideTheRangeAreNoTime) {
  EXPECT_EQ(parse_rfc3339("0001-01-01T00:00:00Z"), std::nullopt) << "Go's zero time";
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59Z"), std::nullopt);
  EXPECT_EQ(parse_rfc3339("2262-04-12T00:00:00Z"), std::nullopt);
  EXPECT_TRUE(parse_rfc3339("2262-04-11T00:00:00Z").has_value());
  EXPECT_TRUE(parse_rfc3339("1678-01-01T00:00:00Z").has_value());
}

TEST(Rfc3339, RoundTripsMicroseconds) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 5000; ++i) {
    const auto micros = static_cast<std::int64_t>(random() % 18'000'000'000'000'000) - 9'000'000'000'000'000;
    const WallTime time{std::chrono::microseconds(micros)};
    EXPECT_EQ(parse_rfc3339(format_rfc3339_micro(time)), time) << micros;
  }
}

TEST(GoDuration, FormatsAsGoDoes) {
  const std::pair<Duration, std::string_view> kCases[] = {
      {0s, "0s"},
      {1ns, "1ns"},
      {1100ns, "1.1\u00B5s"},
      {2200us, "2.2ms"},
      {300ms, "300ms"},
      {999'999'999ns, "999.999999ms"},
      {1s, "1s"},
      {3300ms, "3.3s"},
      {5min, "5m0s"},
      {5min + 5s + 1ms, "5m5.001s"},
      {1h, "1h0m0s"},
      {100h + 1ns, "100h0m0.000000001s"},
      {-2min, "-2m0s"},
      {-1ns, "-1ns"},
      {kMost, "2562047h47m16.854775807s"},
      {kLeast, "-2562047h47m16.854775808s"},
  };
  for (const auto& [duration, text] : kCases) EXPECT_EQ(format_go_duration(duration), text);
}

TEST(GoDuration, ReadsWhatGoReads) {
  const std::pair<std::string_view, Duration> kCases[] = {
      {"0", 0s},
      {"-0", 0s},
      {"+5s", 5s},
      {"5s", 5s},
      {"30s", 30s},
      {"1478s", 1478s},
      {"-5s", -5s},
      {"5.0s", 5s},
      {"5.6s", 5600ms},
      {"5.s", 5s},
      {".5s", 500ms},
      {"1.004s", 1004ms},
      {"100.00100s", 100'001ms},
      {"1.5h", 90min},
      {"300ms", 300ms},
      {"10us", 10us},
      {"10\u00B5s", 10us},
      {"10\u03BCs", 10us},
      {"3h30m", 3h + 30min},
      {"4m10.5s", 4min + 10s + 500ms},
      {"-2m3.4s", -(2min + 3s + 400ms)},
      {"1h2m3s4ms5us6ns", 1h + 2min + 3s + 4ms + 5us + 6ns},
      {"39h9m14.425s", 39h + 9min + 14s + 425ms},
      {"52763797000ns", 52'763'797'000ns},
      {"0.3333333333333333333h", 20min},
      {"9007199254740993ns", 9'007'199'254'740'993ns},
      {"9223372036854775807ns", kMost},
      {"9223372036s854ms775us807ns", kMost},
      {"-9223372036854775808ns", kLeast},
      {"0.100000000000000000000h", 6min},
      {"0.830103483285477580700h", 49min + 48s + 372'539'827ns},
  };
  for (const auto& [text, duration] : kCases) EXPECT_EQ(parse_go_duration(text), duration) << text;
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const std::string_view wrong : {"",
                                       "3",
                                       "-",
                                       "+",
                                       "s",
                                       ".",
                                       "-.",
                                       ".s",
                                       "+.s",
                                       "1d",
                                       "1 s",
                                       " 1s",
                                       "1s ",
                                       "--1s",
                                       "1s-1s",
                                       "1S",
                                       "00",
                                       "\x85\x85",
                                       "\xFFh",
                                       "9223372036854775810ns",
                                       "9223372036854775808ns",
                                       "-9223372036854775809ns",
                                       "9223372036854776us",
                                       "3000000h",
                                       "9223372036854ms775us808ns",
                                       "99999999999999999999999h"}) {
    EXPECT_EQ(parse_go_duration(wrong), std::nullopt) << wrong;
  }
}

TEST(GoDuration, RoundTripsEveryDuration) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 5000; ++i) {
    const Duration duration(static_cast<std::int64_t>(random()) >> (random() % 63));
    EXPECT_EQ(parse_go_duration(format_go_duration(duration)), duration) << duration.count();
  }
}

}  // namespace
}  // namespace tidemark::base
