#include "policy/waterline/calendar/calendar.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tidemark::policy::waterline {
namespace {

using base::Duration;
using base::WallTime;
using model::Reason;

constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kRampLook_s = 60;  // the step on a ramp

std::int64_t seconds(Duration duration) {
  return std::chrono::floor<std::chrono::seconds>(duration).count();
}
std::int64_t seconds(WallTime time) {
  return seconds(time.since_epoch);
}

std::int64_t floor_day(std::int64_t local_s) {
  return local_s >= 0 ? local_s / kDay_s : -((-local_s + kDay_s - 1) / kDay_s);
}

bool on_this_day(OnDays on, const HolidayList& list, const model::TimeZone& zone, std::int64_t start_s) {
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

// The second in which an entry shorter than its ramps turns back before it is whole; nullopt if the ramps fit.
std::optional<std::int64_t> turns_at(std::int64_t start_s, std::int64_t end_s, const CalendarEntry& entry) {
  const __int128 up_s = seconds(entry.ramp_up);
  const __int128 down_s = seconds(entry.ramp_down);
  if (up_s <= 0 || down_s <= 0 || up_s + down_s <= end_s - start_s) return std::nullopt;
  const auto rises_s = static_cast<std::int64_t>((end_s - start_s) * up_s / (up_s + down_s));
  // The ramps cross in this second: the line is higher at its start or at its end.
  const bool at_its_end = (end_s - start_s - rises_s - 1) * up_s > rises_s * down_s;
  return start_s + rises_s + (at_its_end ? 1 : 0);
}

// The moment from which the starts of an entry matter at `from_s`: an earlier start has ended or has completed its
// ramp. nullopt: the entry never ends; the parser refuses this.
std::optional<std::int64_t> begins_after(const CalendarEntry& entry, const model::TimeZone& zone, std::int64_t from_s) {
  const auto* until = std::get_if<Cron>(&std::get<Recurring>(entry.when).end);
  if (until == nullptr) return from_s - seconds(kWindowMax);
  // A start before an end is over by then; one that starts as it ends continues, and no ramp reaches back to it.
  return until->latest(zone, from_s - seconds(std::clamp(entry.ramp_up, Duration(0), kWindowMax)));
}

// If an entry starts only on some days, at most this many starts in a row may fall on other days; then the search
// continues in a later call.
constexpr int kSkippedMax = 1000;

constexpr std::int64_t kPercentMax = 10'000;  // bound for a caller's numbers; the parser allows far less

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
  model::LinePhase phase;
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
  spans_.resize(calendar_.entries.size());
  for (std::size_t index = 0; index < calendar_.entries.size(); ++index) {
    const CalendarEntry& entry = calendar_.entries[index];
    spans_[index] = lay_out(entry, from_s, to_s);
    for (const Span& each : spans_[index]) {
      corners_s_.insert(corners_s_.end(), {each.start_s, each.start_s + seconds(entry.ramp_up),
                                           each.end_s - seconds(entry.ramp_down), each.end_s});
      if (const auto turn_s = turns_at(each.start_s, each.end_s, entry)) corners_s_.push_back(*turn_s);
    }
  }
  for (const auto& each : overrides_) corners_s_.push_back(seconds(each.until));
  std::sort(corners_s_.begin(), corners_s_.end());
  corners_s_.erase(std::unique(corners_s_.begin(), corners_s_.end()), corners_s_.end());
  if (from.since_epoch < to.since_epoch && lead_s() > 0) look_ahead();
}

// All spans of an entry that touch [from, to), and the next one, for `changes_at`; in order, without overlap.
std::vector<Timeline::Span> Timeline::lay_out(const CalendarEntry& entry, std::int64_t from_s,
                                              std::int64_t to_s) const {
  std::vector<Span> spans;
  const auto add = [&](std::int64_t start_s, std::int64_t end_s) {
    if (end_s <= start_s) return;
    if (!on_this_day(entry.on, calendar_.holidays, calendar_.zone, start_s)) return;
    if (!spans.empty() && start_s <= spans.back().end_s) {  // it starts again before it ends: it continues
      spans.back().end_s = std::max(spans.back().end_s, end_s);
    } else {
      spans.push_back({start_s, end_s});
    }
  };
  if (const auto* dates = std::get_if<FixedDates>(&entry.when)) {
    add(calendar_.zone.moment(dates->from_local_s), calendar_.zone.moment(dates->to_local_s));
    std::erase_if(spans, [&](const Span& each) { return each.end_s <= from_s; });
    return spans;
  }
  const auto& recurring = std::get<Recurring>(entry.when);
  // Whether the entry ends or continues must be known before its ramp starts.
  to_s += seconds(std::clamp(entry.ramp_down, Duration(0), kWindowMax));
  const auto since_s = begins_after(entry, calendar_.zone, from_s);
  if (!since_s) return spans;
  auto starts = recurring.start.between(calendar_.zone, *since_s, to_s);
  std::int64_t after_s = to_s - 1;
  for (int skipped = 0; skipped < kSkippedMax; ++skipped) {
    const auto next = recurring.start.next(calendar_.zone, after_s);
    if (!next) break;
    starts.push_back(*next);
    if (on_this_day(entry.on, calendar_.holidays, calendar_.zone, *next)) break;
    after_s = *next;
  }
  std::optional<std::int64_t> end_s;  // the next end by `until`, if it lies ahead
  for (const std::int64_t start_s : starts) {
    if (const auto* length = std::get_if<Duration>(&recurring.end)) {
      add(start_s, start_s + seconds(std::min(*length, kWindowMax)));
      continue;
    }
    if (!end_s || *end_s <= start_s) end_s = std::get<Cron>(recurring.end).next(calendar_.zone, start_s);
    if (!end_s) break;  // it never comes
    add(start_s, *end_s);
  }
  std::erase_if(spans, [&](const Span& each) { return each.end_s <= from_s; });
  return spans;
}

Timeline::Hold Timeline::hold_at(Side side, std::int64_t now_s) const {
  Hold hold;
  model::LineTerms& terms = hold.terms;
  terms.base = base_of(side);
  terms.hold = terms.base;

  std::vector<Layer> layers;
  for (std::size_t index = 0; index < spans_.size(); ++index) {
    const auto& spans = spans_[index];
    const auto after = std::upper_bound(spans.begin(), spans.end(), now_s,
                                        [](std::int64_t at_s, const Span& each) { return at_s < each.start_s; });
    if (after == spans.begin()) continue;
    const Span& each = *(after - 1);
    if (each.end_s <= now_s) continue;
    const auto& entry = calendar_.entries[index];
    auto line = entry.line.*side;
    if (!line && entry.kind == EntryKind::kFreeze) line = terms.base;
    if (!line) continue;
    const std::int64_t up = share(now_s - each.start_s, seconds(entry.ramp_up));
    const std::int64_t down = share(each.end_s - now_s, seconds(entry.ramp_down));
    model::LinePhase phase = entry.kind == EntryKind::kFreeze ? model::LinePhase::kFrozen : model::LinePhase::kOpen;
    if (entry.kind == EntryKind::kWindow && up < kWhole) phase = model::LinePhase::kRampingUp;
    if (entry.kind == EntryKind::kWindow && down < kWhole) phase = model::LinePhase::kRampingDown;
    layers.push_back({std::clamp<std::int64_t>(*line, 0, kPercentMax), std::min(up, down), phase, index, entry.kind,
                      entry.priority});
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
    terms.phase = model::LinePhase::kOverridden;
    terms.entry = std::nullopt;
    terms.reason = Reason::kLineOverridden;
    hold.ramps = 0;
  }
  return hold;
}

// The minimum in [from, to] without a corner in between. With one ramp the line is straight there: its minimum is at an
// end, or right before the last moment if it jumps up. Several ramps at once bend the line, so it is sampled each
// minute.
std::int64_t Timeline::least_of(Side side, std::int64_t from_s, std::int64_t to_s) const {
  const Hold first = hold_at(side, from_s);
  std::int64_t least = first.terms.hold;
  const auto consider = [&](std::int64_t at_s) { least = std::min(least, hold_at(side, at_s).terms.hold); };
  for (std::int64_t at_s = from_s + kRampLook_s; first.ramps > 1 && at_s < to_s; at_s += kRampLook_s) consider(at_s);
  consider(to_s - 1);
  consider(to_s);
  return least;
}

// Precomputes the minimum from each corner: a preview of a week in steps of five minutes would visit each corner many
// times.
void Timeline::look_ahead() {
  for (const Side side : {&LinePercent::cpu, &LinePercent::memory}) {
    auto& least = side == &LinePercent::cpu ? least_cpu_ : least_memory_;
    for (std::size_t i = 0; i + 1 < corners_s_.size(); ++i) {
      least.push_back(least_of(side, corners_s_[i], corners_s_[i + 1]));
    }
  }
}

model::LineTerms Timeline::terms_at(Side side, std::int64_t now_s) const {
  model::LineTerms terms = hold_at(side, now_s).terms;
  terms.sell = terms.hold;
  const std::int64_t end_s = now_s + lead_s();
  const auto& known = side == &LinePercent::cpu ? least_cpu_ : least_memory_;
  auto corner = std::upper_bound(corners_s_.begin(), corners_s_.end(), now_s);
  for (std::int64_t from_s = now_s; from_s < end_s;) {
    const auto before = static_cast<std::size_t>(corner - corners_s_.begin());  // corners up to from_s
    const std::int64_t to_s = corner == corners_s_.end() ? end_s : std::min(*corner, end_s);
    const bool whole = before > 0 && before <= known.size() && corners_s_[before - 1] == from_s && to_s == *corner;
    terms.sell = std::min(terms.sell, whole ? known[before - 1] : least_of(side, from_s, to_s));
    if (corner != corners_s_.end()) ++corner;
    from_s = to_s;
  }
  if (terms.sell < terms.hold) terms.reason = Reason::kLineDraining;
  return terms;
}

std::int64_t Timeline::lead_s() const {
  return seconds(std::clamp(calendar_.lead, Duration(0), kLeadMax));
}

model::LinePlan Timeline::at(WallTime now) const {
  const std::int64_t now_s = seconds(now);
  model::LinePlan plan;
  plan.cpu = terms_at(&LinePercent::cpu, now_s);
  plan.memory = terms_at(&LinePercent::memory, now_s);

  // The next corner, or the moment at which `lead` reaches one. In between only a ramp moves the line.
  const std::int64_t lead_s = this->lead_s();
  std::optional<std::int64_t> next;
  const auto consider = [&](std::int64_t from_s, std::int64_t back_s) {
    const auto corner = std::upper_bound(corners_s_.begin(), corners_s_.end(), from_s);
    if (corner != corners_s_.end() && (!next || *corner - back_s < *next)) next = *corner - back_s;
  };
  consider(now_s, 0);
  consider(now_s + lead_s, lead_s);
  const auto ramps = [&](std::int64_t at_s) {
    return hold_at(&LinePercent::cpu, at_s).ramps + hold_at(&LinePercent::memory, at_s).ramps > 0;
  };
  if (next && *next > now_s + kRampLook_s && (ramps(now_s) || ramps(now_s + lead_s))) next = now_s + kRampLook_s;
  if (next) plan.changes_at = WallTime{std::chrono::seconds(*next)};
  return plan;
}

std::optional<WallTime> Timeline::comes_down_at(WallTime now) const {
  const std::int64_t now_s = seconds(now);
  std::optional<std::int64_t> first;
  const auto look = [&](Side side) {
    const model::LineTerms terms = terms_at(side, now_s);
    if (terms.sell >= terms.hold) return;
    const auto from = std::upper_bound(corners_s_.begin(), corners_s_.end(), now_s);
    const auto to = std::upper_bound(from, corners_s_.end(), now_s + lead_s());
    const auto down =
        std::find_if(from, to, [&](std::int64_t at_s) { return hold_at(side, at_s).terms.hold <= terms.sell; });
    if (down != to && (!first || *down < *first)) first = *down;
  };
  look(&LinePercent::cpu);
  look(&LinePercent::memory);
  return first ? std::optional(WallTime{std::chrono::seconds(*first)}) : std::nullopt;
}

std::optional<WallTime> comes_down_at(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                      const LineOverrides& overrides, WallTime now) {
  return Timeline(calendar, base_cpu, base_memory, overrides, now, now).comes_down_at(now);
}

model::LinePlan water_line(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                           const LineOverrides& overrides, WallTime now) {
  return Timeline(calendar, base_cpu, base_memory, overrides, now, now).at(now);
}

const model::LinePlan& LineMemo::at(std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
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

model::LinePlan water_line(LineMemo* memo, std::string_view settings, const Calendar& calendar, std::int64_t base_cpu,
                           std::int64_t base_memory, const LineOverrides& overrides, WallTime now) {
  if (memo == nullptr) return water_line(calendar, base_cpu, base_memory, overrides, now);
  return memo->at(settings, calendar, base_cpu, base_memory, overrides, now);
}

std::optional<model::LinePlan> water_line(LineMemo* memo, std::string_view settings, const Calendar* calendar,
                                          std::int64_t base_cpu, std::int64_t base_memory,
                                          const LineOverrides& overrides, base::WallTime now) {
  if (calendar == nullptr && overrides.empty()) return std::nullopt;
  static const Calendar kNone;
  return water_line(memo, settings, calendar == nullptr ? kNone : *calendar, base_cpu, base_memory, overrides, now);
}

}  // namespace tidemark::policy::waterline
