// What the manager writes of NUMA zones and of the two ratios, against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/text.h"
#include "base/yaml.h"
#include "manager/testing/cluster.h"
#include "model/quantity.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kBatchCpu;

constexpr std::string_view kZonesAndRatiosTopologiesPath = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";

class ZonesAndRatiosTest : public testing::InMemoryCluster {
 protected:
  void topology_kind() {
    must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         *base::parse_yaml(testing::read_file(
             base::testing::from_root("deploy/crds/topology.node.k8s.io_noderesourcetopologies.yaml"))));
  }
  // Two zones of 16 cores and 64 GiB each, and a processor.
  void topology(std::string_view name) {
    Json object = name_only(name);
    object["apiVersion"] = Json("topology.node.k8s.io/v1alpha1");
    object["kind"] = Json("NodeResourceTopology");
    object["metadata"]["annotations"] =
        Json::object({{"node.koordinator.sh/cpu-basic-info", R"({"cpuModel":"Model A","hyperThreadEnabled":true})"}});
    object["topologyPolicies"] = *Json::parse(R"(["None"])");
    object["zones"] = *Json::parse(R"([
      {"name":"node-0","type":"Node","costs":[{"name":"node-0","value":10}],"resources":[
        {"name":"cpu","capacity":"16","allocatable":"16","available":"16"},
        {"name":"memory","capacity":"64Gi","allocatable":"64Gi","available":"64Gi"}]},
      {"name":"node-1","type":"Node","resources":[
        {"name":"cpu","capacity":"16","allocatable":"16","available":"16"},
        {"name":"memory","capacity":"64Gi","allocatable":"64Gi","available":"64Gi"}]}])");
    must("POST", kZonesAndRatiosTopologiesPath, object);
  }
  Json read_topology(std::string_view name) {
    return must("GET", base::cat(kZonesAndRatiosTopologiesPath, "/", name), nullptr);
  }
  // Of one resource of a zone: "capacity/allocatable/available".
  std::string zone(std::string_view node, std::size_t place, std::string_view resource) {
    const Json topology = read_topology(node);
    for (const Json& each : topology.at("zones")->as_array()[place].at("resources")->as_array()) {
      if (each.text_at("name") != resource) continue;
      return base::cat(each.text_at("capacity"), "/", each.text_at("allocatable"), "/", each.text_at("available"));
    }
    return "";
  }
  void foreign_zone_write(std::string_view node, std::string_view path, std::string_view amount) {
    must("PATCH", base::cat(kZonesAndRatiosTopologiesPath, "/", node),
         Json::array({Json::object({{"op", "replace"}, {"path", Json(path)}, {"value", Json(amount)}})}),
         "application/json-patch+json");
  }
  std::string annotation(std::string_view node, std::string_view key) {
    return std::string(read_node(node).text_at("metadata", "annotations", key));
  }
};

// Contract 5.3: system use is shared alike: 16 − 6.4 − 1 = 8.6 cores in each zone.
TEST_F(ZonesAndRatiosTest, WritesOnlyTheZoneAmountsOfTheTopology) {
  topology_kind();
  node("n1");
  topology("n1");
  metric("n1", "2");
  start();
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "8600/8600/8600");
  EXPECT_EQ(zone("n1", 1, kBatchCpu), "8600/8600/8600");
  EXPECT_EQ(zone("n1", 1, "kubernetes.io/batch-memory"), "42520176231/42520176231/42520176231");
  const Json after = read_topology("n1");
  EXPECT_EQ(*after.at("zones")->as_array()[0].at("costs"), *Json::parse(R"([{"name":"node-0","value":10}])"));
  EXPECT_EQ(*after.at("topologyPolicies"), *Json::parse(R"(["None"])"));
  EXPECT_NE(after.at("metadata", "annotations", "node.koordinator.sh/cpu-basic-info"), nullptr);
  const auto before = after.text_at("metadata", "resourceVersion");
  run_for(4min);
  EXPECT_EQ(read_topology("n1").text_at("metadata", "resourceVersion"), before) << "nothing moved";
}

// Contract 5.6: gated by the same diff threshold; refreshed by their own time.
TEST_F(ZonesAndRatiosTest, ZonesFollowLargeChangesAtOnceAndSmallOnesWhenDue) {
  topology_kind();
  node("n1");
  topology("n1");
  metric("n1", "2");
  start();
  metric("n1", "3");  // 0.5 of 8.6 cores
  run_for(1s);
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "8600/8600/8600");
  run_for(310s);
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "8100/8100/8100");
  metric("n1", "7");
  run_for(1s);
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "6100/6100/6100");
}

