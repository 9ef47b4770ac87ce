// What the peer's own unit tests state of the parts that the recorded nodes of golden_test.cc do not have: zones,
// reservations, calculation policies, host applications, ratios, settings of a node. Each case names the test and the
// row of it that its numbers are from.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "model/strategy.h"
#include "model/topology.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/sell/testing/golden_node.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using testing::as_written;

const base::WallTime kPeerTestsNow{std::chrono::hours(24 * 365 * 56)};
constexpr std::string_view kPodNamespace;  // reports name none either

class PeerTests : public ::testing::Test {
 protected:
  const Json file_ = testing::golden_overcommit("peer_tests.json");

  // "batch row 22: two zones, a pod on the first"
  std::string name_of(const Json& item) const {
    EXPECT_NE(file_.at("sources", item.text_at("from")), nullptr) << item.text_at("name");
    return cat(item.text_at("from"), " row ", *item.at("row")->get_int(), ": ", item.text_at("name"));
  }

  model::TopologyView zones_of(const Json& item) const {
    model::TopologyView topology;
    const Json* named = file_.at("zones", item.text_at("zones"));
    if (named == nullptr) return topology;
    for (const Json& zone : named->as_array()) {
      const auto memory = testing::golden_quantity(zone, "memory");
      model::ZoneView view;
      view.name = zone.text_at("name");
      view.cpu = cpu_milli(testing::golden_quantity(zone, "cpu"));
      view.memory = model::MemoryMilli{memory.scaled_value_saturated(-3)};
      view.memory_format = memory.format();
      topology.zones.push_back(std::move(view));
    }
    return topology;
  }

  model::NodeSnapshot snapshot_of(const Json& item) const {
    model::NodeSnapshot snapshot = testing::golden_node(item);
    for (const Json& pod : file_.at("pods", item.text_at("pods"))->as_array()) {
      snapshot.pods.push_back(testing::golden_pod(kPodNamespace, pod));
    }
    const Json* age = item.at("metricAgeSeconds");
    const std::chrono::seconds age_s(age == nullptr ? 0 : *age->get_int());
    snapshot.metric = testing::golden_metric(*file_.at("metrics", item.text_at("metric")), kPeerTestsNow + -age_s);
    if (item.at("zones") != nullptr) snapshot.topology = zones_of(item);
    return snapshot;
  }

  static NodeStrategy strategy_of(const Json& item) {
    const auto config = parse_colocation_config(item.at("config")->dump());
    EXPECT_TRUE(config.has_value()) << item.text_at("name");
    NodeStrategy strategy = strategy_for(config.value_or(ColocationConfig()), {}, std::nullopt);
    if (const Json* normalization = item.at("normalization")) {
      strategy.normalization = parse_normalization_config(normalization->dump())->cluster;
    }
    return strategy;
  }
};

// Only what the peer's test states is compared, by amount; null is a key that is not to be there.
void expect_resource(const Json& expect, std::string_view key, const std::string& ours, const std::string& name) {
  const Json* theirs = expect.member(key);
  if (theirs == nullptr) return;
  if (theirs->is_null() || ours.empty()) {
    EXPECT_EQ(ours, theirs->get_string().value_or("")) << name << " " << key;
  } else {
    EXPECT_EQ(*model::Quantity::parse(ours), testing::golden_quantity(expect, key)) << name << " " << key;
  }
}

void expect_zone(const Json& expect, const ZonePlan& zone, const std::string& name) {
  expect_resource(expect, model::kBatchCpu, zone_quantity(zone.batch_cpu).to_string(), name);
  expect_resource(expect, model::kBatchMemory, zone_quantity(zone.batch_memory, zone.memory_format).to_string(), name);
}

TEST_F(PeerTests, OffersEqualKoordinators) {
  ASSERT_EQ(file_.at("offers")->as_array().size(), 47U);
  for (const Json& item : file_.at("offers")->as_array()) {
    const std::string name = name_of(item);
    model::NodeSnapshot snapshot = snapshot_of(item);
    // A ratio needs a processor to be the ratio of.
    if (item.at("normalization") != nullptr) snapshot.topology.value().cpu.emplace();

    const OvercommitPlan plan = overcommit(snapshot, strategy_of(item), kPeerTestsNow);

    const Json& expect = *item.at("expect");
    if (const Json* allocatable = expect.at("allocatable")) {
      expect_resource(*allocatable, model::kBatchCpu, as_written(plan.publish.batch_cpu), name);
      expect_resource(*allocatable, model::kBatchMemory, as_written(plan.publish.batch_memory), name);
      expect_resource(*allocatable, model::kMidCpu, as_written(plan.publish.mid_cpu), name);
      expect_resource(*allocatable, model::kMidMemory, as_written(plan.publish.mid_memory), name);
    }
    if (const Json* origin = expect.at("origin")) {
      ASSERT_TRUE(plan.origin.has_value()) << name;
      expect_resource(*origin, model::kBatchCpu, as_written(std::optional(plan.origin->cpu)), name);
      expect_resource(*origin, model::kBatchMemory, as_written(std::optional(plan.origin->memory)), name);
    }
    if (const Json* unallocated = expect.at("midUnallocated")) {
      EXPECT_EQ((model::Resources{plan.mid_cpu.unallocated, plan.mid_memory.unallocated}),
                testing::golden_resources(unallocated))
          << name;
    }
    if (const Json* zones = expect.at("zones")) {
      ASSERT_EQ(plan.zones.zones.size(), zones->as_object().size()) << name;
      for (const ZonePlan& zone : plan.zones.zones) {
        ASSERT_NE(zones->member(zone.name), nullptr) << name;
        expect_zone(*zones->member(zone.name), zone, cat(name, ", ", zone.name));
      }
    }
  }
}

