#include "policy/sell/overcommit/strategy.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace tidemark::policy::sell {
namespace {

using model::CalculatePolicy;
using model::ColocationStrategy;
using model::Label;
using model::Reason;

ColocationConfig must(std::string_view text) {
  auto config = parse_colocation_config(text);
  EXPECT_TRUE(config.has_value()) << text << ": " << (config ? "" : config.error().error.message);
  return config ? std::move(*config) : ColocationConfig();
}

Reason refusal(std::string_view text) {
  const auto config = parse_colocation_config(text);
  return config ? Reason::kConfigApplied : config.error().reason;
}

TEST(ColocationConfigText, AnEmptyObjectIsAllDefaults) {
  const auto config = must("{}");
  EXPECT_EQ(config.cluster, ColocationStrategy());
  EXPECT_FALSE(config.cluster.enable);
  EXPECT_EQ(config.cluster.cpu_reclaim_threshold_percent, 60);
  EXPECT_EQ(config.cluster.memory_reclaim_threshold_percent, 65);
  EXPECT_EQ(config.cluster.degrade_time_minutes, 15);
  EXPECT_EQ(config.cluster.resource_diff_threshold, 0.1);
  EXPECT_EQ(config.cluster.metric_aggregate_durations.size(), 3U);
  EXPECT_EQ(must("null").cluster, ColocationStrategy());
}

TEST(ColocationConfigText, EveryFieldIsRead) {
  const auto strategy = must(R"({
    "enable": true, "metricAggregateDurationSeconds": 1, "metricReportIntervalSeconds": 2,
    "metricAggregatePolicy": {"durations": ["1m", "1h0m0s"]}, "metricMemoryCollectPolicy": "usageWithPageCache",
    "cpuReclaimThresholdPercent": 3, "cpuCalculatePolicy": "maxUsageRequest", "memoryReclaimThresholdPercent": 4,
    "memoryCalculatePolicy": "request", "degradeTimeMinutes": 5, "updateTimeThresholdSeconds": 6,
    "resourceDiffThreshold": 0.5, "midReclaimMode": "static", "midCPUThresholdPercent": 7,
    "midMemoryThresholdPercent": 8, "midUnallocatedPercent": 9, "midStaticCPUReservedPercent": 10,
    "midStaticMemoryReservedPercent": 11, "batchCPUThresholdPercent": 12, "batchMemoryThresholdPercent": 13,
    "extensions": {"anything": [1]}, "nobodyKnows": {}})")
                            .cluster;
  ColocationStrategy wanted;
  wanted.enable = true;
  wanted.metric_aggregate_duration_s = 1;
  wanted.metric_report_interval_s = 2;
  wanted.metric_aggregate_durations = {std::chrono::minutes(1), std::chrono::hours(1)};
  wanted.metric_memory_collect_policy = "usageWithPageCache";
  wanted.cpu_reclaim_threshold_percent = 3;
  wanted.cpu_calculate_policy = CalculatePolicy::kMaxUsageRequest;
  wanted.memory_reclaim_threshold_percent = 4;
  wanted.memory_calculate_policy = CalculatePolicy::kRequest;
  wanted.degrade_time_minutes = 5;
  wanted.update_time_threshold_s = 6;
  wanted.resource_diff_threshold = 0.5;
  wanted.mid_reclaim_mode = model::MidReclaimMode::kStatic;
  wanted.mid_cpu_threshold_percent = 7;
  wanted.mid_memory_threshold_percent = 8;
  wanted.mid_unallocated_percent = 9;
  wanted.mid_static_cpu_reserved_percent = 10;
  wanted.mid_static_memory_reserved_percent = 11;
  wanted.batch_cpu_threshold_percent = 12;
  wanted.batch_memory_threshold_percent = 13;
  EXPECT_EQ(strategy, wanted);
}