// What is not worth a write of the node is not written to its zones either: together they never say more than it does,
// and a topology that is made anew gets what the node carries.
TEST_F(ZonesAndRatiosTest, ZonesAreNotWrittenBeforeTheirNode) {
  topology_kind();
  node("n1");
  Json map = name_only("tidemark-config");
  map["data"] = Json::object({{"config.yaml",
                               "{schema: 1, mode: enforce, profile: tidemark, motion: {deadBandPermille: 0, "
                               "slewPermillePerMinute: 1000}}"}});
  must("POST", testing::kConfigPath, map);
  metric("n1", "2");
  start();
  metric("n1", "2.001");
  run_for(5s);
  metric("n1", "1.5");
  run_for(5s);
  ASSERT_EQ(offered("n1"), "17199") << "less than a tenth waits for the next refresh";
  topology("n1");
  run_for(5s);
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "8599500m/8599500m/8599500m");
  const auto milli = [&](std::size_t place) {
    const std::string text = zone("n1", place, kBatchCpu);
    return model::Quantity::parse(text.substr(0, text.find('/')))->scaled_value_saturated(-3);
  };
  std::int64_t least = 20'000;
  for (int minute = 0; minute < 30; ++minute) {
    metric("n1", base::cat("1.", minute % 7 < 4 ? 50 + minute : 60 - minute));
    run_for(1min);
    const std::int64_t node_milli = *base::parse_int(offered("n1"));
    ASSERT_LE(milli(0) + milli(1), node_milli * 1000) << minute;
    least = std::min(least, node_milli - (milli(0) + milli(1)) / 1000);
  }
  EXPECT_EQ(offered("n1"), "17410") << "it was written meanwhile";
  EXPECT_LE(least, 1) << "they reach it";
}

// What the pool's ledger takes from the node is taken from its zones, at once, and off leaves nothing on them.
TEST_F(ZonesAndRatiosTest, ZonesFollowTheOfferOfTheNode) {
  topology_kind();
  node("n1");
  topology("n1");
  metric("n1", "2");
  Json map = name_only("tidemark-config");
  const auto ledger = [&](int most) {
    map["data"] = Json::object(
        {{"config.yaml",
          Json(base::cat("schema: 1\nmode: enforce\nprofile: tidemark\nledger: {kubernetes: {maxPercent: ", most,
                         "}}\n"))}});
  };
  ledger(50);
  must("POST", testing::kConfigPath, map);
  start();
  metric("n1", "2.001");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "8599");
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "4299250m/4299250m/4299250m");
  ledger(48);
  must("PUT", base::cat(testing::kConfigPath, "/tidemark-config"), map);
  metric("n1", "2.002");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "8255") << "a cut is written at once";
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "4127260m/4127260m/4127260m");
  settings(Json::object({{"enable", false}}));
  run_for(5s);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "0/0/0");
}

TEST_F(ZonesAndRatiosTest, RepairsAForeignWriteToAZone) {
  topology_kind();
  node("n1");
  topology("n1");
  metric("n1", "2");
  auto& replica = start();
  foreign_zone_write("n1", "/zones/1/resources/1/available", "8601");
  run_for(1s);
  EXPECT_EQ(zone("n1", 1, kBatchCpu), "8600/8600/8600");
  EXPECT_EQ(replica.metric(R"(tidemark_manager_zone_writes_total{reason="TM-WRITE-008"})"), 1);
  // A change of what the agent writes decides anew: half of the cores are gone.
  foreign_zone_write("n1", "/zones/1/resources/0/allocatable", "8");
  run_for(1s);
  EXPECT_EQ(zone("n1", 1, kBatchCpu), "3800/3800/3800");
}

TEST_F(ZonesAndRatiosTest, WorksWithoutTheKindAndFindsItLater) {
  node("n1");
  metric("n1", "2");
  start();
  EXPECT_EQ(offered("n1"), "17200");
  topology_kind();
  topology("n1");
  run_for(31s);
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "8600/8600/8600");
}

// Contract 5.7 and 5.3: the ratio by the model, its text, and batch-cpu times the ratio on the node and in zones.
TEST_F(ZonesAndRatiosTest, CpuRatioIsPublishedAndApplied) {
  topology_kind();
  node("n1");
  metric("n1", "2");
  start();
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/cpu-normalization-ratio"), "1.00");
  setting("cpu-normalization-config", R"({"enable":true,"ratioModel":{"Model A":{"hyperThreadEnabledRatio":1.25}}})");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200") << "the model is not read yet";
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/cpu-normalization-ratio"), "1.00") << "so the annotation stays";
  topology("n1");
  run_for(31s);
  EXPECT_EQ(offered("n1"), "21500");
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/cpu-normalization-ratio"), "1.25");
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "10750/10750/10750");
  run_for(1s);
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/resource-amplification-ratio"), R"({"cpu":1.25})");
  setting("resource-amplification-config", R"({"enable":true,"resourceAmplificationRatio":{"cpu":2,"memory":1.5}})");
  run_for(1s);
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/resource-amplification-ratio"), R"({"cpu":2.50,"memory":1.50})");
  settings(Json::object({{"enable", false}}));
  run_for(1s);
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/resource-amplification-ratio"), "");
  EXPECT_EQ(annotation("n1", "node.koordinator.sh/cpu-normalization-ratio"), "1.25") << "contract 5.5";
  EXPECT_EQ(zone("n1", 0, kBatchCpu), "10750/10750/10750") << "contract 5.5, trap: zones keep what they carry";
}

}  // namespace
}  // namespace tidemark::manager
