// The water line on a calendar: how much of a node all together may use, as it changes with the hour and the day.
//
// An entry is a window (a line of its own for some time, e.g. at night) or a freeze (no window counts, e.g. during a
// promotion). Entries are laid over the base line from the weakest to the strongest, each over what lies below it:
//
//   line = base
//   for each entry in force, windows by priority, then freezes, then the override:
//     line = line + (entry's line − line) × ramp          ramp: 0 → 1 in its first `ramp_up`, 1 → 0 in its last
//     `ramp_down`
//
// Among equals the lower line is the stronger, of overrides too. A freeze without a line of its own means the base
// line. An entry that begins again while it lasts, or as it ends, goes on. An override has no ramps, and outranks
// everything, freezes included: it is somebody's word for a while.
//
//   hold(t) = line at t                                   what running work may use
//   sell(t) = least hold in [t, t + lead]                 what may be offered to new work
//
// So before a window closes, a freeze begins, or an override ends, nothing new is let in for `lead`, and what runs may
// end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/calendar/cron.h"
#include "policy/calendar/time_zone.h"

namespace tidemark::policy {

// Percent of a node's capacity; an absent one is left as it is.
struct LinePercent {
  std::optional<std::int64_t> cpu;
  std::optional<std::int64_t> memory;
  bool operator==(const LinePercent&) const = default;
};

enum class EntryKind : std::uint8_t { kWindow, kFreeze };
enum class OnDays : std::uint8_t { kAll, kHolidays, kWorkdays };  // by the local date on which it begins

struct FixedDates {  // on the clock on the wall
  std::int64_t from_local_s = 0;
  std::int64_t to_local_s = 0;
  bool operator==(const FixedDates&) const = default;
};
struct Recurring {
  Cron start;
  std::variant<base::Duration, Cron> end;  // its length, or the next such moment after the start
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

// Days since 1970-01-01, sorted. A day in `workdays` is none of rest whatever `holidays` and the week say.
struct HolidayList {
  std::vector<std::int64_t> holidays;
  std::vector<std::int64_t> workdays;
  bool weekends = true;  // Saturday and Sunday count as holidays
  bool rests(std::int64_t day) const;
  bool operator==(const HolidayList&) const = default;
};

struct Calendar {
  std::string name;
  TimeZone zone = TimeZone::utc();
  HolidayList holidays;
  base::Duration lead{0};
  std::vector<CalendarEntry> entries;
};

// Somebody's word that outranks the calendar until it expires.
struct LineOverride {
  LinePercent line;
  base::WallTime until;
  std::string who;
  std::string why;
  base::WallTime since;  // for people: it holds as soon as it is known
  bool operator==(const LineOverride&) const = default;
};
// All that concern one pool: its own, and the cluster's.
using LineOverrides = std::vector<LineOverride>;

// The one that counts: the lowest of those in force that say anything of that side; null where none does.
const LineOverride* override_at(const LineOverrides& overrides, std::optional<std::int64_t> LinePercent::* side,
                                base::WallTime now);

enum class LinePhase : std::uint8_t { kBase, kRampingUp, kOpen, kRampingDown, kFrozen, kOverridden };

struct LineTerms {
  std::int64_t base = 0;
  std::int64_t hold = 0;
  std::int64_t sell = 0;
  LinePhase phase = LinePhase::kBase;
  std::optional<std::size_t> entry;  // the strongest in force, an index in Calendar::entries; none at base and override
  model::Reason reason = model::Reason::kLineBase;
  bool operator==(const LineTerms&) const = default;
};

struct LinePlan {
  LineTerms cpu;
  LineTerms memory;
  std::optional<base::WallTime> changes_at;  // time alone changes the answer then, or a bit later
  bool operator==(const LinePlan&) const = default;
};

inline constexpr base::Duration kWindowMax = std::chrono::hours(24 * 31);  // of what recurs `for` so long
inline constexpr base::Duration kLeadMax = std::chrono::hours(24 * 7);
inline constexpr std::size_t kStartsADayMax = 24;      // of one recurring entry
inline constexpr std::size_t kAllStartsADayMax = 400;  // of all of one calendar
inline constexpr std::size_t kEntriesMax = 200;        // of one calendar

// The calendar between two moments, worked out once and then asked often.
class Timeline {
 public:
  // `base` percent hold where nothing else does. The calendar must live as long.
  Timeline(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory, LineOverrides overrides,
           base::WallTime from, base::WallTime to);

  LinePlan at(base::WallTime now) const;  // within [from, to]; total elsewhere too, but then entries may be missing
  std::optional<base::WallTime> comes_down_at(base::WallTime now) const;

 private:
  using Side = std::optional<std::int64_t> LinePercent::*;
  struct Span {
    std::int64_t start_s;
    std::int64_t end_s;
  };
  struct Layer;
  struct Hold {
    LineTerms terms;
    int ramps = 0;  // how many entries are on their way up or down
  };
  std::int64_t lead_s() const;
  std::int64_t base_of(Side side) const { return side == &LinePercent::cpu ? base_cpu_ : base_memory_; }
  std::vector<Span> lay_out(const CalendarEntry& entry, std::int64_t from_s, std::int64_t to_s) const;
  void look_ahead();
  std::int64_t least_of(Side side, std::int64_t from_s, std::int64_t to_s) const;
  LineTerms terms_at(Side side, std::int64_t now_s) const;
  Hold hold_at(Side side, std::int64_t now_s) const;

  const Calendar& calendar_;
  std::int64_t base_cpu_;
  std::int64_t base_memory_;
  LineOverrides overrides_;
  std::vector<std::vector<Span>> spans_;  // when each entry is in force
  std::vector<std::int64_t> corners_s_;   // where a line may bend or jump; sorted
  std::vector<std::int64_t> least_cpu_;   // from each corner up to the next; empty where few will ask
  std::vector<std::int64_t> least_memory_;
};

// When the line will have come down to what may be sold now: a window closes, a freeze begins, an override ends. The
// earlier of both sides. nullopt: it does not come down within `lead`, or is on a ramp whose end lies beyond that.
std::optional<base::WallTime> comes_down_at(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                            const LineOverrides& overrides, base::WallTime now);

// The line now.
LinePlan water_line(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                    const LineOverrides& overrides, base::WallTime now);

// Nodes of a pool ask for the same line, thousands of them within a second after an edit, and laying a calendar out is
// dear: each line is worked out once a second, and is to the second what `water_line` says.
class LineMemo {
 public:
  // `settings` names what the calendar is of: the hash of their texts.
  const LinePlan& at(std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                     std::int64_t base_memory, const LineOverrides& overrides, base::WallTime now);

 private:
  static constexpr std::size_t kLinesMax = 64;
  struct Line {
    std::string settings;
    std::string calendar;
    std::int64_t base_cpu;
    std::int64_t base_memory;
    LineOverrides overrides;
    LinePlan plan;
  };
  std::int64_t second_ = 0;
  std::vector<Line> lines_;
};

// By `memo`, where whoever asks has one; `settings`: the hash of those that the calendar is of.
LinePlan water_line(LineMemo* memo, std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                    std::int64_t base_memory, const LineOverrides& overrides, base::WallTime now);

}  // namespace tidemark::policy
