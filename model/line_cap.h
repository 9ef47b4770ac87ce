// Thresholds of the agent that fall at a moment, whether or not a manager is there to say so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tidemark::model {

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

}  // namespace tidemark::model
