// How the line will come down from above its base: what whoever goes by it must know in order to do without a manager.
//
//   a fall = a moment at which the line is lower, on some side, than at any moment since now
//
// Falls are told until the line is at its base or below, on both sides: further down it may go, but nobody who does not
// hear of it sells too much or protects too late by a line that somebody raised. On a ramp the line is looked at each
// whole minute, so that the same falls are found whenever one looks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/calendar/calendar.h"

namespace tidemark::policy {

struct LineFall {
  base::WallTime at;
  LinePlan line;  // then
  bool operator==(const LineFall&) const = default;
};

// So many moments are looked at; a line that is still raised then counts as being at its base from there on.
inline constexpr int kFallLooksMax = 3'000;  // two days of ramps

// `line`: where the line is at `now`, by the same calendar and overrides.
std::vector<LineFall> falls(const Calendar& calendar, const LinePlan& line, const LineOverrides& overrides,
                            base::WallTime now);

// Nodes of a pool ask for the same falls, and these stay the same as long as the line does; on a ramp for a minute.
class FallMemo {
 public:
  // `settings` names what the calendar is of: the hash of their texts.
  const std::vector<LineFall>& at(std::string_view settings, const Calendar& calendar, const LinePlan& line,
                                  const LineOverrides& overrides, base::WallTime now);

 private:
  static constexpr std::size_t kLinesMax = 64;
  struct Known {
    std::string settings;
    std::string calendar;
    LinePlan line;
    LineOverrides overrides;
    std::vector<LineFall> falls;
  };
  std::vector<Known> known_;
};

}  // namespace tidemark::policy
