#include "policy/waterline/calendar/falls.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::policy::waterline {
namespace {

using namespace std::chrono_literals;
using base::WallTime;

WallTime moment(std::string_view text) {
  return *base::parse_rfc3339(text);
}

CalendarEntry window(std::string_view start, base::Duration length, std::int64_t cpu, std::int64_t memory) {
  CalendarEntry entry;
  entry.name = "night";
  entry.when = Recurring{*Cron::parse(start), length};
  entry.line = {cpu, memory};
  return entry;
}

// "06:00 60/65; …": the time, and the line from then on.
std::string fall_text(const Calendar& calendar, std::string_view now, const LineOverrides& overrides = {}) {
  const WallTime at = moment(now);
  std::string out;
  for (const LineFall& fall : falls(calendar, water_line(calendar, 60, 65, overrides, at), overrides, at)) {
    out += base::cat(out.empty() ? "" : "; ", base::format_rfc3339(fall.at).substr(5, 11), " ", fall.line.cpu.hold, "/",
                     fall.line.memory.hold);
  }
  return out;
}

TEST(Falls, ListsOnlyTheEndOfAWindow) {
  Calendar calendar;
  calendar.lead = 2h;  // the lead changes what is sold, not the line
  calendar.entries = {window("0 22 * * *", 8h, 80, 75)};
  EXPECT_EQ(fall_text(calendar, "2026-11-21T23:00:00Z"), "11-22T06:00 60/65");
  EXPECT_EQ(fall_text(calendar, "2026-11-22T05:59:59Z"), "11-22T06:00 60/65");
  EXPECT_EQ(fall_text(calendar, "2026-11-22T06:00:00Z"), "") << "the next night does not raise the line yet";
}

TEST(Falls, ListsEachStepDownToTheBase) {
  Calendar calendar;
  calendar.entries = {window("0 22 * * *", 8h, 80, 75), window("0 5 * * *", 3h, 70, 75)};
  calendar.entries[0].priority = 1;
  EXPECT_EQ(fall_text(calendar, "2026-11-21T23:00:00Z"), "11-22T06:00 70/75; 11-22T08:00 60/65");
}

TEST(Falls, FreezeEndsTheWindowFirst) {
  Calendar calendar;
  calendar.entries = {window("0 22 * * *", 8h, 80, 75)};
  CalendarEntry freeze = window("0 2 * * *", 1h, 40, 40);
  freeze.kind = EntryKind::kFreeze;
  calendar.entries.push_back(freeze);
  EXPECT_EQ(fall_text(calendar, "2026-11-21T23:00:00Z"), "11-22T02:00 40/40");
}

TEST(Falls, OverrideEndsAtTheLineBelow) {
  const LineOverrides overrides{{{90, {}}, moment("2026-11-22T05:00:00Z"), "ann", "a test", {}}};
  EXPECT_EQ(fall_text(Calendar(), "2026-11-21T23:00:00Z", overrides), "11-22T05:00 60/65");
  Calendar calendar;
  calendar.entries = {window("0 22 * * *", 8h, 80, 75)};
  EXPECT_EQ(fall_text(calendar, "2026-11-21T23:00:00Z", overrides), "11-22T05:00 80/75; 11-22T06:00 60/65");
  const LineOverrides lower{{{40, {}}, moment("2026-11-22T05:00:00Z"), "ann", "a test", {}}};
  EXPECT_EQ(fall_text(Calendar(), "2026-11-21T23:00:00Z", lower), "") << "a line that is lowered comes down no more";
}

TEST(Falls, RampIsSampledAtWholeMinutes) {
  Calendar calendar;
  calendar.entries = {window("0 22 * * *", 8h, 64, 65)};
  calendar.entries[0].ramp_down = 4min;
  const std::string down = "11-22T05:57 63/65; 11-22T05:58 62/65; 11-22T05:59 61/65; 11-22T06:00 60/65";
  EXPECT_EQ(fall_text(calendar, "2026-11-21T23:00:17Z"), down);
  EXPECT_EQ(fall_text(calendar, "2026-11-22T05:56:00Z"), down);
  EXPECT_EQ(fall_text(calendar, "2026-11-22T05:57:00Z"), down.substr(down.find(';') + 2));
  EXPECT_EQ(fall_text(calendar, "2026-11-22T05:57:31Z"), "11-22T05:59 61/65; 11-22T06:00 60/65") << "62 by now";
}

// Each turn is known before the one before it ends, so the line does not drop for a moment in between.
TEST(Falls, RuleWithoutABreakEndsAfterTheNextTurn) {
  Calendar calendar;
  calendar.entries = {window("0 22 * * *", 24h, 80, 75)};
  const WallTime now = moment("2026-11-21T23:00:00Z");
  const model::LinePlan line = water_line(calendar, 60, 65, {}, now);
  const auto found = falls(calendar, line, {}, now);
  ASSERT_FALSE(found.empty());
  EXPECT_GT(found.front().at, *line.changes_at);
}

TEST(FallMemo, ReturnsTheFallsOfTheCalendar) {
  Calendar calendar;
  calendar.name = "nights";
  calendar.entries = {window("0 22 * * *", 8h, 80, 75)};
  FallMemo memo;
  for (WallTime now = moment("2026-11-21T20:00:00Z"); now < moment("2026-11-23T08:00:00Z"); now = now + 17min) {
    const model::LinePlan line = water_line(calendar, 60, 65, {}, now);
    ASSERT_EQ(memo.at("a", calendar, line, {}, now), falls(calendar, line, {}, now)) << base::format_rfc3339(now);
  }
}

// Nodes of a pool are decided in any second of a minute.
TEST(FallMemo, ReturnsTheFallsOfTheCalendarOnARamp) {
  Calendar calendar;
  calendar.name = "nights";
  calendar.entries = {window("0 22 * * *", 8h, 80, 75)};
  calendar.entries[0].ramp_down = 30min;
  FallMemo memo;
  for (WallTime now = moment("2026-11-22T05:25:00Z"); now < moment("2026-11-22T06:05:00Z"); now = now + 7s) {
    const model::LinePlan line = water_line(calendar, 60, 65, {}, now);
    ASSERT_EQ(memo.at("a", calendar, line, {}, now), falls(calendar, line, {}, now)) << base::format_rfc3339(now);
  }
}

}  // namespace
}  // namespace tidemark::policy::waterline
