#include "policy/sell/nodemetric.h"

#include <utility>

#include "base/json.h"

namespace tidemark::policy::sell {
namespace {

CollectPolicy of(const model::ColocationStrategy& strategy) {
  return {strategy.metric_aggregate_duration_s, strategy.metric_report_interval_s, strategy.metric_aggregate_durations,
          strategy.metric_memory_collect_policy};
}

}  // namespace

CollectPlan collect_policy(const NodeStrategy& strategy) {
  using model::Reason;
  // Koordinator's order: it checks the ranges first.
  if (auto good = check_strategy(strategy.values); !good) {
    return {of({}), Reason::kCollectInvalid, std::move(good).error().message};
  }
  if (!strategy.values.enable) return {of({}), Reason::kCollectDisabled, ""};
  return {of(strategy.values), Reason::kCollectFromStrategy, ""};
}

std::string collect_spec_json(const CollectPolicy& policy) {
  std::string text;
  base::JsonWriter out(text);
  out.begin_object().key("metricCollectPolicy").begin_object();
  out.member("aggregateDurationSeconds", policy.aggregate_duration_s);
  out.member("reportIntervalSeconds", policy.report_interval_s);
  out.key("nodeAggregatePolicy").begin_object().key("durations").begin_array();
  for (const auto duration : policy.aggregate_durations) {
    out.value(std::string_view(base::format_go_duration(duration)));
  }
  out.end_array().end_object();
  out.member("nodeMemoryCollectPolicy", std::string_view(policy.memory_collect_policy));
  out.end_object().end_object();
  return text;
}

}  // namespace tidemark::policy::sell
