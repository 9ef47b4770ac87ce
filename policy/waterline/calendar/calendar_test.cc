#include "policy/waterline/calendar/calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/text.h"
#include "policy/testing/scenario.h"
#include "policy/waterline/calendar/preview.h"

namespace tidemark::policy::waterline {
namespace {

using base::cat;
using base::WallTime;
using testing::Words;

model::TimeZone zone(const std::string& name) {
  std::stringstream bytes;
  bytes << std::ifstream("/usr/share/zoneinfo/" + name, std::ios::binary).rdbuf();
  auto parsed = model::TimeZone::parse(name, bytes.str());
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

// "2026-11-21T22:00" in local time.
std::int64_t local_s(const std::string& text) {
  const auto parsed = base::parse_rfc3339(text + ":00Z");
  if (!parsed) throw std::runtime_error(cat("wanted YYYY-MM-DDThh:mm, found ", text));
  return std::chrono::floor<std::chrono::seconds>(parsed->since_epoch).count();
}

LinePercent line(const std::string& text) {  // "80/70", "80/-"
  const auto parts = base::split(text, '/');
  const auto number = [](std::string_view part) -> std::optional<std::int64_t> {
    if (part == "-") return std::nullopt;
    return std::stoll(std::string(part));
  };
  return {number(parts.at(0)), number(parts.at(1))};
}

// Times are local, as an operator would write them down.
class CalendarScenario {
 public:
  std::vector<std::string> run(std::string_view text) {
    Words words(text);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "zone") {
      calendar_.zone = zone(words.next());
    } else if (verb == "base") {
      base_ = line(words.next());
    } else if (verb == "lead") {
      calendar_.lead = testing::duration(words.next());
    } else if (verb == "holiday" || verb == "workday") {
      auto& list = verb == "holiday" ? calendar_.holidays.holidays : calendar_.holidays.workdays;
      while (!words.empty()) list.push_back(local_s(words.next() + "T00:00") / 86'400);
      std::sort(list.begin(), list.end());
    } else if (verb == "window" || verb == "freeze") {
      entry(words, verb == "window" ? EntryKind::kWindow : EntryKind::kFreeze);
    } else if (verb == "override") {
      const LinePercent lines = line(words.next());
      overrides_.push_back({lines, moment(words.next()), "ann", "a test", {}});
    } else if (verb == "no-override") {
      overrides_.clear();
    } else if (verb == "forget") {
      calendar_.entries.clear();
    } else if (verb == "at") {
      while (!words.empty()) answers.push_back(shown(words.next()));
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  WallTime moment(const std::string& text) const {
    return WallTime{std::chrono::seconds(calendar_.zone.moment(local_s(text)))};
  }
  static Cron cron(std::string text) {  // with "_" for blanks
    std::replace(text.begin(), text.end(), '_', ' ');
    auto parsed = Cron::parse(text);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    return *parsed;
  }
  void entry(Words& words, EntryKind kind) {
    CalendarEntry entry;
    entry.name = words.next();
    entry.kind = kind;
    while (!words.empty()) {
      const std::string what = words.next();
      if (what == "from") {
        const auto from = local_s(words.next());
        entry.when = FixedDates{from, local_s(words.next())};
      } else if (what == "cron") {
        entry.when = Recurring{cron(words.next()), base::Duration(0)};
      } else if (what == "for") {
        std::get<Recurring>(entry.when).end = testing::duration(words.next());
      } else if (what == "until") {
        std::get<Recurring>(entry.when).end = cron(words.next());
      } else if (what == "line") {
        entry.line = line(words.next());
      } else if (what == "ramp-up") {
        entry.ramp_up = testing::duration(words.next());
      } else if (what == "ramp-down") {
        entry.ramp_down = testing::duration(words.next());
      } else if (what == "priority") {
        entry.priority = std::stoll(words.next());
      } else if (what == "on") {
        entry.on = words.next() == "holidays" ? OnDays::kHolidays : OnDays::kWorkdays;
      } else {
        throw std::runtime_error(cat("an entry has no ", what));
      }
    }
    calendar_.entries.push_back(std::move(entry));
  }
  std::string local_text(WallTime at) const {
    const auto utc_s = std::chrono::floor<std::chrono::seconds>(at.since_epoch).count();
    auto text = base::format_rfc3339(WallTime{std::chrono::seconds(calendar_.zone.local(utc_s))});
    text.pop_back();
    return text;
  }
  std::string shown(const std::string& text) const {
    const auto plan = water_line(calendar_, *base_.cpu, *base_.memory, overrides_, moment(text));
    constexpr std::array kPhases{"base", "ramping up", "open", "ramping down", "frozen", "overridden"};
    std::string out = cat("> ", text, "  hold ", plan.cpu.hold, "/", plan.memory.hold, "  sell ", plan.cpu.sell, "/",
                          plan.memory.sell, "  ", kPhases.at(static_cast<std::size_t>(plan.cpu.phase)));
    if (plan.cpu.entry) out += cat(" ", calendar_.entries[*plan.cpu.entry].name);
    out += cat(" [", model::reason_id(plan.cpu.reason), "]");
    if (plan.changes_at) out += cat("  until ", local_text(*plan.changes_at));
    const auto down = comes_down_at(calendar_, *base_.cpu, *base_.memory, overrides_, moment(text));
    if (down) out += cat("  down at ", local_text(*down));
    return out;
  }

  Calendar calendar_;
  LinePercent base_{60, 65};
  LineOverrides overrides_;
};

TEST(Calendar, LineIsAsInTheScenarios) {
  testing::play_scenarios("policy/waterline/calendar/testdata", 8, [] {
    return [scenario = std::make_shared<CalendarScenario>()](std::string_view text) { return scenario->run(text); };
  });
}

// ---- properties ----

Calendar any_calendar(std::mt19937_64& random, const std::vector<model::TimeZone>& zones) {
  Calendar calendar;
  calendar.zone = zones[random() % zones.size()];
  calendar.lead = std::chrono::minutes(random() % 3 == 0 ? 0 : random() % 240);
  for (auto n = random() % 6; n > 0; --n) {
    CalendarEntry entry;
    entry.kind = random() % 4 == 0 ? EntryKind::kFreeze : EntryKind::kWindow;
    if (random() % 3 != 0) entry.line.cpu = static_cast<std::int64_t>(random() % 101);
    if (random() % 3 != 0) entry.line.memory = static_cast<std::int64_t>(random() % 101);
    entry.ramp_up = std::chrono::minutes(random() % 90);
    entry.ramp_down = std::chrono::minutes(random() % 90);
    entry.priority = static_cast<std::int64_t>(random() % 3);
    entry.on = static_cast<OnDays>(random() % 3);
    if (random() % 3 == 0) {
      const auto from = static_cast<std::int64_t>(1'790'000'000 + random() % 1'000'000);
      entry.when = FixedDates{from, from + static_cast<std::int64_t>(random() % 200'000)};
    } else {
      const auto hour = [&] { return std::to_string(random() % 24); };
      const auto start = *Cron::parse(cat("0 ", hour(), " * * *"));
      if (random() % 2 == 0) {
        entry.when = Recurring{start, std::chrono::hours(random() % 30)};
      } else {
        entry.when = Recurring{start, *Cron::parse(cat("30 ", hour(), " * * *"))};
      }
    }
    calendar.entries.push_back(std::move(entry));
  }
  return calendar;
}

TEST(CalendarProperty, StaysWithinBoundsAndNeverSellsAboveTheComingLine) {
  const std::vector<model::TimeZone> zones{model::TimeZone::utc(), zone("Asia/Shanghai"), zone("America/New_York")};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto calendar = any_calendar(random, zones);
    const auto base_cpu = static_cast<std::int64_t>(random() % 101);
    const auto start = WallTime{std::chrono::seconds(1'790'000'000 + random() % 1'000'000)};
    const Timeline timeline(calendar, base_cpu, 65, {}, start, start + std::chrono::hours(72));
    for (int i = 0; i < 150; ++i) {
      const auto now = start + std::chrono::minutes(random() % (72 * 60));
      const auto plan = timeline.at(now);
      ASSERT_GE(plan.cpu.sell, 0);
      ASSERT_LE(plan.cpu.sell, plan.cpu.hold);
      ASSERT_LE(plan.cpu.hold, 100);
      if (plan.changes_at) ASSERT_GT(plan.changes_at->since_epoch, now.since_epoch - std::chrono::seconds(1));
      // What is sold now still holds for the whole lead; one percent of tolerance for rounding on a ramp.
      for (int k = 0; k < 6; ++k) {
        const auto later = now + std::chrono::milliseconds(calendar.lead.count() == 0
                                                               ? 0
                                                               : random() % (calendar.lead.count() / 1'000'000 + 1));
        ASSERT_LE(plan.cpu.sell, timeline.at(later).cpu.hold + 1) << "seed " << seed;
        ASSERT_LE(plan.memory.sell, timeline.at(later).memory.hold + 1) << "seed " << seed;
      }
      // The moment at which the line is down lies within the lead, and the line is down then.
      if (const auto down = timeline.comes_down_at(now)) {
        ASSERT_GT(*down, now + base::Duration(-std::chrono::seconds(1))) << "seed " << seed;
        ASSERT_LE(*down, now + calendar.lead) << "seed " << seed;
        const auto then = timeline.at(*down);
        ASSERT_TRUE((plan.cpu.sell < plan.cpu.hold && then.cpu.hold <= plan.cpu.sell) ||
                    (plan.memory.sell < plan.memory.hold && then.memory.hold <= plan.memory.sell))
            << "seed " << seed;
      }
      // A single query and a query of a long timeline give the same.
      const auto alone = water_line(calendar, base_cpu, 65, {}, now);
      ASSERT_EQ(alone.cpu, plan.cpu) << "seed " << seed;
      ASSERT_EQ(alone.memory, plan.memory) << "seed " << seed;
    }
  }
}

// A moment of a week, a month or a year.
Cron any_cron(std::mt19937_64& random) {
  const auto number = [&](std::uint64_t from, std::uint64_t to) {
    return std::to_string(from + random() % (to - from));
  };
  const std::string time = cat(number(0, 60), " ", number(0, 24), " ");
  const std::string month = random() % 2 == 0 ? "*" : number(1, 13);
  if (random() % 4 == 0) return *Cron::parse(cat(time, "* * ", number(0, 7)));
  return *Cron::parse(cat(time, number(1, 29), " ", month, " *"));
}

// Uses only the words of the guide: the entry started on an allowed day, and has not ended since.
bool in_force(const Calendar& calendar, const CalendarEntry& entry, std::int64_t at_s) {
  constexpr std::int64_t kYears_s = std::int64_t{3} * 366 * 86'400;
  const auto& recurring = std::get<Recurring>(entry.when);
  std::optional<std::int64_t> begun_s;
  for (const std::int64_t start_s : recurring.start.between(calendar.zone, at_s - kYears_s, at_s + 1)) {
    const bool rests = calendar.holidays.rests(calendar.zone.local(start_s) / 86'400);
    if (entry.on == OnDays::kAll || rests == (entry.on == OnDays::kHolidays)) begun_s = start_s;
  }
  return begun_s && *std::get<Cron>(recurring.end).next(calendar.zone, *begun_s) > at_s;
}

TEST(CalendarProperty, EntryLastsUntilItsEndHoweverFarAway) {
  const std::vector<model::TimeZone> zones{model::TimeZone::utc(), zone("Asia/Shanghai"), zone("America/New_York")};
  int lasting = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    Calendar calendar;
    calendar.zone = zones[random() % zones.size()];
    CalendarEntry entry;
    entry.when = Recurring{any_cron(random), any_cron(random)};
    entry.on = static_cast<OnDays>(random() % 3);
    entry.line.cpu = 80;
    calendar.entries = {entry};
    Calendar ramped = calendar;
    ramped.entries[0].ramp_up = ramped.entries[0].ramp_down = std::chrono::hours(random() % 24);
    const std::int64_t first_s = 1'790'000'000 + static_cast<std::int64_t>(random() % 31'000'000);
    const WallTime first{std::chrono::seconds(first_s)};
    const Timeline long_look(ramped, 60, 65, {}, first + -std::chrono::hours(24 * 800),
                             first + std::chrono::hours(24 * 400));
    for (int i = 0; i < 20; ++i) {
      const std::int64_t at_s = first_s + static_cast<std::int64_t>(random() % 31'000'000);
      const WallTime at{std::chrono::seconds(at_s)};
      const bool wanted = in_force(calendar, entry, at_s);
      ASSERT_EQ(water_line(calendar, 60, 65, {}, at).cpu.hold, wanted ? 80 : 60) << "seed " << seed << " at " << at_s;
      lasting += wanted && in_force(calendar, entry, at_s - 32 * 86'400) ? 1 : 0;
      // An entry that was in force one ramp ago has completed its ramp, however long ago it started.
      ASSERT_EQ(water_line(ramped, 60, 65, {}, at).cpu, long_look.at(at).cpu) << "seed " << seed << " at " << at_s;
    }
  }
  EXPECT_GT(lasting, 100) << "that were in force a month before as well";
}

TEST(Calendar, EntryThatStartsAgainWhileItLastsContinues) {
  Calendar calendar;
  CalendarEntry entry;
  entry.when = Recurring{*Cron::parse("0 * * * *"), std::chrono::minutes(90)};
  entry.line.cpu = 80;
  entry.ramp_up = entry.ramp_down = std::chrono::minutes(30);
  calendar.entries = {entry};
  for (int minute = 0; minute < 180; ++minute) {
    const auto now = WallTime{std::chrono::seconds(1'790'000'000) + std::chrono::minutes(minute)};
    ASSERT_EQ(water_line(calendar, 60, 65, {}, now).cpu.hold, 80) << minute;
  }
}

// One hour each, and each starts as the one before it ends: no ramp in between, not even one longer than an hour.
TEST(Calendar, EntryThatStartsAgainAsItEndsContinues) {
  Calendar calendar;
  calendar.lead = std::chrono::minutes(20);
  CalendarEntry entry;
  entry.when = Recurring{*Cron::parse("0 * * * *"), std::chrono::minutes(60)};
  entry.line.cpu = 80;
  entry.ramp_up = entry.ramp_down = std::chrono::minutes(150);
  calendar.entries = {entry};
  for (int minute = 0; minute < 180; ++minute) {
    const auto now = WallTime{std::chrono::seconds(1'790'000'000) + std::chrono::minutes(minute)};
    ASSERT_EQ(water_line(calendar, 60, 65, {}, now).cpu.sell, 80) << minute;
  }
}

// Such an entry turns back before it is whole, and has its minimum between its corners.
TEST(CalendarProperty, LeadFindsTheMinimumOfAnEntryShorterThanItsRamps) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto minutes = [&](std::uint64_t from, std::uint64_t to) {
      return std::chrono::minutes(from + random() % (to - from));
    };
    Calendar calendar;
    calendar.lead = minutes(30, 180);
    CalendarEntry entry;
    const std::int64_t begins_s = 1'790'000'000;
    const auto length = std::chrono::seconds(600 + random() % 3000);
    entry.when = FixedDates{begins_s, begins_s + length.count()};
    entry.line.cpu = 0;
    entry.ramp_up = minutes(30, 120);
    entry.ramp_down = minutes(30, 120);
    calendar.entries = {entry};
    const WallTime start = WallTime{std::chrono::seconds(begins_s)} + -std::chrono::hours(4);
    const Timeline timeline(calendar, 100, 100, {}, start, start + std::chrono::hours(6));
    for (auto now = start; now < start + std::chrono::hours(5); now = now + std::chrono::minutes(7)) {
      const auto sell = timeline.at(now).cpu.sell;
      for (auto later = now; later <= now + calendar.lead; later = later + std::chrono::seconds(10)) {
        ASSERT_LE(sell, water_line(calendar, 100, 100, {}, later).cpu.hold) << "seed " << seed;
      }
    }
  }
}

// The largest allowed calendar: the preview of a week, and a query each second, stay fast.
TEST(Calendar, LargestCalendarStaysFast) {
  Calendar calendar;
  calendar.lead = kLeadMax;
  for (std::size_t i = 0; i < kEntriesMax; ++i) {
    CalendarEntry entry;
    entry.name = cat("entry-", i);
    entry.when = Recurring{*Cron::parse(cat(i % 60, " ", i % 12, ",", i % 12 + 12, " * * *")),
                           i % 2 == 0 ? std::variant<base::Duration, Cron>(kWindowMax) : *Cron::parse("0 0 30 2 *")};
    if (i % 5 == 0) std::get<Recurring>(entry.when).end = std::chrono::minutes(30);
    if (i % 5 == 1) std::get<Recurring>(entry.when).end = *Cron::parse("0 0 29 2 *");
    entry.line.cpu = static_cast<std::int64_t>(i % 101);
    entry.ramp_up = entry.ramp_down = std::chrono::minutes(i % 90);
    calendar.entries.push_back(std::move(entry));
  }
  const auto now = WallTime{std::chrono::seconds(1'790'000'000)};
  const auto points = preview(calendar, 60, 65, {}, now);
  ASSERT_EQ(points.front().at, now);
  EXPECT_EQ(points.front().plan.cpu, water_line(calendar, 60, 65, {}, now).cpu);
}

TEST(CalendarProperty, NothingChangesBeforeChangesAt) {
  const std::vector<model::TimeZone> zones{model::TimeZone::utc(), zone("Europe/Berlin")};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    auto calendar = any_calendar(random, zones);
    for (auto& entry : calendar.entries) entry.ramp_up = entry.ramp_down = base::Duration(0);
    auto now = WallTime{std::chrono::seconds(1'790'000'000 + random() % 1'000'000)};
    for (int i = 0; i < 20; ++i) {
      const auto plan = water_line(calendar, 60, 65, {}, now);
      if (!plan.changes_at) break;
      const auto gap = *plan.changes_at - now;
      for (int k = 0; k < 4; ++k) {
        const auto between = now + base::Duration(random() % static_cast<std::uint64_t>(gap.count()));
        ASSERT_EQ(water_line(calendar, 60, 65, {}, between).cpu.hold, plan.cpu.hold) << "seed " << seed;
        ASSERT_EQ(water_line(calendar, 60, 65, {}, between).cpu.sell, plan.cpu.sell) << "seed " << seed;
      }
      now = *plan.changes_at;
    }
  }
}

TEST(LineMemo, ReturnsTheLineOfTheCalendarForEachCaller) {
  const std::vector<model::TimeZone> zones{model::TimeZone::utc(), zone("Europe/Berlin")};
  std::mt19937_64 random(7);
  std::vector<Calendar> calendars;
  for (int i = 0; i < 3; ++i) {
    calendars.push_back(any_calendar(random, zones));
    calendars.back().name = cat("calendar-", i);
  }
  // The same name with other settings is another calendar.
  auto edited = calendars;
  edited[0].entries.clear();
  LineMemo memo;
  WallTime now{std::chrono::seconds(1'790'000'000)};
  for (int i = 0; i < 3000; ++i) {
    const bool later = random() % 2 == 0;
    const auto& calendar = (later ? edited : calendars).at(random() % 3);
    const auto base_cpu = static_cast<std::int64_t>(random() % 3 * 20);
    LineOverrides overrides;
    if (random() % 3 == 0) overrides.push_back({{50, 40}, now + std::chrono::hours(random() % 3), "ann", "", now});
    ASSERT_EQ(memo.at(later ? "b" : "a", calendar, base_cpu, 65, overrides, now),
              water_line(calendar, base_cpu, 65, overrides, now));
    if (random() % 8 == 0) now = now + std::chrono::milliseconds(random() % 3'000'000);
  }
}

// ---- preview ----

Calendar nights() {
  Calendar calendar;
  CalendarEntry night;
  night.name = "night";
  night.when = Recurring{*Cron::parse("0 22 * * *"), std::chrono::hours(8)};
  night.line = {80, 70};
  calendar.entries.push_back(night);
  return calendar;
}

TEST(Preview, EveryFiveMinutesForAWeek) {
  const auto calendar = nights();
  const auto start = *base::parse_rfc3339("2026-11-21T12:00:00Z");
  const auto points = preview(calendar, 60, 65, {}, start);
  ASSERT_EQ(points.size(), 7U * 24 * 12);
  EXPECT_EQ(std::count_if(points.begin(), points.end(), [](const auto& p) { return p.plan.cpu.hold == 80; }),
            7 * 8 * 12);
  for (const auto& point : points) EXPECT_EQ(point.plan.cpu, water_line(calendar, 60, 65, {}, point.at).cpu);
}

}  // namespace
}  // namespace tidemark::policy::waterline
