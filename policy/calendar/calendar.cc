#include "policy/calendar/calendar.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tidemark::policy {
namespace {

using base::Duration;
using base::WallTime;
using model::Reason;

constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kRampLook_s = 60;  // how often a ramp is looked at

std::int64_t seconds(Duration duration) {
  return std::chrono::floor<std::chrono::seconds>(duration).count();
}
std::int64_t seconds(WallTime time) {
  return seconds(time.since_epoch);
}

std::int64_t floor_day(std::int64_t local_s) {
  return local_s >= 0 ? local_s / kDay_s : -((-local_s + kDay_s - 1) / kDay_s);
}

bool on_this_day(OnDays on, const HolidayList& list, const TimeZone& zone, std::int64_t start_s) {
  if (on == OnDays::kAll) return true;
  return list.rests(floor_day(zone.local(start_s))) == (on == OnDays::kHolidays);
}

// How far an entry is in force, in millionths.
constexpr std::int64_t kWhole = 1'000'000;

std::int64_t share(std::int64_t part_s, std::int64_t whole_s) {
  if (whole_s <= 0 || part_s >= whole_s) return kWhole;
  return std::max<std::int64_t>(part_s, 0) * kWhole / whole_s;
}

std::int64_t blended(std::int64_t below, std::int64_t line, std::int64_t part) {
  return below + (line - below) * part / kWhole;
}

// Of an entry that begins only on some days, so many beginnings in a row may fall on others; then the next one is left
// for a later look.
constexpr int kSkippedMax = 1000;

constexpr std::int64_t kPercentMax = 10'000;  // wild numbers of a caller; the parser lets far less through

}  // namespace

bool HolidayList::rests(std::int64_t day) const {
  if (std::binary_search(workdays.begin(), workdays.end(), day)) return false;
  if (std::binary_search(holidays.begin(), holidays.end(), day)) return true;
  if (!weekends) return false;
  const std::int64_t weekday = ((day % 7) + 7 + 4) % 7;  // 1970-01-01 was a Thursday; 0 is Sunday
  return weekday == 0 || weekday == 6;
}

const LineOverride* override_at(const LineOverrides& overrides, std::optional<std::int64_t> LinePercent::* side,
                                WallTime now) {
  const LineOverride* strongest = nullptr;
  for (const auto& each : overrides) {
    if (!(each.line.*side) || seconds(now) >= seconds(each.until)) continue;
    if (strongest == nullptr || *(each.line.*side) < *(strongest->line.*side)) strongest = &each;
  }
  return strongest;
}

struct Timeline::Layer {
  std::int64_t line;
  std::int64_t part;
  LinePhase phase;
  std::size_t entry;
  EntryKind kind;
  std::int64_t priority;
};

Timeline::Timeline(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory, LineOverrides overrides,
                   WallTime from, WallTime to)
    : calendar_(calendar),
      base_cpu_(std::clamp<std::int64_t>(base_cpu, 0, kPercentMax)),
      base_memory_(std::clamp<std::int64_t>(base_memory, 0, kPercentMax)),
      overrides_(std::move(overrides)) {
  const std::int64_t from_s = seconds(from);
  const std::int64_t to_s =
      std::max(from_s, seconds(to)) + seconds(std::clamp(calendar.lead, Duration(0), kLeadMax)) + 1;
  for (std::size_t entry = 0; entry < calendar_.entries.size(); ++entry) lay_out(entry, from_s, to_s);
  std::sort(occurrences_.begin(), occurrences_.end(), [](const Occurrence& a, const Occurrence& b) {
    return std::tie(a.start_s, a.end_s, a.entry) < std::tie(b.start_s, b.end_s, b.entry);
  });
  for (const auto& each : occurrences_) {
    const auto& entry = calendar_.entries[each.entry];
    corners_s_.insert(corners_s_.end(), {each.start_s, each.start_s + seconds(entry.ramp_up),
                                         each.end_s - seconds(entry.ramp_down), each.end_s});
  }
  for (const auto& each : overrides_) corners_s_.push_back(seconds(each.until));
  std::sort(corners_s_.begin(), corners_s_.end());
  corners_s_.erase(std::unique(corners_s_.begin(), corners_s_.end()), corners_s_.end());
}