TEST(ColocationConfigText, ReportsUnparsableTextAsBadJson) {
  for (const auto* text :
       {"", "{", "[]", "1", R"({"enable":"true"})", R"({"enable":1})", R"({"cpuReclaimThresholdPercent":"60"})",
        R"({"cpuReclaimThresholdPercent":60.5})", R"({"cpuReclaimThresholdPercent":60.0})",
        R"({"cpuCalculatePolicy":1})", R"({"resourceDiffThreshold":"0.1"})", R"({"metricAggregatePolicy":[]})",
        R"({"metricAggregatePolicy":{"durations":["5 minutes"]}})", R"({"metricAggregatePolicy":{"durations":[300]}})",
        R"({"nodeConfigs":{}})", R"({"nodeConfigs":[1]})", R"({"nodeConfigs":[{"name":1}]})",
        R"({"nodeConfigs":[{"nodeSelector":[]}]})", R"({"nodeConfigs":[{"enable":"yes"}]})"}) {
    EXPECT_EQ(refusal(text), Reason::kConfigBadJson) << text;
  }
}

TEST(ColocationConfigText, ClusterValuesOutOfRangeAreRefusedWhole) {
  for (const auto* text :
       {R"({"metricAggregateDurationSeconds":0})", R"({"metricReportIntervalSeconds":-1})",
        R"({"metricMemoryCollectPolicy":""})", R"({"cpuReclaimThresholdPercent":-1})",
        R"({"memoryReclaimThresholdPercent":-1})", R"({"degradeTimeMinutes":0})", R"({"updateTimeThresholdSeconds":0})",
        R"({"resourceDiffThreshold":0})", R"({"resourceDiffThreshold":-0.5})", R"({"midCPUThresholdPercent":101})",
        R"({"midMemoryThresholdPercent":-1})", R"({"midUnallocatedPercent":101})",
        R"({"midStaticCPUReservedPercent":-1})", R"({"midStaticMemoryReservedPercent":-1})",
        R"({"batchCPUThresholdPercent":-1})", R"({"batchMemoryThresholdPercent":-1})"}) {
    EXPECT_EQ(refusal(text), Reason::kConfigInvalid) << text;
  }
  for (const auto* text :
       {R"({"cpuReclaimThresholdPercent":150})", R"({"resourceDiffThreshold":7})",
        R"({"midStaticCPUReservedPercent":101})", R"({"batchCPUThresholdPercent":300})", R"({"midReclaimMode":"x"})"}) {
    EXPECT_EQ(refusal(text), Reason::kConfigApplied) << text;
  }
  const auto config = parse_colocation_config(R"({"midUnallocatedPercent":101})");
  EXPECT_EQ(config.error().error.message, "colocation-config: midUnallocatedPercent: must be in 0..100, found 101");
}

TEST(ColocationConfigText, AnInvalidNodeEntryBecomesACopyOfTheCluster) {
  const auto config = must(R"({"enable":true,"cpuReclaimThresholdPercent":70,"nodeConfigs":[
    {"name":"bad","nodeSelector":{},"cpuReclaimThresholdPercent":-1,"memoryReclaimThresholdPercent":10}]})");
  ASSERT_EQ(config.nodes.size(), 1U);
  EXPECT_EQ(config.nodes[0].strategy, config.cluster);
  EXPECT_EQ(config.nodes[0].reason, Reason::kConfigEntryInvalid);
  EXPECT_EQ(strategy_for(config, {}, std::nullopt).entry, 0U);
}

TEST(Merge, PresentOverridesNullAndEmptyListDoNot) {
  const auto config = must(R"({"enable":true,"cpuReclaimThresholdPercent":70,"batchCPUThresholdPercent":50,
    "metricAggregatePolicy":{"durations":["1m"]},"nodeConfigs":[{"nodeSelector":{},"enable":null,
    "cpuReclaimThresholdPercent":0,"batchCPUThresholdPercent":null,"metricAggregatePolicy":{"durations":[]}}]})");
  const auto& entry = config.nodes[0].strategy;
  EXPECT_TRUE(entry.enable);
  EXPECT_EQ(entry.cpu_reclaim_threshold_percent, 0);  // an explicit 0 counts
  EXPECT_EQ(entry.batch_cpu_threshold_percent, 50);
  EXPECT_EQ(entry.metric_aggregate_durations, std::vector<base::Duration>{std::chrono::minutes(1)});
}

TEST(Merge, EntriesStandOnTheClusterWhereverItIsWrittenInTheText) {
  const auto config =
      must(R"({"nodeConfigs":[{"nodeSelector":{},"memoryReclaimThresholdPercent":1}],"cpuReclaimThresholdPercent":5})");
  EXPECT_EQ(config.nodes[0].strategy.cpu_reclaim_threshold_percent, 5);
}

