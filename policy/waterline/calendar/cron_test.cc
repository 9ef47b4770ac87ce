#include "policy/waterline/calendar/cron.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "base/clock.h"

namespace tidemark::policy::waterline {
namespace {

model::TimeZone cron_zone(const std::string& name) {
  std::stringstream bytes;
  bytes << std::ifstream("/usr/share/zoneinfo/" + name, std::ios::binary).rdbuf();
  auto parsed = model::TimeZone::parse(name, bytes.str());
  EXPECT_TRUE(parsed.has_value()) << name;
  return parsed ? *parsed : model::TimeZone::utc();
}

std::int64_t at(std::string_view text) {
  return std::chrono::floor<std::chrono::seconds>(base::parse_rfc3339(text)->since_epoch).count();
}
std::string shown(std::int64_t utc_s) {
  return base::format_rfc3339(base::WallTime{std::chrono::seconds(utc_s)});
}

std::vector<std::string> next(std::string_view cron, const model::TimeZone& where, std::string_view from, int count) {
  const auto parsed = Cron::parse(cron);
  EXPECT_TRUE(parsed.has_value()) << cron;
  std::vector<std::string> out;
  std::int64_t now = at(from);
  for (int i = 0; i < count; ++i) {
    const auto found = parsed->next(where, now);
    if (!found) break;
    out.push_back(shown(*found));
    now = *found;
  }
  return out;
}

using Moments = std::vector<std::string>;

TEST(Cron, WeekdaysAtNightInShanghai) {
  EXPECT_EQ(next("30 22 * * mon-fri", cron_zone("Asia/Shanghai"), "2026-11-20T00:00:00Z", 3),
            (Moments{"2026-11-20T14:30:00Z", "2026-11-23T14:30:00Z", "2026-11-24T14:30:00Z"}));
}

TEST(Cron, ListsStepsAndNames) {
  EXPECT_EQ(next("0,45 */12 1 jan *", model::TimeZone::utc(), "2026-01-01T00:00:00Z", 4),
            (Moments{"2026-01-01T00:45:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:45:00Z", "2027-01-01T00:00:00Z"}));
  EXPECT_EQ(next("0 0 * * 7", model::TimeZone::utc(), "2026-11-21T12:00:00Z", 1), (Moments{"2026-11-22T00:00:00Z"}));
}

TEST(Cron, EitherDayFieldMatchesIfBothAreGiven) {
  EXPECT_EQ(next("0 0 13 * fri", model::TimeZone::utc(), "2026-11-10T00:00:00Z", 3),
            (Moments{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z"}));
}

TEST(Cron, DailyTimeHappensOnceADayWhenTheClockChanges) {
  // 02:30 does not exist on 29 March, and comes twice on 25 October.
  EXPECT_EQ(next("30 2 * * *", cron_zone("Europe/Berlin"), "2026-03-27T12:00:00Z", 3),
            (Moments{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}));
  EXPECT_EQ(next("30 2 * * *", cron_zone("Europe/Berlin"), "2026-10-23T12:00:00Z", 3),
            (Moments{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}));
  // Samoa had no 30 December 2011 at all.
  EXPECT_EQ(next("0 12 * * *", cron_zone("Pacific/Apia"), "2011-12-29T00:00:00Z", 3),
            (Moments{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}));
}

TEST(Cron, LatestIsTheFirstOfTwoAndNeverInTheFuture) {
  const auto latest = [](std::string_view text, const model::TimeZone& where, std::string_view at) {
    const auto found = Cron::parse(text)->latest(
        where, std::chrono::floor<std::chrono::seconds>(base::parse_rfc3339(at)->since_epoch).count());
    return found ? base::format_rfc3339({std::chrono::seconds(*found)}) : "never";
  };
  const auto berlin = cron_zone("Europe/Berlin");
  EXPECT_EQ(latest("30 2 * * *", berlin, "2026-10-25T01:45:00Z"), "2026-10-25T00:30:00Z") << "02:45 the second time";
  EXPECT_EQ(latest("30 2 * * *", berlin, "2026-10-25T01:15:00Z"), "2026-10-25T00:30:00Z") << "02:15 the second time";
  EXPECT_EQ(latest("30 2 * * *", berlin, "2026-03-29T00:59:59Z"), "2026-03-28T01:30:00Z");
  EXPECT_EQ(latest("30 2 * * *", berlin, "2026-03-29T01:00:00Z"), "2026-03-29T01:00:00Z") << "the moment of the jump";
  EXPECT_EQ(latest("0 0 29 2 *", model::TimeZone::utc(), "2104-02-28T23:59:59Z"), "2096-02-29T00:00:00Z");
  EXPECT_EQ(latest("0 0 30 2 *", model::TimeZone::utc(), "2026-01-01T00:00:00Z"), "never");
}

TEST(Cron, SearchForAnImpossibleTimeEnds) {
  EXPECT_TRUE(next("0 0 30 2 *", model::TimeZone::utc(), "2026-01-01T00:00:00Z", 1).empty());
  EXPECT_EQ(next("0 0 29 2 *", model::TimeZone::utc(), "2096-03-01T00:00:00Z", 1), (Moments{"2104-02-29T00:00:00Z"}));
}

TEST(Cron, NamesTheInvalidField) {
  for (const char* text :
       {"", "* * * *", "* * * * * *", "60 0 * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 8", "5/2 * * * *",
        "5-1 * * * *", "a * * * *", "1, * * * *", "*/0 * * * *", "-1 * * * *", "0 0 * * mo"}) {
    EXPECT_FALSE(Cron::parse(text).has_value()) << text;
  }
  EXPECT_EQ(Cron::parse("0 25 * * *").error().message,
            "hour: wanted *, or numbers from 0 to 23 as in 1-5,8 or */2, found \"25\"");
}

TEST(CronProperty, NextAndBetweenAgree) {
  std::mt19937_64 random(41);
  const std::vector<model::TimeZone> zones{model::TimeZone::utc(), cron_zone("Europe/Berlin"),
                                           cron_zone("America/New_York"), cron_zone("Asia/Shanghai"),
                                           cron_zone("Australia/Lord_Howe")};
  for (int i = 0; i < 300; ++i) {
    const auto number = [&](unsigned highest) { return std::to_string(random() % (highest + 1)); };
    const std::string text =
        number(59) + " " + (random() % 2 == 0 ? "*" : number(23)) + " * * " + (random() % 2 == 0 ? "*" : number(6));
    const auto cron = Cron::parse(text);
    ASSERT_TRUE(cron.has_value()) << text;
    const auto& where = zones[random() % zones.size()];
    const auto from = static_cast<std::int64_t>(1'700'000'000 + random() % 200'000'000);
    const auto to = from + static_cast<std::int64_t>(random() % (20 * 86'400));
    const auto all = cron->between(where, from, to);
    std::vector<std::int64_t> one_by_one;
    for (auto found = cron->next(where, from - 1); found && *found < to; found = cron->next(where, *found)) {
      one_by_one.push_back(*found);
    }
    EXPECT_EQ(all, one_by_one) << text << " in " << where.name();
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    if (all.empty()) continue;
    EXPECT_EQ(cron->latest(where, to - 1), all.back()) << text << " in " << where.name();
    EXPECT_EQ(cron->latest(where, all.back()), all.back());
    if (all.size() > 1) EXPECT_EQ(cron->latest(where, all.back() - 1), all[all.size() - 2]);
  }
}

}  // namespace
}  // namespace tidemark::policy::waterline
