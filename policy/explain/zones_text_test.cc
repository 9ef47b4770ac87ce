#include "policy/explain/zones_text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "policy/explain/overcommit_text.h"
#include "policy/explain/sources_text.h"

namespace tidemark::policy::explain {
namespace {

using model::CpuMicro;
using model::CpuMilli;
using model::MemoryBytes;
using model::MemoryMilli;

constexpr std::int64_t kZonesTextGib = std::int64_t{1} << 30;
const base::WallTime kZonesTextNow{std::chrono::hours(24 * 365 * 50)};

model::ZoneView zone(std::string name) {
  model::ZoneView out;
  out.name = std::move(name);
  out.cpu = CpuMilli{16000};
  out.memory = MemoryMilli{64 * kZonesTextGib * 1000};
  return out;
}

// Two zones of 16 cores and 64 GiB; the system uses 2.001 cores, which is a half of a milli-core more than zones share.
model::NodeSnapshot zones_text_example() {
  model::NodeSnapshot node;
  node.name = "n1";
  node.capacity = node.allocatable = {CpuMilli{32000}, MemoryBytes{128 * kZonesTextGib}};
  model::NodeMetricView metric;
  metric.update_time = kZonesTextNow;
  metric.has_node_metric = true;
  metric.node_usage = metric.system_usage = model::Resources{CpuMilli{2000}, MemoryBytes{4 * kZonesTextGib}};
  node.metric = metric;
  node.topology.emplace();
  node.topology->zones = {zone("node-0"), zone("node-1")};
  node.topology->zones[0].batch_cpu = {CpuMicro{8600000}, CpuMicro{8600000}, CpuMicro{8600000}};
  node.topology->zones[1].batch_cpu = {CpuMicro{8600000}, CpuMicro{8600500}, CpuMicro{1}};
  node.topology->cpu = model::CpuBasicInfo{"Model A", true, false};
  node.normalization_annotation = "1.25";
  return node;
}

sell::NodeStrategy zones_text_enabled() {
  sell::NodeStrategy strategy;
  strategy.enabled = true;
  strategy.reason = model::Reason::kConfigApplied;
  strategy.values.enable = true;
  auto normalization = std::make_shared<sell::NormalizationSettings>();
  normalization->enable = true;
  normalization->models["Model A"].hyper_thread = 1.25;
  strategy.normalization = normalization;
  auto amplification = std::make_shared<sell::AmplificationSettings>();
  amplification->enable = true;
  amplification->ratios = {{"cpu", 2.0}, {"memory", 1.5}};
  strategy.amplification = amplification;
  return strategy;
}

std::string flat(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  return out;
}

TEST(ZonesText, ShowsATableWithCurrentValues) {
  const auto node = zones_text_example();
  const auto plan = sell::overcommit(node, zones_text_enabled(), kZonesTextNow);
  const std::string text = flat(render_text(plan, node, zones_text_enabled()));
  EXPECT_NE(text.find("NUMA zones: each zone by the node's formula, with the zone's allocatable as its capacity "
                      "[TM-ZONE-001]\n"),
            std::string::npos);
  EXPECT_NE(text.find(" node-0 16000 6400 1000 0 8600 10750 8600\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" node-1 16000 6400 1000 0 8600 10750 8600/8600.5/0.001\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" node-1 68719476736 24051816857 2147483648 0 42520176231 42520176231 -\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find(" x normalization 1.25 the value of one CPU of this model\n"), std::string::npos) << text;
}

TEST(ZonesText, TheRatiosWithTheirSources) {
  const auto node = zones_text_example();
  const auto plan = sell::overcommit(node, zones_text_enabled(), kZonesTextNow);
  const std::string text = render_text(plan, node, zones_text_enabled());
  EXPECT_NE(
      text.find("CPU normalization: 1.25: the settings have a ratio for the node's CPU model [TM-NORM-002]; on the "
                "node now: 1.25\n  processor: Model A, hyper-threading\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("resource amplification: {\"cpu\":2.50,\"memory\":1.50}: "), std::string::npos) << text;
  EXPECT_NE(text.find("  cpu: 2.50, 2.00 by the settings, 1.25 by the normalization on the node\n"), std::string::npos);
  EXPECT_NE(text.find("  memory: 1.50, 1.50 by the settings\n"), std::string::npos);
}

TEST(ZonesText, JsonHasEachTermAndExactFractions) {
  const auto node = zones_text_example();
  const auto plan = sell::overcommit(node, zones_text_enabled(), kZonesTextNow);
  const Json json = render_json(plan, node, zones_text_enabled());
  const Json& zones = *json.at("zones", "zones");
  EXPECT_EQ(zones.as_array()[0].at("batch-cpu", "offered")->dump(), "10750");
  EXPECT_EQ(zones.as_array()[0].at("batch-cpu", "ratioPercent")->dump(), "125");
  EXPECT_EQ(zones.as_array()[0].at("batch-memory", "ratioPercent")->dump(), "null");
  EXPECT_EQ(zones.as_array()[1].at("batch-cpu", "onZone", "allocatable")->dump(), "8600.5");
  EXPECT_EQ(zones.as_array()[1].at("batch-memory", "onZone")->dump(), "null");
  EXPECT_EQ(json.at("normalization", "ratioPercent")->dump(), "125");
  EXPECT_EQ(json.text_at("normalization", "cpu", "model"), "Model A");
  EXPECT_EQ(json.text_at("amplification", "text"), R"({"cpu":2.50,"memory":1.50})");
  EXPECT_EQ(json.at("kubernetes.io/batch-cpu", "ratioPercent")->dump(), "125");
}

TEST(ZonesText, OmitsDisabledAndAbsentParts) {
  auto node = zones_text_example();
  auto strategy = zones_text_enabled();
  strategy.plugins.cpu_normalization = false;
  strategy.plugins.resource_amplification = false;
  node.topology.reset();
  const auto plan = sell::overcommit(node, strategy, kZonesTextNow);
  const std::string text = render_text(plan, node, strategy);
  for (const char* word : {"NUMA", "normalization:", "amplification"}) EXPECT_EQ(text.find(word), std::string::npos);
  const Json json = render_json(plan, node, strategy);
  EXPECT_EQ(json.at("normalization"), nullptr);
  EXPECT_EQ(json.text_at("zones", "reason", "id"), "TM-ZONE-002");
}

TEST(SourcesText, ShowsAgeRevisionAndMissingSources) {
  const std::array<Source, 4> sources{{
      {"Node n1", "12", std::nullopt, std::nullopt, "capacity", {"capacity"}},
      {"NodeMetric n1", "13", std::chrono::seconds(42), std::nullopt, "use", {"systemUsed", "highPriority"}},
      {"pods of n1", "", std::nullopt, 1, "requests", {"highPriority"}},
      {"NodeResourceTopology n1", "", std::nullopt, std::nullopt, "zones", {"zones"}},
  }};
  EXPECT_EQ(render_text(sources),
            "\nfrom\n"
            "  Node n1                  revision 12            capacity\n"
            "  NodeMetric n1            revision 13, 42 s old  use\n"
            "  pods of n1               1 object               requests\n"
            "  NodeResourceTopology n1  does not exist         zones\n");
  const Json json = render_json(sources);
  EXPECT_EQ(json.as_array()[1].at("ageSeconds")->dump(), "42");
  EXPECT_EQ(json.as_array()[3].at("revision")->dump(), "null");
  EXPECT_EQ(render_text(std::span<const Source>()), "");
}

}  // namespace
}  // namespace tidemark::policy::explain
