#include "operate/plan_json.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::operate {
namespace {

Json offered_json(const Offered& offered) {
  return Json::object({{"batchCpuMilli", offered.batch_cpu},
                       {"batchMemoryBytes", offered.batch_memory},
                       {"midCpuMilli", offered.mid_cpu},
                       {"midMemoryBytes", offered.mid_memory}});
}

Json planned_node_json(const Offered& offered) {
  Json out = offered_json(offered);
  out["pool"] = Json(offered.pool);
  out["reason"] = Json(model::reason_id(offered.reason));
  out["off"] = Json(offered.off);
  return out;
}

Json sum_json(const PlanSum& sum) {
  return Json::object({{"nodes", sum.nodes},
                       {"changed", sum.changed},
                       {"nodeSlosChanged", sum.slo_changed},
                       {"off", sum.off},
                       {"before", offered_json(sum.before)},
                       {"after", offered_json(sum.after)},
                       {"end", offered_json(sum.end)}});
}

Json plan_texts(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const auto& text : list) out.as_array().push_back(Json(text));
  return out;
}

}  // namespace

Json problems_json(const SettingsPlan& plan) {
  Json errors = Json::array();
  for (const auto& problem : plan.problems) errors.as_array().push_back(Json(problem.text));
  return Json::object({{"schema", 1}, {"errors", std::move(errors)}});
}

Json plan_json(const SettingsPlan& plan, std::size_t shown_max) {
  const auto sums = sums_of(plan.nodes);
  const auto changed = changes_by_size(plan.nodes);
  Json out = Json::object(
      {{"schema", 1}, {"all", sum_json(sums.at(""))}, {"pools", Json::object()}, {"nodes", Json::array()}});
  for (const auto& [pool, sum] : sums) {
    if (!pool.empty()) out["pools"][pool] = sum_json(sum);
  }
  for (std::size_t i = 0; i < std::min(shown_max, changed.size()); ++i) {
    out["nodes"].as_array().push_back(Json::object({{"node", Json(changed[i].node)},
                                                    {"before", planned_node_json(changed[i].before)},
                                                    {"after", planned_node_json(changed[i].after)},
                                                    {"end", planned_node_json(changed[i].end)},
                                                    {"nodeSlo", plan_texts(changed[i].slo_parts)}}));
  }
  out["left_off"] = static_cast<std::int64_t>(changed.size() - std::min(shown_max, changed.size()));
  out["warnings"] = plan_texts(plan.warnings);
  out["notes"] = plan_texts(plan.notes);
  return out;
}

}  // namespace tidemark::operate
