#include "policy/settings/nodeslo/lines_held.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

template <auto Member>
std::int64_t* always(protect::ThresholdRules& rules) {
  return &(rules.*Member);
}

template <auto Member>
std::int64_t* if_said(protect::ThresholdRules& rules) {
  return rules.*Member ? &*(rules.*Member) : nullptr;
}

// The thresholds that a calendar moves (policy/settings/nodeslo/line.h). An unknown name comes from a newer manager.
struct HeldLine {
  std::string_view field;
  std::int64_t* (*of)(protect::ThresholdRules& rules);  // null if unset
};
constexpr std::array<HeldLine, 5> kHeldLines{{
    {"cpuSuppressThresholdPercent", always<&protect::ThresholdRules::cpu_suppress_percent>},
    {"cpuEvictThresholdPercent", if_said<&protect::ThresholdRules::cpu_evict_percent>},
    {"cpuEvictLowerPercent", if_said<&protect::ThresholdRules::cpu_evict_lower_percent>},
    {"memoryEvictThresholdPercent", always<&protect::ThresholdRules::memory_evict_percent>},
    {"memoryEvictLowerPercent", if_said<&protect::ThresholdRules::memory_evict_lower_percent>},
}};

// The lowest value that the passed ends set for the threshold; nullopt: none names it.
std::optional<std::int64_t> least(const protect::NodeRules& said, std::string_view field, base::WallTime now) {
  std::optional<std::int64_t> found;
  for (const model::LineCap& cap : said.line_caps) {
    if (now < cap.from) continue;
    for (const model::CappedLine& line : cap.lines) {
      if (line.field == field) found = std::min(found.value_or(line.percent), line.percent);
    }
  }
  return found;
}

}  // namespace

std::size_t ends_passed(const protect::NodeRules& said, base::WallTime now) {
  return static_cast<std::size_t>(
      std::ranges::count_if(said.line_caps, [&](const model::LineCap& cap) { return now >= cap.from; }));
}

LinesHeld lines_held(const protect::NodeRules& said, base::WallTime now) {
  LinesHeld out{said, {}, {}};
  for (const HeldLine& line : kHeldLines) {
    std::int64_t* percent = line.of(out.rules.threshold);
    const auto cap = least(said, line.field, now);
    if (percent == nullptr || !cap || *cap >= *percent) continue;
    out.lowered.push_back({std::string(line.field), *percent, *cap});
    *percent = *cap;
  }
  for (const model::LineCap& cap : said.line_caps) {
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

}  // namespace tidemark::policy::settings