TEST(Merge, FieldNamesMatchWhateverTheirCase) {
  EXPECT_EQ(must(R"({"CPURECLAIMTHRESHOLDPERCENT":5})").cluster.cpu_reclaim_threshold_percent, 5);
}

constexpr std::string_view kThreeEntries = R"({"enable":true,"nodeConfigs":[
  {"name":"none","cpuReclaimThresholdPercent":1},
  {"name":"broken","nodeSelector":{"matchExpressions":[{"key":"pool","operator":"Near"}]},"cpuReclaimThresholdPercent":2},
  {"name":"batch","nodeSelector":{"matchLabels":{"pool":"batch"}},"cpuReclaimThresholdPercent":3},
  {"name":"all","nodeSelector":{},"cpuReclaimThresholdPercent":4}]})";

TEST(Selection, TheFirstMatchWinsNoSelectorMatchesNothingABrokenOneIsSkipped) {
  const auto config = must(kThreeEntries);
  EXPECT_EQ(config.nodes[1].reason, Reason::kConfigSelectorUnusable);
  const std::array batch{Label{"pool", "batch"}};
  const std::array other{Label{"pool", "other"}};
  EXPECT_EQ(strategy_for(config, batch, std::nullopt).values.cpu_reclaim_threshold_percent, 3);
  EXPECT_EQ(strategy_for(config, batch, std::nullopt).entry, 2U);
  EXPECT_EQ(strategy_for(config, other, std::nullopt).values.cpu_reclaim_threshold_percent, 4);
}

TEST(NodeSettings, TheAnnotationIsMergedOverTheEntryAndBadJsonIgnored) {
  const auto config = must(kThreeEntries);
  const auto merged = strategy_for(config, {}, R"({"memoryReclaimThresholdPercent":9})");
  EXPECT_EQ(merged.values.cpu_reclaim_threshold_percent, 4);
  EXPECT_EQ(merged.values.memory_reclaim_threshold_percent, 9);
  EXPECT_TRUE(merged.ignored.empty());
  for (const auto* text : {"", "{", "[]", R"({"memoryReclaimThresholdPercent":"9"})",
                           R"({"memoryReclaimThresholdPercent":9,"enable":"x"})"}) {
    const auto ignored = strategy_for(config, {}, text);
    EXPECT_EQ(ignored.values.memory_reclaim_threshold_percent, 65) << text;
    EXPECT_EQ(ignored.ignored, std::vector<Reason>{Reason::kConfigNodeAnnotationUnreadable}) << text;
  }
}

TEST(NodeSettings, RatioLabelsHaveTheLastWordAndAreTruncatedDoubles) {
  const auto config = must(kThreeEntries);
  const auto percent = [&](std::string value) {
    const std::array labels{Label{"node.koordinator.sh/cpu-reclaim-ratio", std::move(value)}};
    return strategy_for(config, labels, R"({"cpuReclaimThresholdPercent":50})").values.cpu_reclaim_threshold_percent;
  };
  EXPECT_EQ(percent("0.29"), 28);
  EXPECT_EQ(percent("0.57"), 56);
  EXPECT_EQ(percent("0.58"), 57);
  EXPECT_EQ(percent("0.8"), 80);
  EXPECT_EQ(percent("1.5"), 150);
  EXPECT_EQ(percent("0"), 0);
  for (const auto* text : {"", "-0.1", "half", "inf", "nan", "0.5x", "1e300"}) EXPECT_EQ(percent(text), 50) << text;

  const std::array all{Label{"node.koordinator.sh/memory-reclaim-ratio", "0.1"},
                       Label{"node.koordinator.sh/mid-static-cpu-reserved-ratio", "0.2"},
                       Label{"node.koordinator.sh/mid-static-memory-reserved-ratio", "0.4"},
                       Label{"node.koordinator.sh/cpu-reclaim-ratio", "x"}};
  const auto node = strategy_for(config, all, std::nullopt);
  EXPECT_EQ(node.values.memory_reclaim_threshold_percent, 10);
  EXPECT_EQ(node.values.mid_static_cpu_reserved_percent, 20);
  EXPECT_EQ(node.values.mid_static_memory_reserved_percent, 40);
  EXPECT_EQ(node.ignored, std::vector<Reason>{Reason::kConfigNodeLabelUnreadable});
}

