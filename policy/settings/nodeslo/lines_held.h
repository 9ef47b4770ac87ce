// The agent's thresholds at a moment: those of the NodeSLO, lowered if a raised one has expired by the node's own clock
// (policy/settings/nodeslo/line_caps.h). A leading manager writes the same values, so its absence changes only
// which program lowers them, and how soon (agent/protect/line_ends.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "policy/protect/node_rules.h"

namespace tidemark::policy::settings {

// How long a leading manager takes to write to all nodes of a large cluster.
inline constexpr base::Duration kManagerPatience = std::chrono::minutes(30);

struct LoweredLine {
  std::string field;
  std::int64_t said = 0;  // by the NodeSLO
  std::int64_t held = 0;  // lower
  bool operator==(const LoweredLine&) const = default;
};

struct LinesHeld {
  protect::NodeRules rules;          // the rules received, with the thresholds in force
  std::vector<LoweredLine> lowered;  // empty: all are in force as received
  base::WallTime since;              // the time of the last passed end, if any
};

// The number of passed ends. Allocates nothing, because it runs every second.
std::size_t ends_passed(const protect::NodeRules& said, base::WallTime now);
LinesHeld lines_held(const protect::NodeRules& said, base::WallTime now);

// "cpuSuppressThresholdPercent 85 % -> 65 %, since …"; "" if all are in force as received.
std::string to_string(const LinesHeld& held);

}  // namespace tidemark::policy::settings
