// When raised thresholds of the agent expire. The calendar or an override moves them as plain numbers in the strategy
// (line.h), and a manager writes the next ones. If no manager leads, the agent lowers them itself. So it gets them in
// advance, in its NodeSLO under extensions.tidemark (told.h):
//
//    "lines":[{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":65,"memoryEvictThresholdPercent":70}, …]
//
// From `from` on, by the clock of the node, each named threshold is at most that value. A lowered threshold is never
// included: to stay lower is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/line_cap.h"
#include "policy/settings/nodeslo/line.h"
#include "policy/waterline/calendar/falls.h"

namespace tidemark::policy::settings {

// If there were more, the last one lowers everything to the configured values.
inline constexpr std::size_t kLineCapsMax = 16;
inline constexpr std::size_t kCappedLinesMax = 16;  // of one moment; a newer manager may name unknown ones

// `strategy`: as configured; `now`: the current shift. Sorted by time; empty if nothing is raised.
std::vector<model::LineCap> line_caps(const base::JsonObject& strategy, SloShift now,
                                      std::span<const waterline::LineFall> falls);

void write_line_caps(base::JsonWriter& json, const std::vector<model::LineCap>& caps);  // the member `lines`
// `ours`: extensions.Object.tidemark. All or nothing; empty if there are none. kUnsupported: another schema.
Result<std::vector<model::LineCap>> read_line_caps(const Json& ours);

}  // namespace tidemark::policy::settings
