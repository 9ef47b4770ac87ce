#include "operate/override_json.h"

#include <cstdint>
#include <string_view>

#include "policy/explain/override_text.h"

namespace tidemark::operate {
namespace {

Json line_json(const model::LinePlan& line) {
  const auto side = [](const model::LineTerms& terms) {
    return Json::object({{"holdPercent", terms.hold}, {"sellPercent", terms.sell}});
  };
  return Json::object({{"cpu", side(line.cpu)}, {"memory", side(line.memory)}});
}

}  // namespace

Json render_json(const OverrideReport& report) {
  constexpr std::string_view kEffects[] = {"set", "already", "nothing"};
  Json out = Json::object({{"schema", 1},
                           {"scope", Json(report.pool.empty() ? "cluster" : "pool")},
                           {"dryRun", report.dry_run},
                           {"effect", Json(kEffects[static_cast<std::size_t>(report.effect)])}});
  if (!report.pool.empty()) out["pool"] = Json(report.pool);
  out["before"] = report.before ? policy::explain::override_json(*report.before) : Json(nullptr);
  out["override"] = report.after ? policy::explain::override_json(*report.after) : Json(nullptr);
  if (report.nodes) out["nodes"] = Json(static_cast<std::int64_t>(*report.nodes));
  if (report.line) {
    out["line"] = Json::object({{"before", line_json(report.line->before)}, {"after", line_json(report.line->after)}});
  }
  out["notes"] = Json::array();
  for (const auto& note : report.notes) out["notes"].as_array().push_back(Json(note));
  return out;
}

}  // namespace tidemark::operate
