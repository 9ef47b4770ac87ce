#include "policy/sell/overcommit/strategy_origin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "model/names.h"
#include "policy/sell/overcommit/config_json.h"

namespace tidemark::policy::sell {
namespace {

using model::ColocationStrategy;
using model::Reason;

std::string_view word(model::CalculatePolicy policy) {
  if (policy == model::CalculatePolicy::kRequest) return "request";
  return policy == model::CalculatePolicy::kMaxUsageRequest ? "maxUsageRequest" : "usage";
}

Json durations(const ColocationStrategy& strategy) {
  Json list = Json::array();
  for (const auto each : strategy.metric_aggregate_durations)
    list.as_array().emplace_back(base::format_go_duration(each));
  return list;
}

Json percent(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// In the order of contract 4.2; unset values (null) are not shown.
struct Row {
  std::string_view name;
  Json (*value)(const ColocationStrategy&);
  std::string_view label;  // that overrides it
};
constexpr std::array kRows{
    Row{"enable", [](const ColocationStrategy& s) { return Json(s.enable); }, ""},
    Row{"metricAggregateDurationSeconds",
        [](const ColocationStrategy& s) { return Json(s.metric_aggregate_duration_s); }, ""},
    Row{"metricReportIntervalSeconds", [](const ColocationStrategy& s) { return Json(s.metric_report_interval_s); },
        ""},
    Row{"metricAggregatePolicy", [](const ColocationStrategy& s) { return durations(s); }, ""},
    Row{"metricMemoryCollectPolicy", [](const ColocationStrategy& s) { return Json(s.metric_memory_collect_policy); },
        ""},
    Row{"cpuReclaimThresholdPercent", [](const ColocationStrategy& s) { return Json(s.cpu_reclaim_threshold_percent); },
        model::kCpuReclaimRatioLabel},
    Row{"cpuCalculatePolicy", [](const ColocationStrategy& s) { return Json(word(s.cpu_calculate_policy)); }, ""},
    Row{"memoryReclaimThresholdPercent",
        [](const ColocationStrategy& s) { return Json(s.memory_reclaim_threshold_percent); },
        model::kMemoryReclaimRatioLabel},
    Row{"memoryCalculatePolicy", [](const ColocationStrategy& s) { return Json(word(s.memory_calculate_policy)); }, ""},
    Row{"degradeTimeMinutes", [](const ColocationStrategy& s) { return Json(s.degrade_time_minutes); }, ""},
    Row{"updateTimeThresholdSeconds", [](const ColocationStrategy& s) { return Json(s.update_time_threshold_s); }, ""},
    Row{"resourceDiffThreshold", [](const ColocationStrategy& s) { return Json(s.resource_diff_threshold); }, ""},
    Row{"midReclaimMode",
        [](const ColocationStrategy& s) {
          return Json(s.mid_reclaim_mode == model::MidReclaimMode::kStatic ? "static" : "dynamic");
        },
        ""},
    Row{"midCPUThresholdPercent", [](const ColocationStrategy& s) { return Json(s.mid_cpu_threshold_percent); }, ""},
    Row{"midMemoryThresholdPercent", [](const ColocationStrategy& s) { return Json(s.mid_memory_threshold_percent); },
        ""},
    Row{"midUnallocatedPercent", [](const ColocationStrategy& s) { return Json(s.mid_unallocated_percent); }, ""},
    Row{"midStaticCPUReservedPercent",
        [](const ColocationStrategy& s) { return Json(s.mid_static_cpu_reserved_percent); },
        model::kMidStaticCpuRatioLabel},
    Row{"midStaticMemoryReservedPercent",
        [](const ColocationStrategy& s) { return Json(s.mid_static_memory_reserved_percent); },
        model::kMidStaticMemoryRatioLabel},
    Row{"batchCPUThresholdPercent", [](const ColocationStrategy& s) { return percent(s.batch_cpu_threshold_percent); },
        ""},
    Row{"batchMemoryThresholdPercent",
        [](const ColocationStrategy& s) { return percent(s.batch_memory_threshold_percent); }, ""},
};

// Whether a document overrides the field: null and an empty list of durations do not.
bool gives(const Json& document, std::string_view name) {
  if (!document.is_object()) return false;
  return std::ranges::any_of(document.as_object(), [&](const auto& member) {
    if (!same_name(member.first, name) || member.second.is_null()) return false;
    if (name != "metricAggregatePolicy" || !member.second.is_object()) return true;
    return std::ranges::any_of(member.second.as_object(), [](const auto& inner) {
      return same_name(inner.first, "durations") && inner.second.is_array() && !inner.second.as_array().empty();
    });
  });
}

Json entry_document(const Json& document, std::size_t wanted) {
  Json found;
  std::size_t index = 0;
  const auto walked = each_node_config(
      document, [&] { index = 0; },
      [&](const Json& entry) -> Result<void> {
        if (index++ == wanted) found = entry;
        return {};
      });
  return walked ? found : Json();
}

bool ignored(const NodeStrategy& node, Reason reason) {
  return std::ranges::find(node.ignored, reason) != node.ignored.end();
}

}  // namespace

model::PartInForce colocation_in_force(const model::ConfigSource& source, std::span<const model::Label> labels,
                                       std::optional<std::string_view> annotation) {
  model::PartInForce part;
  part.key = model::kColocationConfigKey;
  part.list = "nodeConfigs";
  const ConfigStep step = next_config({}, source);
  part.reason = step.reason;
  part.problem = step.problem;
  if (!step.state.config) return part;

  const NodeStrategy node = strategy_for(*step.state.config, labels, annotation);
  part.entry = node.entry;
  part.notes = node.ignored;
  // Valid values were read above: these only find the layer of a field.
  const Json cluster = source.text ? Json::parse(*source.text).value_or(Json()) : Json();
  Json entry;
  if (node.entry) {
    const NodeEntry& chosen = step.state.config->nodes[*node.entry];
    part.entry_name = chosen.name;
    if (chosen.reason == Reason::kConfigApplied) {
      entry = entry_document(cluster, *node.entry);
    } else {
      part.notes.push_back(chosen.reason);
    }
  }
  Json own;
  if (annotation && !ignored(node, Reason::kConfigNodeAnnotationUnreadable)) {
    own = Json::parse(*annotation).value_or(Json());
  }

  for (const Row& row : kRows) {
    const Json value = row.value(node.values);
    if (value.is_null()) continue;
    model::FieldInForce field{std::string(row.name), value.dump(), model::FieldOrigin::kDefault, ""};
    const auto label = std::ranges::find(labels, row.label, &model::Label::key);
    if (label != labels.end() && percent_of_ratio(label->value)) {
      field.origin = model::FieldOrigin::kLabel;
      field.from = row.label;
    } else if (gives(own, row.name)) {
      field.origin = model::FieldOrigin::kAnnotation;
      field.from = model::kColocationStrategyAnnotation;
    } else if (gives(entry, row.name)) {
      field.origin = model::FieldOrigin::kEntry;
    } else if (gives(cluster, row.name)) {
      field.origin = model::FieldOrigin::kCluster;
    }
    part.fields.push_back(std::move(field));
  }
  return part;
}

}  // namespace tidemark::policy::sell
