// The water line of a node at a moment: what all work together may use, in percent of the capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/reason.h"

namespace tidemark::model {

enum class LinePhase : std::uint8_t { kBase, kRampingUp, kOpen, kRampingDown, kFrozen, kOverridden };

struct LineTerms {
  std::int64_t base = 0;
  std::int64_t hold = 0;
  std::int64_t sell = 0;
  LinePhase phase = LinePhase::kBase;
  // the strongest in force, an index in the entries of the calendar; unset at base and override
  std::optional<std::size_t> entry;
  Reason reason = Reason::kLineBase;
  bool operator==(const LineTerms&) const = default;
};

struct LinePlan {
  LineTerms cpu;
  LineTerms memory;
  std::optional<base::WallTime> changes_at;  // time alone changes the answer then, or a bit later
  bool operator==(const LinePlan&) const = default;
};

}  // namespace tidemark::model
