// A list of holidays ends: after its last day a calendar silently uses only the weekdays. These functions find that
// day.
#pragma once

#include <optional>

#include "base/clock.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::waterline {

// How long before the end of a list its owner is warned.
inline constexpr base::Duration kHolidaysAhead = std::chrono::hours(24 * 30);

// The end of the last listed day. nullopt: the list is empty, or no entry uses holidays or workdays.
std::optional<base::WallTime> holidays_end(const Calendar& calendar);

// The same if it is less than kHolidaysAhead ahead, or in the past.
std::optional<base::WallTime> holidays_end_soon(const Calendar& calendar, base::WallTime now);

}  // namespace tidemark::policy::waterline
