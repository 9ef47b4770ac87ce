#include "policy/waterline/calendar/holidays.h"

#include <gtest/gtest.h>

#include "policy/explain/preview_text.h"

namespace tidemark::policy::waterline {
namespace {

constexpr std::int64_t kFirstOfOctober = 20'727;  // 2026-10-01, in days since 1970

// Always eight hours east of Greenwich.
Calendar of_the_east() {
  Calendar calendar;
  calendar.name = "shifts";
  calendar.zone = *model::TimeZone::from_spans("Test/East", {{model::TimeZone::utc().spans()[0].from_s, 8 * 3600}});
  CalendarEntry entry;
  entry.when = Recurring{*Cron::parse("0 0 * * *"), std::chrono::hours(24)};
  entry.on = OnDays::kHolidays;
  calendar.entries = {{}, entry};
  calendar.holidays.holidays = {kFirstOfOctober, kFirstOfOctober + 1};
  return calendar;
}

TEST(Holidays, EndAfterTheLastListedDay) {
  auto calendar = of_the_east();
  EXPECT_EQ(base::format_rfc3339(*holidays_end(calendar)), "2026-10-02T16:00:00Z") << "midnight there";
  calendar.holidays.workdays = {kFirstOfOctober + 9};
  EXPECT_EQ(base::format_rfc3339(*holidays_end(calendar)), "2026-10-10T16:00:00Z") << "a workday is listed too";
  calendar.holidays.holidays.clear();
  EXPECT_EQ(base::format_rfc3339(*holidays_end(calendar)), "2026-10-10T16:00:00Z");
  calendar.holidays.workdays.clear();
  EXPECT_EQ(holidays_end(calendar), std::nullopt) << "it uses only the weekdays, and always did";
}

TEST(Holidays, DoNotMatterIfTheCalendarDoesNotUseThem) {
  auto calendar = of_the_east();
  for (auto& entry : calendar.entries) entry.on = OnDays::kAll;
  EXPECT_EQ(holidays_end(calendar), std::nullopt);
  calendar.entries[1].on = OnDays::kWorkdays;
  EXPECT_TRUE(holidays_end(calendar));
}

TEST(Holidays, AreReportedFromThirtyDaysBeforeTheirEnd) {
  const auto calendar = of_the_east();
  const auto soon = [&](std::string_view now) { return holidays_end_soon(calendar, *base::parse_rfc3339(now)); };
  EXPECT_EQ(soon("2026-09-02T16:00:00Z"), std::nullopt);
  EXPECT_EQ(soon("2026-09-02T16:00:01Z"), holidays_end(calendar));
  EXPECT_EQ(soon("2027-09-02T16:00:01Z"), holidays_end(calendar));
  EXPECT_EQ(explain::holidays_text(calendar, *holidays_end(calendar)),
            "calendar shifts: its list of holidays ends on 2026-10-02; after that, "
            "entries on holidays or workdays use only the day of the week");
}

}  // namespace
}  // namespace tidemark::policy::waterline
