// How the agent's thresholds follow the calendar. The agent suppresses and evicts batch by its own thresholds. If they
// did not move with the water line, the agent would reclaim at night what was sold, or protect too late in a freeze.
//
//    shift = hold − base                 in points of percent, for CPU and memory each (policy/waterline/calendar)
//    line' = line + shift                within [kSloLineMin, bound]
//
//    cpuSuppressThresholdPercent, cpuEvictThresholdPercent              by CPU; bound 100
//    memoryEvictThresholdPercent                                        by memory; bound kMemoryEvictLineMax
//    …LowerPercent of both evictions                                    by as much as their threshold moved, at least 0
//
// A threshold that is configured above its bound stays; one that is not configured is not created. During a ramp the
// shift moves in steps of kSloRampStep points, rounded down, so that a ramp costs a node a few writes. Without a
// calendar nothing changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/reason.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::settings {

inline constexpr std::int64_t kSloLineMin = 1;
// Above it memory would run out before the first eviction.
inline constexpr std::int64_t kMemoryEvictLineMax = 95;
inline constexpr std::int64_t kSloRampStep = 5;

struct SloShift {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool operator==(const SloShift&) const = default;
};
SloShift slo_shift(const model::LinePlan& line);

struct MovedLine {
  std::string_view field;
  std::int64_t configured = 0;
  std::int64_t moved = 0;
  model::Reason reason = model::Reason::kSloLineBase;
  bool operator==(const MovedLine&) const = default;
};
// The movement of each threshold that the strategy of `resource-threshold-config` sets, in the order above.
std::vector<MovedLine> moved_lines(const base::JsonObject& strategy, SloShift shift);

}  // namespace tidemark::policy::settings
