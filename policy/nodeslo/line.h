// How the agent's lines follow the calendar. The agent throttles and evicts batch by lines of its own; where the
// calendar moves the water line and they stand still, it would take back at night what was sold, or protect too late in
// a freeze.
//
//   shift = hold − base                 in points of percent, for CPU and memory each (policy/calendar)
//   line' = line + shift                within [kSloLineMin, bound]
//
//   cpuSuppressThresholdPercent, cpuEvictThresholdPercent              by CPU; bound 100
//   memoryEvictThresholdPercent                                        by memory; bound kMemoryEvictLineMax
//   …LowerPercent of both evictions                                    by as much as their threshold moved, at least 0
//
// A line that is configured above its bound stays; one that is not configured is not made up. While a ramp is under way
// the shift goes in steps of kSloRampStep points, the lower one each, so that a ramp costs a node a few writes. Without
// a calendar nothing is touched.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/reason.h"
#include "policy/calendar/calendar.h"

namespace tidemark::policy {

inline constexpr std::int64_t kSloLineMin = 1;
// Above it memory would be gone before anything is evicted.
inline constexpr std::int64_t kMemoryEvictLineMax = 95;
inline constexpr std::int64_t kSloRampStep = 5;

struct SloShift {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool operator==(const SloShift&) const = default;
};
SloShift slo_shift(const LinePlan& line);

struct MovedLine {
  std::string_view field;
  std::int64_t configured = 0;
  std::int64_t moved = 0;
  model::Reason reason = model::Reason::kSloLineBase;
  bool operator==(const MovedLine&) const = default;
};
// What becomes of each line that the strategy of `resource-threshold-config` sets, in the order above.
std::vector<MovedLine> moved_lines(const base::JsonObject& strategy, SloShift shift);

}  // namespace tidemark::policy
