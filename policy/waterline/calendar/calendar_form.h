// Calendars as `tidemark-config` holds them:
//
//   calendars:
//   - name: night-rise
//     zone: Asia/Shanghai
//     lead: 1h
//     holidays: {days: [2026-10-01, 2026-10-02], workdays: [2026-10-10], weekends: true}
//     entries:
//     - {name: night, cron: "0 22 * * *", until: "0 7 * * *", cpu: 80, memory: 75, rampUp: 30m, rampDown: 30m}
//     - {name: sale, kind: freeze, from: 2026-11-10T18:00, to: 2026-11-12T06:00, cpu: 0, memory: 0}
//
// Dates and times are those of the calendar's zone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/waterline/calendar/calendar.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::waterline {

// The rules of the zones that a document names; the caller that may open files adds them.
class Zones {
 public:
  void add(model::TimeZone zone);
  const model::TimeZone* find(std::string_view name) const;  // UTC always exists

 private:
  std::map<std::string, model::TimeZone, std::less<>> zones_;
};

// The zone names in a document of settings, unchanged; empty if the document cannot be read. Omits names that could
// leave the directory of zones.
std::vector<std::string> zone_names(std::string_view text);

inline constexpr std::size_t kCalendarsMax = 50;
inline constexpr std::size_t kHolidaysMax = 2000;

std::vector<Calendar> read_calendars(Form& document, const Zones& zones, Problems& problems);

}  // namespace tidemark::policy::waterline