TEST(Switch, TheClusterGatesEverythingANodeCanOnlySwitchItselfOff) {
  const auto on =
      must(R"({"enable":true,"nodeConfigs":[{"nodeSelector":{"matchLabels":{"pool":"off"}},"enable":false}]})");
  const auto off = must(R"({"nodeConfigs":[{"nodeSelector":{},"enable":true}]})");
  const std::array in_off_pool{Label{"pool", "off"}};
  EXPECT_TRUE(strategy_for(on, {}, std::nullopt).enabled);
  EXPECT_EQ(strategy_for(on, in_off_pool, std::nullopt).reason, Reason::kDisabledForNode);
  EXPECT_FALSE(strategy_for(on, {}, R"({"enable":false})").enabled);
  const auto node = strategy_for(off, {}, R"({"enable":true})");
  EXPECT_FALSE(node.enabled);
  EXPECT_EQ(node.reason, Reason::kDisabledByCluster);
  EXPECT_TRUE(node.values.enable);  // what the NodeMetric side goes by
}

TEST(RunningConfig, KeepsTheLastGoodOne) {
  ConfigState state;
  const auto feed = [&](const model::ConfigSource& source) {
    auto step = next_config(state, source);
    state = std::move(step.state);
    return step.reason;
  };

  // Bad right after a start: nothing is decided until a good one comes.
  EXPECT_EQ(feed({true, "{"}), Reason::kConfigBadJson);
  EXPECT_FALSE(state.config.has_value());
  EXPECT_TRUE(state.error);

  EXPECT_EQ(feed({true, R"({"enable":true,"cpuReclaimThresholdPercent":70})"}), Reason::kConfigApplied);
  EXPECT_FALSE(state.error);
  EXPECT_EQ(state.config->cluster.cpu_reclaim_threshold_percent, 70);

  EXPECT_EQ(feed({true, "{"}), Reason::kConfigBadJson);
  EXPECT_TRUE(state.error);
  EXPECT_EQ(state.config->cluster.cpu_reclaim_threshold_percent, 70);
  EXPECT_EQ(feed({true, R"({"cpuReclaimThresholdPercent":-1})"}), Reason::kConfigInvalid);
  EXPECT_TRUE(state.error);
  EXPECT_EQ(state.config->cluster.cpu_reclaim_threshold_percent, 70);

  // Deleted: the running one stays, and what it was is not an error.
  EXPECT_EQ(feed({true, R"({"enable":true})"}), Reason::kConfigApplied);
  EXPECT_EQ(feed({false, std::nullopt}), Reason::kConfigNotFound);
  EXPECT_TRUE(state.config->cluster.enable);
  EXPECT_FALSE(state.error);

  EXPECT_EQ(feed({true, std::nullopt}), Reason::kConfigDefaults);
  EXPECT_EQ(state.config->cluster, ColocationStrategy());
  EXPECT_EQ(feed({true, ""}), Reason::kConfigDefaults);
}

TEST(RunningConfig, NeverThereMeansDefaultsAndLeavesNodeMetricsAlone) {
  const auto step = next_config({}, {false, std::nullopt});
  EXPECT_EQ(step.reason, Reason::kConfigNotFound);
  ASSERT_TRUE(step.state.config.has_value());
  EXPECT_EQ(step.state.config->cluster, ColocationStrategy());
  EXPECT_TRUE(step.state.error);
}

TEST(Property, CutTextIsRefusedOrReadAndNeverMore) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 5'000; ++i) {
    std::string text(kThreeEntries);
    text.resize(random() % (text.size() + 1));
    for (auto n = random() % 4; n > 0 && !text.empty(); --n) {
      text[random() % text.size()] = "{}[]\",:0-e\\n\xff"[random() % 14];
    }
    const auto config = parse_colocation_config(text);
    if (!config) {
      EXPECT_FALSE(config.error().error.message.empty());
      continue;
    }
    const auto node = strategy_for(*config, {}, text);
    EXPECT_EQ(node.enabled, config->cluster.enable && node.values.enable);
    if (node.entry) EXPECT_LT(*node.entry, config->nodes.size());
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
