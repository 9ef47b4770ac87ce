// The agent's lines at a moment: those of the NodeSLO, and where a raised one has ended by the node's own clock what
// was told beforehand (policy/nodeslo/line_caps.h). A manager that leads writes the same, so whether there is one
// changes nothing but who says it, and how soon (agent/protect/line_ends.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "policy/node_rules/node_rules.h"

namespace tidemark::policy {

// What a manager that leads takes to write to all nodes of a large cluster.
inline constexpr base::Duration kManagerPatience = std::chrono::minutes(30);

struct LoweredLine {
  std::string field;
  std::int64_t said = 0;  // by the NodeSLO
  std::int64_t held = 0;  // lower
  bool operator==(const LoweredLine&) const = default;
};

struct LinesHeld {
  NodeRules rules;                   // as they were said, with the lines that hold
  std::vector<LoweredLine> lowered;  // none: all hold as they are said
  base::WallTime since;              // when the last of the ends passed, where any did
};

// How many ends have passed. Allocates nothing: it is asked each second.
std::size_t ends_passed(const NodeRules& said, base::WallTime now);
LinesHeld lines_held(const NodeRules& said, base::WallTime now);

// "cpuSuppressThresholdPercent 85 % -> 65 %, since …"; "" where all hold as they are said.
std::string to_string(const LinesHeld& held);

}  // namespace tidemark::policy
