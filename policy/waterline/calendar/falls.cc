#include "policy/waterline/calendar/falls.h"

#include <algorithm>
#include <chrono>

namespace tidemark::policy::waterline {
namespace {

using base::WallTime;

constexpr base::Duration kRampStep = std::chrono::minutes(1);  // the step on a ramp, as for LinePlan::changes_at

bool raised(const model::LineTerms& terms) {
  return terms.hold > terms.base;
}

bool raised(const model::LinePlan& line) {
  return raised(line.cpu) || raised(line.memory);
}

// What is sold within the lead does not matter here, and its changes would cost needless steps.
Calendar without_lead(Calendar calendar) {
  calendar.lead = base::Duration(0);
  return calendar;
}

// The next moment to check: a corner of the line, or on a ramp the next whole minute. `line`: the line at `at`.
std::optional<WallTime> next_look(const Timeline& timeline, const model::LinePlan& line, WallTime at) {
  const WallTime soon = at + std::chrono::seconds(1);  // a ramp that starts now is visible then
  if (!line.changes_at || *line.changes_at <= soon) return line.changes_at;
  const auto changes_at = timeline.at(soon).changes_at;
  if (!changes_at || *changes_at - soon != kRampStep) return changes_at;
  return WallTime{std::chrono::floor<std::chrono::minutes>(at.since_epoch) + kRampStep};
}

model::LinePlan at_base(model::LinePlan line) {
  for (model::LineTerms* terms : {&line.cpu, &line.memory}) {
    terms->hold = std::min(terms->hold, terms->base);
    terms->phase = model::LinePhase::kBase;
  }
  return line;
}

// All queries within one minute of a ramp give the same result: steps are at whole minutes.
model::LinePlan within_its_minute(model::LinePlan line) {
  if (line.changes_at)
    line.changes_at->since_epoch = std::chrono::floor<std::chrono::minutes>(line.changes_at->since_epoch);
  return line;
}

}  // namespace

std::vector<LineFall> falls(const Calendar& calendar, const model::LinePlan& line, const LineOverrides& overrides,
                            WallTime now) {
  std::vector<LineFall> found;
  if (!raised(line)) return found;
  const Calendar bare = without_lead(calendar);
  // Far enough that the next turn of a rule without a break is known before this one ends.
  const Timeline timeline(bare, line.cpu.base, line.memory.base, overrides, now, now + kWindowMax);
  model::LinePlan least = line;
  WallTime at{std::chrono::floor<std::chrono::seconds>(now.since_epoch)};
  std::optional<WallTime> next = next_look(timeline, timeline.at(at), at);
  for (int look = 0; next && raised(least); ++look) {
    at = *next;
    model::LinePlan then = timeline.at(at);
    next = next_look(timeline, then, at);
    if (look == kFallLooksMax) then = at_base(std::move(then));
    if (then.cpu.hold >= least.cpu.hold && then.memory.hold >= least.memory.hold) continue;
    least.cpu.hold = std::min(least.cpu.hold, then.cpu.hold);
    least.memory.hold = std::min(least.memory.hold, then.memory.hold);
    then.changes_at.reset();
    found.push_back({at, std::move(then)});
  }
  return found;
}

const std::vector<LineFall>& FallMemo::at(std::string_view settings, const Calendar& calendar,
                                          const model::LinePlan& line, const LineOverrides& overrides, WallTime now) {
  const model::LinePlan key = within_its_minute(line);
  for (const Known& each : known_) {
    if (each.line == key && each.settings == settings && each.calendar == calendar.name &&
        each.overrides == overrides) {
      return each.falls;
    }
  }
  if (known_.size() >= kLinesMax) known_.clear();
  known_.push_back({std::string(settings), calendar.name, key, overrides, falls(calendar, line, overrides, now)});
  return known_.back().falls;
}

}  // namespace tidemark::policy::waterline
