// A list of days of rest ends: after its last day a calendar goes by the week alone, and says nothing.
#pragma once

#include <optional>

#include "base/clock.h"
#include "policy/calendar/calendar.h"

namespace tidemark::policy {

// How long before the end of a list whoever keeps it is told.
inline constexpr base::Duration kHolidaysAhead = std::chrono::hours(24 * 30);

// When the last day that the list names is over. nullopt: it names none, or no entry goes by days of rest or of work.
std::optional<base::WallTime> holidays_end(const Calendar& calendar);

// The same where it lies less than kHolidaysAhead ahead, or behind.
std::optional<base::WallTime> holidays_end_soon(const Calendar& calendar, base::WallTime now);

}  // namespace tidemark::policy
