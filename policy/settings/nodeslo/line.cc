#include "policy/settings/nodeslo/line.h"

#include <algorithm>
#include <array>

namespace tidemark::policy::settings {
namespace {

using model::Reason;

constexpr std::int64_t kPercentMax = 100;

struct Line {
  std::string_view threshold;
  std::string_view lower;  // empty: none
  std::int64_t SloShift::* side;
  std::int64_t bound;
};
constexpr std::array<Line, 3> kLines{{
    {"cpuSuppressThresholdPercent", "", &SloShift::cpu, kPercentMax},
    {"cpuEvictThresholdPercent", "cpuEvictLowerPercent", &SloShift::cpu, kPercentMax},
    {"memoryEvictThresholdPercent", "memoryEvictLowerPercent", &SloShift::memory, kMemoryEvictLineMax},
}};

std::int64_t shift_of(const model::LineTerms& terms) {
  const std::int64_t shift =
      std::clamp<std::int64_t>(terms.hold, 0, kPercentMax) - std::clamp<std::int64_t>(terms.base, 0, kPercentMax);
  const bool on_its_way = terms.phase == model::LinePhase::kRampingUp || terms.phase == model::LinePhase::kRampingDown;
  if (!on_its_way) return shift;
  const std::int64_t over = ((shift % kSloRampStep) + kSloRampStep) % kSloRampStep;
  return shift - over;
}

std::optional<std::int64_t> number(const base::JsonObject& strategy, std::string_view field) {
  const Json* value = strategy.find(field);
  if (value == nullptr || !value->is_int()) return std::nullopt;
  return value->as_int();
}

}  // namespace

SloShift slo_shift(const model::LinePlan& line) {
  return {shift_of(line.cpu), shift_of(line.memory)};
}

std::vector<MovedLine> moved_lines(const base::JsonObject& strategy, SloShift shift) {
  std::vector<MovedLine> lines;
  for (const Line& line : kLines) {
    const auto configured = number(strategy, line.threshold);
    if (!configured) continue;
    // Values out of range stay: the API server rejects them.
    const std::int64_t by = shift.*line.side;
    MovedLine moved{line.threshold, *configured, *configured, Reason::kSloLineBase};
    if (by != 0 && *configured >= 0 && *configured <= kPercentMax) {
      const std::int64_t wanted = *configured + by;
      moved.moved = std::clamp(wanted, std::min(*configured, kSloLineMin), std::max(*configured, line.bound));
      moved.reason = moved.moved == wanted ? Reason::kSloLineMoved : Reason::kSloLineAtBound;
    }
    lines.push_back(moved);
    if (line.lower.empty()) continue;
    const auto lower = number(strategy, line.lower);
    if (!lower) continue;
    const std::int64_t went = moved.moved - *configured;
    MovedLine below{line.lower, *lower, went == 0 ? *lower : std::max<std::int64_t>(*lower + went, 0), moved.reason};
    lines.push_back(below);
  }
  return lines;
}

}  // namespace tidemark::policy::settings
