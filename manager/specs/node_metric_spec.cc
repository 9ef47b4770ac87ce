#include "manager/specs/node_metric_spec.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "manager/capacity/decide.h"
#include "manager/leadership.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

std::string object_json(std::string_view node, const policy::sell::CollectPolicy& policy) {
  std::string text;
  base::JsonWriter out(text);
  out.begin_object().member("apiVersion", "slo.koordinator.sh/v1alpha1").member("kind", "NodeMetric");
  out.key("metadata").begin_object().member("name", node).end_object();
  out.key("spec").raw(policy::sell::collect_spec_json(policy));
  out.end_object();
  return text;
}

bool says(const kube::NodeMetric& object, const policy::sell::CollectPolicy& wanted) {
  return object.policy && object.policy->aggregate_duration_s == wanted.aggregate_duration_s &&
         object.policy->report_interval_s == wanted.report_interval_s &&
         object.policy->aggregate_durations == wanted.aggregate_durations &&
         object.policy->memory_collect_policy == std::string_view(wanted.memory_collect_policy);
}

}  // namespace

std::uint64_t content_of(const kube::NodeMetric& metric) {
  base::TextHash hash;
  if (metric.policy) {
    hash.add(base::cat(metric.policy->aggregate_duration_s.value_or(-1), ";",
                       metric.policy->report_interval_s.value_or(-1), ";"));
    for (const auto duration : metric.policy->aggregate_durations) hash.add(base::cat(duration.count(), ";"));
    hash.add(metric.policy->memory_collect_policy.view());
  }
  return std::max<std::uint64_t>(hash.value(), 1);
}

NodeMetricDecision decide_node_metric(const kube::Node* node, const kube::NodeMetric* object,
                                      const policy::sell::ConfigState& config) {
  using Action = NodeObjectPlan::Action;
  NodeMetricDecision decision;
  NodeObjectPlan& plan = decision.plan;
  if (node == nullptr) {
    if (object == nullptr) return decision;
    plan.action = Action::kRemove;
    plan.reason = model::Reason::kObjectOrphan;
    plan.uid = object->meta.uid.view();
    return decision;
  }
  if (!config.config || (object != nullptr && config.error)) {
    plan.reason = model::Reason::kCollectKept;
    return decision;
  }
  decision.collect =
      policy::sell::collect_policy(strategy_of_node(*node, *config.config, model::Profile::kKoordinator));
  const policy::sell::CollectPolicy& wanted = decision.collect->policy;
  if (object != nullptr) {
    plan.content = content_of(*object);
    plan.revision = revision_number(object->meta.resource_version);
  }
  if (object == nullptr) {
    plan.action = Action::kCreate;
    plan.reason = model::Reason::kObjectMissing;
    plan.body = object_json(node->meta.name, wanted);
  } else if (!says(*object, wanted)) {
    plan.action = Action::kPatch;
    plan.reason = model::Reason::kObjectDiffers;
    plan.body = base::cat(R"({"spec":)", policy::sell::collect_spec_json(wanted), "}");
  }
  return decision;
}

}  // namespace tidemark::manager
