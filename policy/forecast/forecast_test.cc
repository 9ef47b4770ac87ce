#include "policy/forecast/forecast.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy {
namespace {

using base::cat;
using base::WallTime;
using testing::Words;

TimeZone zone_named(const std::string& name) {
  if (name == "UTC") return TimeZone::utc();
  std::stringstream bytes;
  bytes << std::ifstream("/usr/share/zoneinfo/" + name, std::ios::binary).rdbuf();
  auto parsed = TimeZone::parse(name, bytes.str());
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

WallTime utc(const std::string& text) {
  const auto parsed = base::parse_rfc3339(text + ":00Z");
  if (!parsed) throw std::runtime_error(cat("wanted YYYY-MM-DDThh:mm, found ", text));
  return *parsed;
}

// `use` and `show` take times in UTC, `local` those of the zone.
class ForecastScenario {
 public:
  std::vector<std::string> run(std::string_view text) {
    Words words(text);
    if (words.empty()) return {};
    const std::string verb = words.next();
    if (verb == "zone") {
      zone_ = zone_named(words.next());
      words.expect_end();
      return {};
    }
    if (verb == "use") return use(words);
    if (verb != "show" && verb != "local") throw std::runtime_error(cat("unknown verb: ", verb));
    std::vector<std::string> answers;
    while (!words.empty()) {
      const std::string at = words.next();
      const auto s = std::chrono::floor<std::chrono::seconds>(utc(at).since_epoch).count();
      const std::int64_t local_h = (verb == "local" ? s : zone_.local(s)) / 3600;
      const auto& known = forecast_.hours[static_cast<std::size_t>((local_h + 4 * 24) % (24 * 7))];
      answers.push_back(cat("> ", at, "  ", known ? cat(*known) : "-"));
    }
    return answers;
  }

 private:
  std::vector<std::string> use(Words& words) {
    const std::string permille = words.next();
    if (words.next() != "from") throw std::runtime_error("wanted from");
    const WallTime from = utc(words.next());
    if (words.next() != "for") throw std::runtime_error("wanted for");
    const base::Duration length = testing::duration(words.next());
    words.expect_end();
    int learned = 0;
    for (base::Duration after{0}; after < length; after += std::chrono::minutes(1)) {
      auto step = learn(forecast_, zone_, permille == "-" ? std::nullopt : base::parse_int(permille), from + after);
      forecast_ = std::move(step.forecast);
      learned += step.learned ? 1 : 0;
    }
    return {cat("> learned ", learned)};
  }

  TimeZone zone_ = TimeZone::utc();
  Forecast forecast_;
};

TEST(Forecast, LearnsWhatTheFilesSay) {
  testing::play_scenarios("policy/forecast/testdata", 3, [] {
    return [scenario = std::make_shared<ForecastScenario>()](std::string_view text) { return scenario->run(text); };
  });
}

TEST(Forecast, StaysWithinSamplesAndRoundTrips) {
  std::mt19937 random(7);
  const TimeZone zone = zone_named("America/New_York");
  Forecast forecast;
  std::int64_t least = kForecastPermilleMax;
  std::int64_t most = 0;
  WallTime now{std::chrono::hours(24 * 365 * 56)};
  for (int i = 0; i < 40'000; ++i) {
    const auto seen = static_cast<std::int64_t>(random() % 900) + 50;
    least = std::min(least, seen);
    most = std::max(most, seen);
    forecast = learn(forecast, zone, random() % 5 == 0 ? std::nullopt : std::optional(seen), now).forecast;
    now = now + std::chrono::seconds(random() % 90);
  }
  EXPECT_EQ(forecast.known(), 168u);
  for (const auto& hour : forecast.hours) {
    ASSERT_GE(*hour, least);
    ASSERT_LE(*hour, most);
  }
  const std::string bytes = encode_forecast(forecast);
  EXPECT_LE(bytes.size(), kForecastBytesMax);
  const auto read = decode_forecast(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->hours, forecast.hours);
  EXPECT_EQ(read->zone, "America/New_York");
  EXPECT_EQ(with_kept({}, *read).hours, forecast.hours);
}

TEST(Forecast, SavedForecastFillsOnlyUnknownHours) {
  Forecast now;
  now.zone = "UTC";
  now.hours[3] = 100;
  Forecast kept;
  kept.zone = "UTC";
  kept.hours[3] = 900;
  kept.hours[4] = 200;
  const Forecast both = with_kept(now, kept);
  EXPECT_EQ(both.hours[3], 100);
  EXPECT_EQ(both.hours[4], 200);
  kept.zone = "Asia/Shanghai";
  EXPECT_EQ(with_kept(now, kept), now);
}

TEST(Forecast, RefusesUnreadableText) {
  const std::string good = encode_forecast([] {
    Forecast forecast;
    forecast.zone = "UTC";
    forecast.hours[0] = 7;
    return forecast;
  }());
  EXPECT_TRUE(decode_forecast(good));
  EXPECT_FALSE(decode_forecast(""));
  EXPECT_FALSE(decode_forecast(good + ","));
  EXPECT_FALSE(decode_forecast(good.substr(3)));
  EXPECT_FALSE(decode_forecast("UTC -1" + good.substr(5)));
  EXPECT_FALSE(decode_forecast("UTC 2001" + good.substr(5)));
  EXPECT_FALSE(decode_forecast(std::string(kForecastBytesMax + 1, ',')));
}

}  // namespace
}  // namespace tidemark::policy
