#include "policy/waterline/calendar/holidays.h"

#include <algorithm>

namespace tidemark::policy::waterline {

std::optional<base::WallTime> holidays_end(const Calendar& calendar) {
  constexpr std::int64_t kHolidayDay_s = 86'400;
  const auto any_day = [](const CalendarEntry& entry) { return entry.on == OnDays::kAll; };
  if (std::ranges::all_of(calendar.entries, any_day)) return std::nullopt;
  std::optional<std::int64_t> last;
  for (const auto* days : {&calendar.holidays.holidays, &calendar.holidays.workdays}) {
    if (!days->empty()) last = std::max(last, std::optional(days->back()));  // they are sorted
  }
  if (!last) return std::nullopt;
  return base::WallTime{std::chrono::seconds(calendar.zone.moment((*last + 1) * kHolidayDay_s))};
}

std::optional<base::WallTime> holidays_end_soon(const Calendar& calendar, base::WallTime now) {
  const auto end = holidays_end(calendar);
  return end && *end - now < kHolidaysAhead ? end : std::nullopt;
}

}  // namespace tidemark::policy::waterline
