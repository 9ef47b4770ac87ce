#include "policy/waterline/calendar/preview.h"

namespace tidemark::policy::waterline {
namespace {

using model::Reason;

bool on_its_way(const model::LineTerms& terms) {
  return terms.phase == model::LinePhase::kRampingUp || terms.phase == model::LinePhase::kRampingDown ||
         terms.phase == model::LinePhase::kFrozen || terms.reason == Reason::kLineDraining;
}

// Same reason as before: the line is constant at the same value.
bool goes_on(const model::LineTerms& before, const model::LineTerms& now) {
  if (before.phase != now.phase || before.entry != now.entry || before.reason != now.reason) return false;
  return (before.hold == now.hold && before.sell == now.sell) || on_its_way(now);
}

}  // namespace

std::vector<PreviewPoint> preview(const Calendar& calendar, std::int64_t base_cpu, std::int64_t base_memory,
                                  const LineOverrides& overrides, base::WallTime from, base::Duration length) {
  const Timeline timeline(calendar, base_cpu, base_memory, overrides, from, from + length);
  std::vector<PreviewPoint> points;
  for (base::Duration after{0}; after < length; after += kPreviewStep) {
    points.push_back({from + after, timeline.at(from + after)});
  }
  return points;
}

std::vector<PreviewSpan> spans(const std::vector<PreviewPoint>& points) {
  std::vector<PreviewSpan> found;
  for (const auto& point : points) {
    const base::WallTime end = point.at + kPreviewStep;
    if (!found.empty() && goes_on(found.back().last.cpu, point.plan.cpu) &&
        goes_on(found.back().last.memory, point.plan.memory)) {
      found.back().to = end;
      found.back().last = point.plan;
    } else {
      found.push_back({point.at, end, point.plan, point.plan});
    }
  }
  return found;
}

}  // namespace tidemark::policy::waterline
