// How the line will come down from above its base, for agents that must work without a manager.
//
//   a fall = a moment at which the line is lower, on some side, than at any moment since now
//
// Falls are listed until the line is at its base or below, on both sides. It may fall further, but an agent that misses
// that neither sells too much nor protects too late because of a raised line. On a ramp the line is sampled each whole
// minute, so that the falls do not depend on the moment of the query.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::waterline {

struct LineFall {
  base::WallTime at;
  model::LinePlan line;  // at that moment
  bool operator==(const LineFall&) const = default;
};

// Number of moments that are checked (two days of ramps); a line that is still raised then counts as at its base.
inline constexpr int kFallLooksMax = 3'000;

// `line`: the line at `now`, by the same calendar and overrides.
std::vector<LineFall> falls(const Calendar& calendar, const model::LinePlan& line, const LineOverrides& overrides,
                            base::WallTime now);

// Caches falls: the nodes of a pool ask for the same ones, which stay the same as long as the line does, on a ramp for
// a minute.
class FallMemo {
 public:
  // `settings` identifies the calendar: the hash of the settings texts.
  const std::vector<LineFall>& at(std::string_view settings, const Calendar& calendar, const model::LinePlan& line,
                                  const LineOverrides& overrides, base::WallTime now);

 private:
  static constexpr std::size_t kLinesMax = 64;
  struct Known {
    std::string settings;
    std::string calendar;
    model::LinePlan line;
    LineOverrides overrides;
    std::vector<LineFall> falls;
  };
  std::vector<Known> known_;
};

}  // namespace tidemark::policy::waterline
