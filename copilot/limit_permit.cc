#include "copilot/limit_permit.h"

#include <algorithm>
#include <array>

namespace tidemark::copilot {
namespace {

constexpr std::array kAll = {LimitPermit::kKeep, LimitPermit::kEnforce, LimitPermit::kRestore, LimitPermit::kOff};

}  // namespace

std::string_view to_string(LimitPermit permit) {
  switch (permit) {
    case LimitPermit::kKeep:
      return "keep";
    case LimitPermit::kEnforce:
      return "enforce";
    case LimitPermit::kRestore:
      return "restore";
    case LimitPermit::kOff:
      return "off";
  }
  return "unknown";
}

std::optional<LimitPermit> parse_limit_permit(std::string_view text) {
  const auto* found = std::ranges::find(kAll, text, to_string);
  return found == kAll.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tidemark::copilot
