// The water line on a calendar: the share of a node that all work together may use, by hour and day.
//
// An entry is a window (its own line for some time, e.g. at night) or a freeze (no window counts, e.g. during a
// promotion). Entries are applied to the base line from the weakest to the strongest, each to the result below it:
//
//   line = base
//   for each entry in force, windows by priority, then freezes, then the override:
//     line = line + (entry's line − line) × ramp          ramp: 0 → 1 in its first `ramp_up`, 1 → 0 in its last
//                                                         `ramp_down`
//
// Among equals the lower line is the stronger, also among overrides. A freeze without its own line means the base line.
// An entry that starts again while it lasts, or as it ends, continues. An override has no ramps and outranks
// everything, freezes included: a person ordered it for a limited time.
//
//   hold(t) = line at t                                   what running work may use
//   sell(t) = least hold in [t, t + lead]                 what may be offered to new work
//
// So for `lead` before a window closes, a freeze starts or an override ends, no new work is admitted, and running work
// may end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "model/line_plan.h"
#include "model/reason.h"
#include "model/time_zone.h"
#include "policy/waterline/calendar/cron.h"

namespace tidemark::policy::waterline {

// Percent of a node's capacity; an unset value changes nothing.
struct LinePercent {
  std::optional<std::int64_t> cpu;
  std::optional<std::int64_t> memory;
  bool operator==(const LinePercent&) const = default;
};

enum class EntryKind : std::uint8_t { kWindow, kFreeze };
enum class OnDays : std::uint8_t { kAll, kHolidays, kWorkdays };  // by the local date of its start

struct FixedDates {  // local time
  std::int64_t from_local_s = 0;
  std::int64_t to_local_s = 0;
  bool operator==(const FixedDates&) const = default;
};
struct Recurring {
  Cron start;
  std::variant<base::Duration, Cron> end;  // its length, or the first match after the start
  bool operator==(const Recurring&) const = default;
};

struct CalendarEntry {
  std::string name;
  EntryKind kind = EntryKind::kWindow;
  std::variant<FixedDates, Recurring> when;
  OnDays on = OnDays::kAll;
  LinePercent line;
  base::Duration ramp_up{0};
  base::Duration ramp_down{0};
  std::int64_t priority = 0;
  bool operator==(const CalendarEntry&) const = default;
};

// Days since 1970-01-01, sorted. A day in `workdays` is a workday whatever `holidays` and the weekday say.
struct HolidayList {
  std::vector<std::int64_t> holidays;
  std::vector<std::int64_t> workdays;
  bool weekends = true;  // Saturday and Sunday count as holidays
  bool rests(std::int64_t day) const;
  bool operator==(const HolidayList&) const = default;
};

struct Calendar {
  std::string name;
  model::TimeZone zone = model::TimeZone::utc();
  HolidayList holidays;
  base::Duration lead{0};
  std::vector<CalendarEntry> entries;
};

// An order of a person that outranks the calendar until it expires.
struct LineOverride {
  LinePercent line;
  base::WallTime until;
  std::string who;
  std::string why;
  base::WallTime since;  // for display: it takes effect as soon as it is received
  bool operator==(const LineOverride&) const = default;
};
// All overrides of one pool: its own, and the cluster's.
using LineOverrides = std::vector<LineOverride>;

// The override that counts: the lowest in force that sets that side; null if there is none.
const LineOverride* override_at(const LineOverrides& overrides, std::optional<std::int64_t> LinePercent::* side,
                                base::WallTime now);

inline constexpr base::Duration kWindowMax = std::chrono::hours(24 * 31);  // for a recurring entry with `for`
inline constexpr base::Duration kLeadMax = std::chrono::hours(24 * 7);
inline constexpr std::size_t kStartsADayMax = 24;      // of one recurring entry
inline constexpr std::size_t kAllStartsADayMax = 400;  // of all entries of one calendar
inline constexpr std::size_t kEntriesMax = 200;        // of one calendar

// The calendar between two moments, computed once and queried often.
class Timeline {
 public:
  // `base` percent hold if no entry does. The calendar must outlive this.
  Timeline(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory, LineOverrides overrides,
           base::WallTime from, base::WallTime to);

  model::LinePlan at(
      base::WallTime now) const;  // within [from, to]; also defined elsewhere, but entries may be missing there
  std::optional<base::WallTime> comes_down_at(base::WallTime now) const;

 private:
  using Side = std::optional<std::int64_t> LinePercent::*;
  struct Span {
    std::int64_t start_s;
    std::int64_t end_s;
  };
  struct Layer;
  struct Hold {
    model::LineTerms terms;
    int ramps = 0;  // number of entries on a ramp
  };
  std::int64_t lead_s() const;
  std::int64_t base_of(Side side) const { return side == &LinePercent::cpu ? base_cpu_ : base_memory_; }
  std::vector<Span> lay_out(const CalendarEntry& entry, std::int64_t from_s, std::int64_t to_s) const;
  void look_ahead();
  std::int64_t least_of(Side side, std::int64_t from_s, std::int64_t to_s) const;
  model::LineTerms terms_at(Side side, std::int64_t now_s) const;
  Hold hold_at(Side side, std::int64_t now_s) const;

  const Calendar& calendar_;
  std::int64_t base_cpu_;
  std::int64_t base_memory_;
  LineOverrides overrides_;
  std::vector<std::vector<Span>> spans_;  // when each entry is in force
  std::vector<std::int64_t> corners_s_;   // moments at which a line may bend or jump; sorted
  std::vector<std::int64_t> least_cpu_;   // from each corner up to the next; empty if few queries are expected
  std::vector<std::int64_t> least_memory_;
};

// The moment at which the line will have come down to what may be sold now: a window closes, a freeze starts, an
// override ends. The earlier of both sides. nullopt: it does not come down within `lead`, or is on a ramp that ends
// later.
std::optional<base::WallTime> comes_down_at(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                            const LineOverrides& overrides, base::WallTime now);

// The line now.
model::LinePlan water_line(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                           const LineOverrides& overrides, base::WallTime now);

// Caches lines by the second. After an edit thousands of nodes of a pool ask for the same line at once, and building a
// timeline is expensive. The result equals `water_line` for that second.
class LineMemo {
 public:
  // `settings` identifies the calendar: the hash of the settings texts.
  const model::LinePlan& at(std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                            std::int64_t base_memory, const LineOverrides& overrides, base::WallTime now);

 private:
  static constexpr std::size_t kLinesMax = 64;
  struct Line {
    std::string settings;
    std::string calendar;
    std::int64_t base_cpu;
    std::int64_t base_memory;
    LineOverrides overrides;
    model::LinePlan plan;
  };
  std::int64_t second_ = 0;
  std::vector<Line> lines_;
};

// Uses `memo` if it is not null; `settings`: the hash of the settings that the calendar belongs to.
model::LinePlan water_line(LineMemo* memo, std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                           std::int64_t base_memory, const LineOverrides& overrides, base::WallTime now);
// The same for a pool that may have no calendar. nullopt if neither a calendar nor an override sets a line.
std::optional<model::LinePlan> water_line(LineMemo* memo, std::string_view settings, const Calendar* calendar,
                                          std::int64_t base_cpu, std::int64_t base_memory,
                                          const LineOverrides& overrides, base::WallTime now);

}  // namespace tidemark::policy::waterline
