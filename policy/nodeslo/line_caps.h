// Until when raised lines of the agent hold. The calendar, or an override, moves them as plain numbers in the strategy
// (line.h), and a manager writes the next ones; where none leads any more the agent comes down by itself. So it is told
// beforehand, in its NodeSLO under extensions.tidemark (told.h):
//
//   "lines":[{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":65,"memoryEvictThresholdPercent":70}, …]
//
// From `from` on, by the clock of the node, each line that is named is at most what is said there. A line that was
// lowered is in none of them: to stay lower is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "policy/calendar/falls.h"
#include "policy/nodeslo/line.h"

namespace tidemark::policy {

// The last one goes all the way down to what is configured where there would be more.
inline constexpr std::size_t kLineCapsMax = 16;
inline constexpr std::size_t kCappedLinesMax = 16;  // of one moment; a newer manager may name lines not known here

struct CappedLine {
  std::string field;  // of resourceUsedThresholdWithBE
  std::int64_t percent = 0;
  bool operator==(const CappedLine&) const = default;
};
struct LineCap {
  base::WallTime from;
  std::vector<CappedLine> lines;
  bool operator==(const LineCap&) const = default;
};

// `strategy`: as it is configured; `now`: by how much its lines are moved now. In order of time; none where nothing is
// raised.
std::vector<LineCap> line_caps(const base::JsonObject& strategy, SloShift now, std::span<const LineFall> falls);

void write_line_caps(base::JsonWriter& json, const std::vector<LineCap>& caps);  // the member `lines`
// `ours`: extensions.Object.tidemark. Whole or not at all; none where nothing is said. kUnsupported: of another schema.
Result<std::vector<LineCap>> read_line_caps(const Json& ours);

}  // namespace tidemark::policy
