#include "policy/calendar/preview.h"

#include <algorithm>

namespace tidemark::policy {
namespace {

using model::Reason;

constexpr std::size_t kHours = 24 * 7;

std::size_t hour_of_week(const TimeZone& zone, base::WallTime at) {
  const auto utc_s = std::chrono::floor<std::chrono::seconds>(at.since_epoch).count();
  constexpr std::int64_t kWeek_s = 7 * 86'400;
  constexpr std::int64_t kThursday_s = 4 * 86'400;  // 1970-01-01 was a Thursday
  const std::int64_t of_week = ((zone.local(utc_s) + kThursday_s) % kWeek_s + kWeek_s) % kWeek_s;
  return static_cast<std::size_t>(of_week / 3600) % kHours;
}

bool on_its_way(const LineTerms& terms) {
  return terms.phase == LinePhase::kRampingUp || terms.phase == LinePhase::kRampingDown ||
         terms.phase == LinePhase::kFrozen || terms.reason == Reason::kLineDraining;
}

// Same reason as before: the line is constant at the same value.
bool goes_on(const LineTerms& before, const LineTerms& now) {
  if (before.phase != now.phase || before.entry != now.entry || before.reason != now.reason) return false;
  return (before.hold == now.hold && before.sell == now.sell) || on_its_way(now);
}

// The upper of the two middle hours; nullopt if less than a day is known.
std::optional<std::int64_t> median(const WeekForecast& forecast) {
  std::vector<std::int64_t> known;
  for (const auto& hour : forecast) {
    if (hour) known.push_back(*hour);
  }
  if (known.size() < 24) return std::nullopt;
  std::nth_element(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2), known.end());
  return known[known.size() / 2];
}

void disagreements_of(LineOf which, const std::vector<PreviewPoint>& points, const Calendar& calendar,
                      const WeekForecast& forecast, std::vector<Disagreement>& found) {
  const auto usual = median(forecast);
  for (const auto& point : points) {
    const LineTerms& line = which == LineOf::kCpu ? point.plan.cpu : point.plan.memory;
    const auto& expected = forecast[hour_of_week(calendar.zone, point.at)];
    if (!line.entry || !expected || line.hold <= line.base) continue;
    std::optional<Reason> reason;
    if (*expected >= line.hold * 10) {
      reason = Reason::kForecastAboveLine;
    } else if (usual && *expected > *usual) {
      reason = Reason::kForecastBusyHour;
    }
    if (!reason) continue;
    const base::WallTime end = point.at + kPreviewStep;
    if (!found.empty() && found.back().line == which && found.back().to == point.at &&
        found.back().entry == *line.entry && found.back().reason == *reason) {
      auto& last = found.back();
      last.to = end;
      last.line_percent = std::max(last.line_percent, line.hold);
      last.forecast_permille = std::max(last.forecast_permille, *expected);
    } else {
      found.push_back({which, point.at, end, *line.entry, line.hold, *expected, *reason});
    }
  }
}

}  // namespace

std::vector<PreviewPoint> preview(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                  const LineOverrides& overrides, base::WallTime from, base::Duration length) {
  const Timeline timeline(calendar, base_cpu, base_memory, overrides, from, from + length);
  std::vector<PreviewPoint> points;
  for (base::Duration after{0}; after < length; after += kPreviewStep) {
    points.push_back({from + after, timeline.at(from + after)});
  }
  return points;
}

std::vector<PreviewSpan> spans(const std::vector<PreviewPoint>& points) {
  std::vector<PreviewSpan> found;
  for (const auto& point : points) {
    const base::WallTime end = point.at + kPreviewStep;
    if (!found.empty() && goes_on(found.back().last.cpu, point.plan.cpu) &&
        goes_on(found.back().last.memory, point.plan.memory)) {
      found.back().to = end;
      found.back().last = point.plan;
    } else {
      found.push_back({point.at, end, point.plan, point.plan});
    }
  }
  return found;
}

std::string_view to_string(LineOf line) {
  return line == LineOf::kCpu ? "cpu" : "memory";
}

std::vector<Disagreement> disagreements(const std::vector<PreviewPoint>& points, const Calendar& calendar,
                                        const PoolForecast& forecast) {
  std::vector<Disagreement> found;
  disagreements_of(LineOf::kCpu, points, calendar, forecast.cpu, found);
  disagreements_of(LineOf::kMemory, points, calendar, forecast.memory, found);
  return found;
}

}  // namespace tidemark::policy