// All that touch [from, to), and the next after it, so that `changes_at` sees it.
void Timeline::lay_out(std::size_t index, std::int64_t from_s, std::int64_t to_s) {
  const CalendarEntry& entry = calendar_.entries[index];
  const std::int64_t longest_s = seconds(kWindowMax);
  const auto add = [&](std::int64_t start_s, std::int64_t end_s) {
    if (end_s > start_s && end_s > from_s && on_this_day(entry.on, calendar_.holidays, calendar_.zone, start_s)) {
      occurrences_.push_back({start_s, end_s, index});
    }
  };
  if (const auto* dates = std::get_if<FixedDates>(&entry.when)) {
    add(calendar_.zone.moment(dates->from_local_s), calendar_.zone.moment(dates->to_local_s));
    return;
  }
  const auto& recurring = std::get<Recurring>(entry.when);
  auto starts = recurring.start.between(calendar_.zone, from_s - longest_s, to_s);
  std::int64_t after_s = to_s - 1;
  for (int skipped = 0; skipped < kSkippedMax; ++skipped) {
    const auto next = recurring.start.next(calendar_.zone, after_s);
    if (!next) break;
    starts.push_back(*next);
    if (on_this_day(entry.on, calendar_.holidays, calendar_.zone, *next)) break;
    after_s = *next;
  }
  for (const std::int64_t start_s : starts) {
    if (const auto* length = std::get_if<Duration>(&recurring.end)) {
      add(start_s, start_s + std::min(seconds(*length), longest_s));
    } else if (const auto end = std::get<Cron>(recurring.end).next(calendar_.zone, start_s)) {
      add(start_s, std::min(*end, start_s + longest_s));
    }
  }
}

Timeline::Hold Timeline::hold_at(std::optional<std::int64_t> LinePercent::* side, std::int64_t base,
                                 std::int64_t now_s) const {
  Hold hold;
  LineTerms& terms = hold.terms;
  terms.base = base;
  terms.hold = base;

  std::vector<Layer> layers;
  for (const auto& each : occurrences_) {
    if (each.start_s > now_s) break;
    if (each.end_s <= now_s) continue;
    const auto& entry = calendar_.entries[each.entry];
    auto line = entry.line.*side;
    if (!line && entry.kind == EntryKind::kFreeze) line = base;
    if (!line) continue;
    const std::int64_t up = share(now_s - each.start_s, seconds(entry.ramp_up));
    const std::int64_t down = share(each.end_s - now_s, seconds(entry.ramp_down));
    LinePhase phase = entry.kind == EntryKind::kFreeze ? LinePhase::kFrozen : LinePhase::kOpen;
    if (entry.kind == EntryKind::kWindow && up < kWhole) phase = LinePhase::kRampingUp;
    if (entry.kind == EntryKind::kWindow && down < kWhole) phase = LinePhase::kRampingDown;
    layers.push_back({std::clamp<std::int64_t>(*line, 0, kPercentMax), std::min(up, down), phase, each.entry,
                      entry.kind, entry.priority});
  }
  // Weakest first; among equals the lower line comes last and so is the stronger.
  std::sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) {
    return std::tuple(a.kind, a.priority, -a.line, a.entry) < std::tuple(b.kind, b.priority, -b.line, b.entry);
  });
  for (const auto& layer : layers) {
    terms.hold = blended(terms.hold, layer.line, layer.part);
    terms.phase = layer.phase;
    terms.entry = layer.entry;
    terms.reason = layer.kind == EntryKind::kFreeze ? Reason::kLineFrozen : Reason::kLineWindow;
    if (layer.part < kWhole) ++hold.ramps;
  }
  if (const auto* strongest = override_at(overrides_, side, WallTime{std::chrono::seconds(now_s)})) {
    terms.hold = std::clamp<std::int64_t>(*(strongest->line.*side), 0, kPercentMax);
    terms.phase = LinePhase::kOverridden;
    terms.entry = std::nullopt;
    terms.reason = Reason::kLineOverridden;
    hold.ramps = 0;
  }
  return hold;
}

// Between two corners a line with one ramp is straight: its least lies at a corner, or right before one where it jumps
// up. Where several ramps lie over each other it is bent, and looked at minute by minute.
LineTerms Timeline::terms_at(std::optional<std::int64_t> LinePercent::* side, std::int64_t base,
                             std::int64_t now_s) const {
  LineTerms terms = hold_at(side, base, now_s).terms;
  terms.sell = terms.hold;
  const std::int64_t end_s = now_s + lead_s();
  const auto consider = [&](std::int64_t at_s) {
    const Hold hold = hold_at(side, base, at_s);
    terms.sell = std::min(terms.sell, hold.terms.hold);
    return hold.ramps;
  };
  auto corner = std::upper_bound(corners_s_.begin(), corners_s_.end(), now_s);
  for (std::int64_t from_s = now_s; from_s < end_s;) {
    const std::int64_t to_s = corner == corners_s_.end() ? end_s : std::min(*corner++, end_s);
    const bool bent = consider(from_s) > 1;
    for (std::int64_t at_s = from_s + kRampLook_s; bent && at_s < to_s; at_s += kRampLook_s) consider(at_s);
    consider(to_s - 1);
    consider(to_s);
    from_s = to_s;
  }
  if (terms.sell < terms.hold) terms.reason = Reason::kLineDraining;
  return terms;
}

