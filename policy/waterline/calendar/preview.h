// The future water line.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::waterline {

inline constexpr base::Duration kPreviewStep = std::chrono::minutes(5);
inline constexpr base::Duration kPreviewLength = std::chrono::hours(24 * 7);

struct PreviewPoint {
  base::WallTime at;
  model::LinePlan plan;
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
  model::LinePlan first;  // at its start
  model::LinePlan last;   // at its last point
};
std::vector<PreviewSpan> spans(const std::vector<PreviewPoint>& points);

}  // namespace tidemark::policy::waterline
