#include "policy/sell/overcommit/strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/sell/overcommit/config_json.h"

namespace tidemark::policy::sell {
namespace {

using model::CalculatePolicy;
using model::ColocationStrategy;
using model::Reason;

// A percentage or a time with the range that the controller accepts.
struct IntegerField {
  std::string_view name;
  std::int64_t ColocationStrategy::* member;
  std::int64_t lowest;
  std::int64_t highest;
};
constexpr std::int64_t kNoUpperBound = std::numeric_limits<std::int64_t>::max();
constexpr std::array<IntegerField, 11> kIntegers{{
    {"metricAggregateDurationSeconds", &ColocationStrategy::metric_aggregate_duration_s, 1, kNoUpperBound},
    {"metricReportIntervalSeconds", &ColocationStrategy::metric_report_interval_s, 1, kNoUpperBound},
    {"cpuReclaimThresholdPercent", &ColocationStrategy::cpu_reclaim_threshold_percent, 0, kNoUpperBound},
    {"memoryReclaimThresholdPercent", &ColocationStrategy::memory_reclaim_threshold_percent, 0, kNoUpperBound},
    {"degradeTimeMinutes", &ColocationStrategy::degrade_time_minutes, 1, kNoUpperBound},
    {"updateTimeThresholdSeconds", &ColocationStrategy::update_time_threshold_s, 1, kNoUpperBound},
    {"midCPUThresholdPercent", &ColocationStrategy::mid_cpu_threshold_percent, 0, 100},
    {"midMemoryThresholdPercent", &ColocationStrategy::mid_memory_threshold_percent, 0, 100},
    {"midUnallocatedPercent", &ColocationStrategy::mid_unallocated_percent, 0, 100},
    {"midStaticCPUReservedPercent", &ColocationStrategy::mid_static_cpu_reserved_percent, 0, kNoUpperBound},
    {"midStaticMemoryReservedPercent", &ColocationStrategy::mid_static_memory_reserved_percent, 0, kNoUpperBound},
}};

struct OptionalField {
  std::string_view name;
  std::optional<std::int64_t> ColocationStrategy::* member;
};
constexpr std::array<OptionalField, 2> kOptionals{{
    {"batchCPUThresholdPercent", &ColocationStrategy::batch_cpu_threshold_percent},
    {"batchMemoryThresholdPercent", &ColocationStrategy::batch_memory_threshold_percent},
}};

Result<std::int64_t> integer(std::string_view field, const Json& value) {
  if (!value.is_int()) return wrong_type(field, "a whole number", value);
  return value.as_int();
}

CalculatePolicy policy_of(std::string_view text) {
  if (text == "request") return CalculatePolicy::kRequest;
  if (text == "maxUsageRequest") return CalculatePolicy::kMaxUsageRequest;
  return CalculatePolicy::kUsage;
}

Result<void> merge_durations(const Json& policy, ColocationStrategy& strategy) {
  if (!policy.is_object()) return wrong_type("metricAggregatePolicy", "an object", policy);
  for (const auto& [key, list] : policy.as_object()) {
    if (!same_name(key, "durations") || list.is_null()) continue;
    if (!list.is_array()) return wrong_type("metricAggregatePolicy.durations", "an array", list);
    std::vector<base::Duration> durations;
    for (const Json& item : list.as_array()) {
      const auto duration = base::parse_go_duration(item.get_string().value_or(""));
      if (!duration) return wrong_type("metricAggregatePolicy.durations", "durations like \"5m\"", item);
      durations.push_back(*duration);
    }
    if (!durations.empty()) strategy.metric_aggregate_durations = std::move(durations);
  }
  return {};
}

Result<void> merge_text(std::string_view key, const Json& value, ColocationStrategy& strategy) {
  if (!value.is_string()) return wrong_type(key, "a string", value);
  const std::string& text = value.as_string();
  if (same_name(key, "metricMemoryCollectPolicy")) strategy.metric_memory_collect_policy = text;
  if (same_name(key, "cpuCalculatePolicy")) strategy.cpu_calculate_policy = policy_of(text);
  if (same_name(key, "memoryCalculatePolicy")) strategy.memory_calculate_policy = policy_of(text);
  if (same_name(key, "midReclaimMode")) {
    strategy.mid_reclaim_mode = text == "static" ? model::MidReclaimMode::kStatic : model::MidReclaimMode::kDynamic;
  }
  return {};
}

Result<void> merge_member(std::string_view key, const Json& value, ColocationStrategy& strategy) {
  if (value.is_null()) return {};
  for (const IntegerField& field : kIntegers) {
    if (!same_name(key, field.name)) continue;
    TM_TRY(strategy.*field.member, integer(key, value));
    return {};
  }
  for (const OptionalField& field : kOptionals) {
    if (!same_name(key, field.name)) continue;
    TM_TRY(strategy.*field.member, integer(key, value));
    return {};
  }
  if (same_name(key, "enable")) {
    TM_TRY(strategy.enable, boolean(key, value));
  } else if (same_name(key, "resourceDiffThreshold")) {
    TM_TRY(strategy.resource_diff_threshold, number(key, value));
  } else if (same_name(key, "metricAggregatePolicy")) {
    return merge_durations(value, strategy);
  } else if (same_name(key, "metricMemoryCollectPolicy") || same_name(key, "cpuCalculatePolicy") ||
             same_name(key, "memoryCalculatePolicy") || same_name(key, "midReclaimMode")) {
    return merge_text(key, value, strategy);
  }
  return {};
}

// Over a copy: a document that cannot be read changes nothing.
Result<ColocationStrategy> merged(ColocationStrategy strategy, const Json& document) {
  if (document.is_null()) return strategy;
  if (!document.is_object()) return wrong_type("strategy", "an object", document);
  for (const auto& [key, value] : document.as_object()) TM_TRY_VOID(merge_member(key, value, strategy));
  return strategy;
}

Result<NodeEntry> parse_entry(const Json& item, const ColocationStrategy& cluster) {
  NodeEntry entry;
  TM_TRY(EntryHead head, read_entry_head(item));
  entry.name = std::move(head.name);
  entry.selector = std::move(head.selector);
  TM_TRY(entry.strategy, merged(cluster, item));
  if (const auto good = check_strategy(entry.strategy); !good) {
    entry.strategy = cluster;
    entry.reason = Reason::kConfigEntryInvalid;
    entry.problem = good.error().message;
  }
  if (entry.selector.problem()) {
    entry.reason = Reason::kConfigSelectorUnusable;
    entry.problem = entry.selector.problem()->message;
  }
  return entry;
}

std::unexpected<ConfigRefusal> bad_json(Error error) {
  return std::unexpected(ConfigRefusal{Reason::kConfigBadJson, std::move(error).within(model::kColocationConfigKey)});
}

constexpr std::array<std::pair<std::string_view, std::int64_t ColocationStrategy::*>, 4> kRatioLabels{{
    {model::kCpuReclaimRatioLabel, &ColocationStrategy::cpu_reclaim_threshold_percent},
    {model::kMemoryReclaimRatioLabel, &ColocationStrategy::memory_reclaim_threshold_percent},
    {model::kMidStaticCpuRatioLabel, &ColocationStrategy::mid_static_cpu_reserved_percent},
    {model::kMidStaticMemoryRatioLabel, &ColocationStrategy::mid_static_memory_reserved_percent},
}};

}  // namespace

std::optional<std::int64_t> percent_of_ratio(std::string_view text) {
  constexpr double kRatioMax = 1e15;  // far beyond any sense, and the product still fits
  const auto ratio = base::parse_double(text);
  if (!ratio || !std::isfinite(*ratio) || *ratio < 0 || *ratio > kRatioMax) return std::nullopt;
  return static_cast<std::int64_t>(*ratio * 100);
}

Result<void> check_strategy(const ColocationStrategy& strategy) {
  for (const IntegerField& field : kIntegers) {
    const std::int64_t value = strategy.*field.member;
    if (value >= field.lowest && value <= field.highest) continue;
    if (field.highest == kNoUpperBound) {
      return fail(ErrorKind::kInvalid, field.name, ": must be at least ", field.lowest, ", found ", value);
    }
    return fail(ErrorKind::kInvalid, field.name, ": must be in ", field.lowest, "..", field.highest, ", found ", value);
  }
  for (const OptionalField& field : kOptionals) {
    if (const auto value = strategy.*field.member; value && *value < 0) {
      return fail(ErrorKind::kInvalid, field.name, ": must be at least 0, found ", *value);
    }
  }
  if (!(strategy.resource_diff_threshold > 0)) {
    return fail(ErrorKind::kInvalid, "resourceDiffThreshold: must be above 0, found ",
                strategy.resource_diff_threshold);
  }
  if (strategy.metric_memory_collect_policy.empty()) {
    return fail(ErrorKind::kInvalid, "metricMemoryCollectPolicy: must not be empty");
  }
  return {};
}

std::expected<ColocationConfig, ConfigRefusal> parse_colocation_config(std::string_view text) {
  auto document = Json::parse(text);
  if (!document) return bad_json(std::move(document).error());
  ColocationConfig config;
  auto cluster = merged(config.cluster, *document);
  if (!cluster) return bad_json(std::move(cluster).error());
  config.cluster = std::move(*cluster);

  auto entries = each_node_config(
      *document, [&] { config.nodes.clear(); },
      [&](const Json& item) -> Result<void> {
        TM_TRY(NodeEntry entry, parse_entry(item, config.cluster));
        config.nodes.push_back(std::move(entry));
        return {};
      });
  if (!entries) return bad_json(std::move(entries).error());

  if (auto good = check_strategy(config.cluster); !good) {
    return std::unexpected(
        ConfigRefusal{Reason::kConfigInvalid, std::move(good).error().within(model::kColocationConfigKey)});
  }
  return config;
}

ConfigStep next_config(const ConfigState& state, const model::ConfigSource& source) {
  if (!source.found) {
    if (state.config) return {state, Reason::kConfigNotFound, ""};
    return {{ColocationConfig(), true}, Reason::kConfigNotFound, ""};
  }
  if (!source.text || source.text->empty()) return {{ColocationConfig(), false}, Reason::kConfigDefaults, ""};
  auto config = parse_colocation_config(*source.text);
  if (!config) return {{state.config, true}, config.error().reason, std::move(config.error().error.message)};
  return {{std::move(*config), false}, Reason::kConfigApplied, ""};
}

NodeStrategy strategy_for(const ColocationConfig& config, model::LabelsView labels,
                          std::optional<std::string_view> annotation, model::Profile profile) {
  NodeStrategy node;
  node.profile = profile;
  node.values = config.cluster;
  const auto match = std::find_if(config.nodes.begin(), config.nodes.end(),
                                  [&](const NodeEntry& entry) { return entry.selector.matches(labels); });
  if (match != config.nodes.end()) {
    node.entry = static_cast<std::size_t>(match - config.nodes.begin());
    node.values = match->strategy;
  }

  if (annotation) {
    const auto document = Json::parse(*annotation);
    auto values = document ? merged(node.values, *document) : fail(document.error());
    if (!values) {
      node.ignored.push_back(Reason::kConfigNodeAnnotationUnreadable);
    } else if (profile == model::Profile::kTidemark && !check_strategy(*values)) {
      node.ignored.push_back(Reason::kConfigNodeAnnotationInvalid);
    } else {
      node.values = std::move(*values);
    }
  }

  for (const auto& [key, member] : kRatioLabels) {
    const auto label = labels.find(key);
    if (!label) continue;
    if (const auto percent = percent_of_ratio(*label)) {
      node.values.*member = *percent;
    } else {
      node.ignored.push_back(Reason::kConfigNodeLabelUnreadable);
    }
  }

  node.enabled = config.cluster.enable && node.values.enable;
  node.reason = node.enabled             ? Reason::kConfigApplied
                : !config.cluster.enable ? Reason::kDisabledByCluster
                                         : Reason::kDisabledForNode;
  if (!config.cluster.enable && node.values.enable) node.ignored.push_back(Reason::kConfigEnabledBelow);
  return node;
}

NodeStrategy strategy_for(const OvercommitSettings& settings, model::LabelsView labels,
                          std::optional<std::string_view> annotation) {
  NodeStrategy node = strategy_for(settings.colocation, labels, annotation, settings.profile);
  node.plugins = settings.plugins;
  node.normalization = settings.normalization == nullptr ? nullptr : settings.normalization->for_node(labels);
  node.amplification = settings.amplification == nullptr ? nullptr : settings.amplification->for_node(labels);
  node.normalization_switch = parse_normalization_switch(labels.find(model::kNormalizationEnabledLabel));
  return node;
}

}  // namespace tidemark::policy::sell
