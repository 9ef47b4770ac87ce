#include "policy/render/priority_text.h"

#include "base/text.h"
#include "model/names.h"
#include "policy/render/intent_text.h"

namespace tidemark::policy {

std::string render_text(const PriorityPlan& plan) {
  std::string out = render_text(plan.intents);
  for (const auto& each : plan.refused) {
    out += base::cat(each.group, "\n  unchanged: annotation ", model::kCpuQosAnnotation, ": ", each.why, "\n");
  }
  return out;
}

Json render_json(const PriorityPlan& plan) {
  Json refused = Json::array();
  for (const auto& each : plan.refused) {
    refused.as_array().push_back(Json::object({{"group", Json(each.group)}, {"error", Json(each.why)}}));
  }
  return Json::object({{"intents", render_json(plan.intents)}, {"refused", std::move(refused)}});
}

std::string render_text(const ClassWeightsPlan& plan) {
  std::string out = render_text(plan.intents);
  for (const auto& each : plan.without_weight) {
    out += base::cat(each, "\n  no CPU shares: it runs idle, and the kernel accepts no weight for such a cgroup\n");
  }
  return out;
}

Json render_json(const ClassWeightsPlan& plan) {
  Json without = Json::array();
  for (const auto& each : plan.without_weight) without.as_array().push_back(Json(each));
  return Json::object({{"intents", render_json(plan.intents)}, {"withoutWeight", std::move(without)}});
}

}  // namespace tidemark::policy
