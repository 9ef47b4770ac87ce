#include "policy/node_rules/lines_held.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace tidemark::policy {
namespace {

template <auto Member>
std::int64_t* always(ThresholdRules& rules) {
  return &(rules.*Member);
}

template <auto Member>
std::int64_t* if_said(ThresholdRules& rules) {
  return rules.*Member ? &*(rules.*Member) : nullptr;
}

// The thresholds that a calendar moves (policy/nodeslo/line.h). An unknown name comes from a newer manager.
struct Line {
  std::string_view field;
  std::int64_t* (*of)(ThresholdRules& rules);  // null if unset
};
constexpr std::array<Line, 5> kLines{{
    {"cpuSuppressThresholdPercent", always<&ThresholdRules::cpu_suppress_percent>},
    {"cpuEvictThresholdPercent", if_said<&ThresholdRules::cpu_evict_percent>},
    {"cpuEvictLowerPercent", if_said<&ThresholdRules::cpu_evict_lower_percent>},
    {"memoryEvictThresholdPercent", always<&ThresholdRules::memory_evict_percent>},
    {"memoryEvictLowerPercent", if_said<&ThresholdRules::memory_evict_lower_percent>},
}};

// The lowest value that the passed ends set for the threshold; nullopt: none names it.
std::optional<std::int64_t> least(const NodeRules& said, std::string_view field, base::WallTime now) {
  std::optional<std::int64_t> found;
  for (const LineCap& cap : said.line_caps) {
    if (now < cap.from) continue;
    for (const CappedLine& line : cap.lines) {
      if (line.field == field) found = std::min(found.value_or(line.percent), line.percent);
    }
  }
  return found;
}

}  // namespace

std::size_t ends_passed(const NodeRules& said, base::WallTime now) {
  return static_cast<std::size_t>(
      std::ranges::count_if(said.line_caps, [&](const LineCap& cap) { return now >= cap.from; }));
}

LinesHeld lines_held(const NodeRules& said, base::WallTime now) {
  LinesHeld out{said, {}, {}};
  for (const Line& line : kLines) {
    std::int64_t* percent = line.of(out.rules.threshold);
    const auto cap = least(said, line.field, now);
    if (percent == nullptr || !cap || *cap >= *percent) continue;
    out.lowered.push_back({std::string(line.field), *percent, *cap});
    *percent = *cap;
  }
  for (const LineCap& cap : said.line_caps) {
    if (now >= cap.from) out.since = std::max(out.since, cap.from);
  }
  return out;
}

std::string to_string(const LinesHeld& held) {
  if (held.lowered.empty()) return "";
  std::string out;
  for (const LoweredLine& each : held.lowered) {
    out += base::cat(each.field, " ", each.said, " % -> ", each.held, " %, ");
  }
  return base::cat(out, "since ", base::format_rfc3339(held.since));
}

}  // namespace tidemark::policy