std::int64_t Timeline::lead_s() const {
  return seconds(std::clamp(calendar_.lead, Duration(0), kLeadMax));
}

LinePlan Timeline::at(WallTime now) const {
  const std::int64_t now_s = seconds(now);
  LinePlan plan;
  plan.cpu = terms_at(&LinePercent::cpu, base_cpu_, now_s);
  plan.memory = terms_at(&LinePercent::memory, base_memory_, now_s);

  // The next corner, or the moment at which `lead` reaches one. In between only a ramp moves.
  const std::int64_t lead_s = this->lead_s();
  std::optional<std::int64_t> next;
  const auto consider = [&](std::int64_t from_s, std::int64_t back_s) {
    const auto corner = std::upper_bound(corners_s_.begin(), corners_s_.end(), from_s);
    if (corner != corners_s_.end() && (!next || *corner - back_s < *next)) next = *corner - back_s;
  };
  consider(now_s, 0);
  consider(now_s + lead_s, lead_s);
  const auto ramps = [&](std::int64_t at_s) {
    return hold_at(&LinePercent::cpu, 0, at_s).ramps + hold_at(&LinePercent::memory, 0, at_s).ramps > 0;
  };
  if (next && *next > now_s + kRampLook_s && (ramps(now_s) || ramps(now_s + lead_s))) next = now_s + kRampLook_s;
  if (next) plan.changes_at = WallTime{std::chrono::seconds(*next)};
  return plan;
}

std::optional<WallTime> Timeline::comes_down_at(WallTime now) const {
  const std::int64_t now_s = seconds(now);
  std::optional<std::int64_t> first;
  const auto look = [&](std::optional<std::int64_t> LinePercent::* side, std::int64_t base) {
    const LineTerms terms = terms_at(side, base, now_s);
    if (terms.sell >= terms.hold) return;
    const auto from = std::upper_bound(corners_s_.begin(), corners_s_.end(), now_s);
    const auto to = std::upper_bound(from, corners_s_.end(), now_s + lead_s());
    const auto down =
        std::find_if(from, to, [&](std::int64_t at_s) { return hold_at(side, base, at_s).terms.hold <= terms.sell; });
    if (down != to && (!first || *down < *first)) first = *down;
  };
  look(&LinePercent::cpu, base_cpu_);
  look(&LinePercent::memory, base_memory_);
  return first ? std::optional(WallTime{std::chrono::seconds(*first)}) : std::nullopt;
}

std::optional<WallTime> comes_down_at(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                      const LineOverrides& overrides, WallTime now) {
  return Timeline(calendar, base_cpu, base_memory, overrides, now, now).comes_down_at(now);
}

LinePlan water_line(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                    const LineOverrides& overrides, WallTime now) {
  return Timeline(calendar, base_cpu, base_memory, overrides, now, now).at(now);
}

const LinePlan& LineMemo::at(std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                             std::int64_t base_memory, const LineOverrides& overrides, WallTime now) {
  if (second_ != seconds(now) || lines_.size() >= kLinesMax) lines_.clear();
  second_ = seconds(now);
  for (const Line& line : lines_) {
    if (line.base_cpu == base_cpu && line.base_memory == base_memory && line.settings == settings &&
        line.calendar == calendar.name && line.overrides == overrides) {
      return line.plan;
    }
  }
  lines_.push_back({std::string(settings), calendar.name, base_cpu, base_memory, overrides,
                    water_line(calendar, base_cpu, base_memory, overrides, now)});
  return lines_.back().plan;
}

LinePlan water_line(LineMemo* memo, std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                    std::int64_t base_memory, const LineOverrides& overrides, WallTime now) {
  if (memo == nullptr) return water_line(calendar, base_cpu, base_memory, overrides, now);
  return memo->at(settings, calendar, base_cpu, base_memory, overrides, now);
}

}  // namespace tidemark::policy