struct Setting {
  std::string_view name;
  std::int64_t model::ColocationStrategy::* member;
};
constexpr std::array<Setting, 11> kSettings{{
    {"metricAggregateDurationSeconds", &model::ColocationStrategy::metric_aggregate_duration_s},
    {"metricReportIntervalSeconds", &model::ColocationStrategy::metric_report_interval_s},
    {"cpuReclaimThresholdPercent", &model::ColocationStrategy::cpu_reclaim_threshold_percent},
    {"memoryReclaimThresholdPercent", &model::ColocationStrategy::memory_reclaim_threshold_percent},
    {"degradeTimeMinutes", &model::ColocationStrategy::degrade_time_minutes},
    {"updateTimeThresholdSeconds", &model::ColocationStrategy::update_time_threshold_s},
    {"midCPUThresholdPercent", &model::ColocationStrategy::mid_cpu_threshold_percent},
    {"midMemoryThresholdPercent", &model::ColocationStrategy::mid_memory_threshold_percent},
    {"midUnallocatedPercent", &model::ColocationStrategy::mid_unallocated_percent},
    {"midStaticCPUReservedPercent", &model::ColocationStrategy::mid_static_cpu_reserved_percent},
    {"midStaticMemoryReservedPercent", &model::ColocationStrategy::mid_static_memory_reserved_percent},
}};

TEST_F(PeerTests, NodeSettingsEqualKoordinators) {
  ASSERT_EQ(file_.at("strategies")->as_array().size(), 10U);
  for (const Json& item : file_.at("strategies")->as_array()) {
    const std::string name = name_of(item);
    const auto config = parse_colocation_config(item.at("config")->dump());
    ASSERT_TRUE(config.has_value()) << name;

    const NodeStrategy strategy = strategy_for(*config, testing::golden_labels(item),
                                               testing::golden_annotation(item, model::kColocationStrategyAnnotation));

    std::size_t compared = 0;
    for (const Setting& setting : kSettings) {
      const Json* theirs = item.at("expect", setting.name);
      if (theirs == nullptr) continue;
      EXPECT_EQ(strategy.values.*setting.member, theirs->get_int()) << name << ": " << setting.name;
      ++compared;
    }
    if (const Json* enable = item.at("expect", "enable")) {
      EXPECT_EQ(strategy.values.enable, enable->as_bool()) << name;
      ++compared;
    }
    EXPECT_EQ(compared, item.at("expect")->as_object().size()) << name << ": a setting that the test does not know";
  }
}

// {"model":"Model-X","hyperThread":true,"turbo":true}, {} where it is not said, null where there is no topology at all.
std::optional<model::TopologyView> processor_of(const Json& cpu) {
  if (cpu.is_null()) return std::nullopt;
  model::TopologyView topology;
  topology.cpu_info_unreadable = cpu.member("unreadable") != nullptr;
  if (const Json* name = cpu.member("model")) {
    topology.cpu =
        model::CpuBasicInfo{name->as_string(), cpu.member("hyperThread") != nullptr, cpu.member("turbo") != nullptr};
  }
  return topology;
}

TEST_F(PeerTests, NormalizationRatiosEqualKoordinators) {
  ASSERT_EQ(file_.at("normalization")->as_array().size(), 17U);
  for (const Json& item : file_.at("normalization")->as_array()) {
    const auto labels = testing::golden_labels(item);
    const auto settings = parse_normalization_config(item.at("config")->dump())->for_node(labels);
    const auto topology = processor_of(*item.at("cpu"));
    const Json* label = item.at("labels", model::kNormalizationEnabledLabel);
    const auto by_label = parse_normalization_switch(label == nullptr ? std::nullopt : label->get_string());

    const NormalizationPlan plan = normalization(
        {settings.get(), by_label, topology ? &*topology : nullptr, std::nullopt}, model::Profile::kKoordinator);

    EXPECT_EQ(plan.annotate ? ratio_text(*plan.ratio_percent) : "", item.text_at("expect")) << name_of(item);
  }
}

TEST_F(PeerTests, AmplificationRatiosEqualKoordinators) {
  ASSERT_EQ(file_.at("amplification")->as_array().size(), 10U);
  for (const Json& item : file_.at("amplification")->as_array()) {
    const auto settings = parse_amplification_config(item.at("config")->dump())->cluster;

    const AmplificationPlan plan =
        amplification({settings.get(), item.at("normalizationRatio")->get_string()}, model::Profile::kKoordinator);

    // Where the peer gives no ratio, by an error or because there is none, the annotation goes.
    const std::string_view theirs = item.text_at("expect");
    EXPECT_EQ(plan.action, theirs.empty() ? AnnotationAction::kRemove : AnnotationAction::kSet) << name_of(item);
    EXPECT_EQ(plan.text, theirs) << name_of(item);
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
