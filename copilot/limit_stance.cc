#include "copilot/limit_stance.h"

#include <algorithm>
#include <array>

namespace tidemark::copilot {
namespace {

constexpr std::array kAll = {LimitStance::kKeep, LimitStance::kEnforce, LimitStance::kObserve, LimitStance::kOff};

}  // namespace

std::string_view to_string(LimitStance stance) {
  switch (stance) {
    case LimitStance::kKeep:
      return "keep";
    case LimitStance::kEnforce:
      return "enforce";
    case LimitStance::kObserve:
      return "observe";
    case LimitStance::kOff:
      return "off";
  }
  return "unknown";
}

std::optional<LimitStance> parse_limit_stance(std::string_view text) {
  const auto* found = std::ranges::find(kAll, text, to_string);
  return found == kAll.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tidemark::copilot
