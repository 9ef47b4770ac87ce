// The future water line, and where it disagrees with the expected use of online work.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "policy/calendar/calendar.h"

namespace tidemark::policy {

inline constexpr base::Duration kPreviewStep = std::chrono::minutes(5);
inline constexpr base::Duration kPreviewLength = std::chrono::hours(24 * 7);

struct PreviewPoint {
  base::WallTime at;
  LinePlan plan;
};

// Every kPreviewStep from `from` on; for a week by default.
std::vector<PreviewPoint> preview(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                  const LineOverrides& overrides, base::WallTime from,
                                  base::Duration length = kPreviewLength);

// A time in which the line is constant, or moves one way for one reason: a ramp, or what may be sold before the line
// falls.
struct PreviewSpan {
  base::WallTime from;
  base::WallTime to;
  LinePlan first;  // at its start
  LinePlan last;   // at its last point
};
std::vector<PreviewSpan> spans(const std::vector<PreviewPoint>& points);

// Expected use of one resource by online work of the pool, in permille of capacity, for each hour of the local week (0
// is Sunday 00:00–01:00). nullopt: unknown.
using WeekForecast = std::array<std::optional<std::int64_t>, 24 * 7>;
struct PoolForecast {
  WeekForecast cpu{};
  WeekForecast memory{};
};

enum class LineOf : std::uint8_t { kCpu, kMemory };
std::string_view to_string(LineOf line);

struct Disagreement {
  LineOf line = LineOf::kCpu;
  base::WallTime from;
  base::WallTime to;
  std::size_t entry = 0;
  std::int64_t line_percent = 0;       // the largest in that time
  std::int64_t forecast_permille = 0;  // likewise
  // kForecastAboveLine: online work alone is expected to reach the line.
  // kForecastBusyHour: the window raises the line in an hour that is busier than most of the week.
  model::Reason reason = model::Reason::kForecastAboveLine;
  bool operator==(const Disagreement&) const = default;
};

// CPU first.
std::vector<Disagreement> disagreements(const std::vector<PreviewPoint>& points, const Calendar& calendar,
                                        const PoolForecast& forecast);

}  // namespace tidemark::policy
