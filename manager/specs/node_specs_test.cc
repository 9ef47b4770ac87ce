// NodeSLO and NodeMetric specs by the whole manager, against the API server in memory, under simulated time.
#include "manager/specs/node_specs.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kMerge;
using testing::kNodeMetricsPath;
using testing::kNodeSlosPath;

constexpr std::string_view kPools = R"({"clusterStrategy":{"enable":true},"nodeStrategies":[
  {"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"cpuSuppressThresholdPercent":50}]})";

class NodeSpecsTest : public testing::InMemoryCluster {
 protected:
  std::optional<Json> object(std::string_view path, std::string_view name) {
    const auto response = call("GET", base::cat(path, "/", name), nullptr);
    if (response.status == 404) return std::nullopt;
    EXPECT_EQ(response.status, 200) << response.body;
    return *Json::parse(response.body);
  }
  std::optional<Json> slo(std::string_view name) { return object(kNodeSlosPath, name); }
  std::optional<Json> metric_object(std::string_view name) { return object(kNodeMetricsPath, name); }
  Json threshold(std::string_view name) {
    const auto found = slo(name);
    const Json* percent =
        found ? found->at("spec", "resourceUsedThresholdWithBE", "cpuSuppressThresholdPercent") : nullptr;
    return percent == nullptr ? Json(nullptr) : *percent;
  }
  Json interval(std::string_view name) {
    const auto found = metric_object(name);
    const Json* seconds = found ? found->at("spec", "metricCollectPolicy", "reportIntervalSeconds") : nullptr;
    return seconds == nullptr ? Json(nullptr) : *seconds;
  }
  std::string slo_revision(std::string_view name) {
    return std::string(slo(name)->text_at("metadata", "resourceVersion"));
  }
  void patch(std::string_view path, std::string_view name, std::string_view merge) {
    must("PATCH", base::cat(path, "/", name), *Json::parse(merge), kMerge);
    run_for(1s);
  }
  void patch_node(std::string_view name, std::string_view merge) { patch("/api/v1/nodes", name, merge); }
  void remove(std::string_view path, std::string_view name) {
    EXPECT_EQ(call("DELETE", base::cat(path, "/", name), nullptr).status, 200);
    run_for(1s);
  }
};

TEST_F(NodeSpecsTest, CreatesBothObjectsForEveryNode) {
  setting("resource-threshold-config", kPools);
  node("n1", Json::object({{"pool", "a"}}));
  start();
  EXPECT_EQ(threshold("n1"), Json(50));
  EXPECT_EQ(slo("n1")->at("spec", "extensions")->dump(), R"({"Object":{}})");
  EXPECT_EQ(interval("n1"), Json(60));
  EXPECT_EQ(metric_object("n1")->at("spec", "metricCollectPolicy", "nodeAggregatePolicy", "durations")->dump(),
            R"(["5m0s","10m0s","30m0s"])");

  node("n2");
  run_for(1s);
  EXPECT_EQ(threshold("n2"), Json(65));
  EXPECT_EQ(interval("n2"), Json(60));
}

TEST_F(NodeSpecsTest, CreatesMissingNodeMetricsWhileItObserves) {
  const auto interval_of = [](int seconds) {
    return base::cat(R"({"enable":true,"metricReportIntervalSeconds":)", seconds, "}");
  };
  setting("colocation-config", interval_of(30));
  must("POST", testing::kConfigPath,
       Json::object({{"metadata", Json::object({{"name", "tidemark-config"}})},
                     {"data", Json::object({{"config.yaml", "schema: 1\nmode: observe\n"}})}}));
  node("n1");
  start();
  EXPECT_EQ(interval("n1"), Json(30)) << "without it an agent reports nothing";
  EXPECT_FALSE(slo("n1"));
  setting("colocation-config", interval_of(20));
  run_for(10s);
  EXPECT_EQ(interval("n1"), Json(30)) << "an existing one stays";
}

TEST_F(NodeSpecsTest, PoolAndNodeSettingsOverrideClusterSettings) {
  setting("resource-threshold-config", kPools);
  Json map = Json::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  map["metadata"] = Json::object({{"name", model::kTidemarkConfigName}});
  map["data"] = Json::object(
      {{model::kTidemarkConfigKey,
        R"({"schema":1,"mode":"enforce","pools":[{"name":"night","nodeSelector":{"matchLabels":{"time":"night"}},
    "nodeSlo":{"resourceUsedThresholdWithBE":{"cpuSuppressThresholdPercent":45}}}]})"}});
  must("POST", testing::kConfigPath, map);
  node("n1", Json::object({{"time", "night"}, {"pool", "a"}}));
  node("n2", Json::object({{"pool", "a"}}));
  start();
  EXPECT_EQ(threshold("n1"), Json(45));
  EXPECT_EQ(threshold("n2"), Json(50)) << "another pool";

  const auto annotate = [&](std::string_view text) {
    Json value = text.empty() ? Json(nullptr) : Json(text);
    patch_node(
        "n2",
        Json::object(
            {{"metadata", Json::object({{"annotations", Json::object({{"tidemark.io/settings", std::move(value)}})}})}})
            .dump());
  };
  const auto remembered = [&] {
    const auto found = slo("n2");
    const Json* settings = found->at("spec", "extensions", "Object", "tidemark", "settings");
    return settings == nullptr ? "" : settings->dump();
  };
  annotate("schema: 1\nnodeSlo: {resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 33}}");
  EXPECT_EQ(threshold("n2"), Json(33));
  EXPECT_EQ(remembered(),
            R"({"schema":1,"nodeSlo":{"resourceUsedThresholdWithBE":{"cpuSuppressThresholdPercent":33}}})");

  // A bad text changes nothing, over a restart too, and edits of the cluster still come through.
  annotate("schema: 1\nnodeSlo: {resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 12, enable: maybe}}");
  EXPECT_EQ(threshold("n2"), Json(33));
  EXPECT_EQ(replicas[0]->metric("tidemark_node_settings_invalid"), 1);
  replicas.clear();
  start();
  setting("resource-threshold-config", R"({"clusterStrategy":{"enable":true,"memoryEvictThresholdPercent":77}})");
  run_for(1s);
  EXPECT_EQ(threshold("n2"), Json(33));
  EXPECT_EQ(*slo("n2")->at("spec", "resourceUsedThresholdWithBE", "memoryEvictThresholdPercent"), Json(77));

  annotate("");
  EXPECT_EQ(threshold("n2"), Json(65));
  EXPECT_EQ(remembered(), "") << "nothing of it stays behind";
  EXPECT_EQ(replicas[0]->metric("tidemark_node_settings_invalid"), 0);
}

// The hash on a node means that the settings are in force there, for its agent too.
TEST_F(NodeSpecsTest, PublishesTheHashOfAnEditOnceInTheNodeSlo) {
  constexpr int kNodes = 60;  // more than the budget writes at once
  setting("resource-threshold-config", R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":60}})");
  for (int i = 0; i < kNodes; ++i) {
    node(base::cat("n", i));
    metric(base::cat("n", i), "2");
  }
  start();
  run_for(30s);
  const auto hash_of = [&](int i) {
    const Json found = read_node(base::cat("n", i));
    return std::string(found.text_at("metadata", "annotations", model::kConfigHashAnnotation));
  };
  const std::string before = hash_of(0);
  ASSERT_FALSE(before.empty());
  setting("resource-threshold-config", R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":40}})");
  int told = 0;
  int steps_between = 0;
  for (int step = 0; step < 300 && told < kNodes; ++step) {
    run_for(100ms);
    told = 0;
    for (int i = 0; i < kNodes; ++i) {
      if (hash_of(i) == before) continue;
      ++told;
      EXPECT_EQ(threshold(base::cat("n", i)), Json(40)) << "n" << i;
    }
    if (told > 0 && told < kNodes) ++steps_between;
  }
  EXPECT_EQ(told, kNodes);
  EXPECT_GT(steps_between, 0) << "the test saw them on their way";
}

// ---- a second writer of the same objects ----

class RivalTest : public NodeSpecsTest {
 protected:
  // As another manager writes a NodeSLO or the spec of a NodeMetric.
  void rival(std::string_view path, std::string_view name, std::string_view spec) {
    must("PATCH", base::cat(path, "/", name, "?fieldManager=koord-manager"),
         *Json::parse(base::cat(R"({"spec":)", spec, "}")), kMerge);
    run_for(2s);
  }
  void rival_slo(std::string_view name, int percent) {
    rival(kNodeSlosPath, name,
          base::cat(R"({"resourceUsedThresholdWithBE":{"cpuSuppressThresholdPercent":)", percent, "}}"));
  }
  std::string condition(std::string_view name) {
    const Json found = read_node(name);
    const Json* list = found.at("status", "conditions");
    if (list == nullptr) return "";
    for (const Json& each : list->as_array()) {
      if (each.text_at("type") == model::kStateCondition) return std::string(each.text_at("message"));
    }
    return "";
  }
  double contested(std::string_view component) {
    return replicas.back()->metric(base::cat("tidemark_manager_contested_nodes{component=\"", component, "\"}"));
  }
};

TEST_F(RivalTest, LeavesARepeatedlyReplacedObjectToTheSecondWriter) {
  node("n1");
  node("n2");
  metric("n1", "2");
  start();
  rival_slo("n1", 11);
  EXPECT_EQ(threshold("n1"), Json(65)) << "once is a slip, and repaired";
  rival_slo("n1", 12);
  EXPECT_EQ(threshold("n1"), Json(65));
  rival_slo("n1", 13);
  EXPECT_EQ(threshold("n1"), Json(13)) << "left to the other one";
  EXPECT_EQ(contested("nodeslo"), 1);
  EXPECT_EQ(replicas[0]->metric(R"(tidemark_manager_overwrites_total{component="nodeslo"})"), 3);
  EXPECT_NE(condition("n1").find("NodeSLO (by an unnamed writer)"), std::string::npos) << condition("n1");
  EXPECT_EQ(interval("n1"), Json(60)) << "the other objects go on";
  EXPECT_NE(offered("n1"), "");
  EXPECT_EQ(threshold("n2"), Json(65));

  // The next process leaves the objects at once, and writes again after no other program wrote for long enough.
  replicas.clear();
  start("two");
  run_for(1min);
  EXPECT_EQ(threshold("n1"), Json(13));
  EXPECT_EQ(contested("nodeslo"), 1);
  EXPECT_NE(condition("n1").find("NodeSLO (by an unnamed writer)"), std::string::npos) << condition("n1");
  run_for(10min);
  EXPECT_EQ(threshold("n1"), Json(65));
  EXPECT_EQ(contested("nodeslo"), 0);
  run_for(1min);
  EXPECT_EQ(condition("n1").find("NodeSLO"), std::string::npos) << condition("n1");
}

TEST_F(RivalTest, EditsOfTheSettingsAreNoSecondWriter) {
  node("n1");
  start();
  for (const int percent : {40, 41, 42, 43, 44, 45}) {
    setting("resource-threshold-config",
            base::cat(R"({"clusterStrategy":{"cpuSuppressThresholdPercent":)", percent, "}}"));
    run_for(2s);
    EXPECT_EQ(threshold("n1"), Json(percent));
  }
  EXPECT_EQ(contested("nodeslo"), 0);
  EXPECT_EQ(condition("n1"), "");
}

TEST_F(NodeSpecsTest, WritesNothingWithoutChange) {
  node("n1");
  metric("n1", "2");
  start();
  const std::string before = slo_revision("n1");
  const Json generation = *metric_object("n1")->at("metadata", "generation");
  for (int i = 0; i < 5; ++i) {
    metric("n1", "3");
    patch_node("n1", R"({"metadata":{"annotations":{"other":"x"}}})");
    run_for(1min);
  }
  EXPECT_EQ(slo_revision("n1"), before);
  EXPECT_EQ(*metric_object("n1")->at("metadata", "generation"), generation);
  EXPECT_EQ(
      replicas[0]->metric(R"(tidemark_manager_node_object_writes_total{component="nodeslo",reason="TM-OBJECT-002"})"),
      0);
}

// Contract 4.4, and our own inputs beside it: labels, the bandwidth annotation, the strategy annotation.
TEST_F(NodeSpecsTest, FollowsAnnotationsOfTheNode) {
  setting("resource-threshold-config", kPools);
  settings(Json::object({{"enable", true}, {"metricReportIntervalSeconds", 30}}));
  node("n1");
  start();
  EXPECT_EQ(threshold("n1"), Json(65));
  EXPECT_EQ(interval("n1"), Json(30));
  patch_node("n1", R"({"metadata":{"labels":{"pool":"a"}}})");
  EXPECT_EQ(threshold("n1"), Json(50));
  patch_node("n1", R"({"metadata":{"labels":{"pool":null}}})");
  EXPECT_EQ(threshold("n1"), Json(65));

  const auto bandwidth = [&] {
    return std::string(slo("n1")->text_at("spec", "systemStrategy", "totalNetworkBandwidth"));
  };
  EXPECT_EQ(bandwidth(), "0");
  patch_node("n1", R"({"metadata":{"annotations":{"node.koordinator.sh/network-bandwidth":"99M"}}})");
  EXPECT_EQ(bandwidth(), "99M");
  patch_node("n1", R"({"metadata":{"annotations":{"node.koordinator.sh/network-bandwidth":"fast"}}})");
  EXPECT_EQ(slo("n1")->at("spec", "systemStrategy"), nullptr);
  patch_node("n1", R"({"metadata":{"annotations":{"node.koordinator.sh/network-bandwidth":null}}})");
  EXPECT_EQ(bandwidth(), "0");

  patch_node(
      "n1",
      R"({"metadata":{"annotations":{"node.koordinator.sh/colocation-strategy":"{\"metricReportIntervalSeconds\":10}"}}})");
  EXPECT_EQ(interval("n1"), Json(10));
  patch_node("n1", R"({"metadata":{"annotations":{"node.koordinator.sh/colocation-strategy":"{\"enable\":false}"}}})");
  EXPECT_EQ(interval("n1"), Json(60));
}

TEST_F(NodeSpecsTest, SettingsReachEveryNode) {
  node("n1");
  node("n2");
  start();
  setting("resource-threshold-config", R"({"clusterStrategy":{"cpuSuppressThresholdPercent":55}})");
  settings(Json::object({{"enable", true}, {"metricReportIntervalSeconds", 20}}));
  run_for(1s);
  for (const char* name : {"n1", "n2"}) {
    EXPECT_EQ(threshold(name), Json(55)) << name;
    EXPECT_EQ(interval(name), Json(20)) << name;
  }
  // Only the part that differs is written, and extensions of another program stay.
  patch(kNodeSlosPath, "n1", R"({"spec":{"extensions":{"Object":{"mine":{"x":1}}}}})");
  setting("resource-threshold-config", nullptr);
  run_for(1s);
  EXPECT_EQ(threshold("n1"), Json(65));
  EXPECT_EQ(slo("n1")->at("spec", "extensions")->dump(), R"({"Object":{"mine":{"x":1}}})");
}

TEST_F(NodeSpecsTest, RepairsAForeignEdit) {
  node("n1");
  start();
  patch(kNodeSlosPath, "n1",
        R"({"spec":{"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":9}}})");
  EXPECT_EQ(threshold("n1"), Json(65));
  EXPECT_EQ(*slo("n1")->at("spec", "resourceUsedThresholdWithBE", "enable"), Json(false));
  patch(kNodeSlosPath, "n1", R"({"spec":{"cpuBurstStrategy":null,"hostApplications":[{"name":"x"}]}})");
  EXPECT_EQ(slo("n1")->text_at("spec", "cpuBurstStrategy", "policy"), "none");
  EXPECT_EQ(slo("n1")->at("spec", "hostApplications"), nullptr);
  run_for(6min);  // a third one sooner would be another manager's
  patch(kNodeSlosPath, "n1", R"({"spec":null})");
  EXPECT_EQ(threshold("n1"), Json(65));
  remove(kNodeSlosPath, "n1");
  EXPECT_EQ(threshold("n1"), Json(65));

  patch(kNodeMetricsPath, "n1", R"({"spec":{"metricCollectPolicy":{"reportIntervalSeconds":5}}})");
  EXPECT_EQ(interval("n1"), Json(60));
  remove(kNodeMetricsPath, "n1");
  EXPECT_EQ(interval("n1"), Json(60));
}

TEST_F(NodeSpecsTest, DeletesObjectsOfNodesRemovedWhileDown) {
  node("n1");
  node("n2");
  start();
  ASSERT_TRUE(slo("n1"));
  remove("/api/v1/nodes", "n1");
  EXPECT_TRUE(slo("n1"));
  run_for(NodeObjects::kOrphanGrace);
  EXPECT_FALSE(slo("n1"));
  EXPECT_FALSE(metric_object("n1"));
  EXPECT_TRUE(slo("n2"));

  replicas.clear();
  remove("/api/v1/nodes", "n2");
  EXPECT_TRUE(slo("n2"));
  start();
  run_for(NodeObjects::kOrphanGrace);
  EXPECT_FALSE(slo("n2"));
  EXPECT_FALSE(metric_object("n2"));
}

// A kubelet that registers again under its name goes on being sold: what its agent reported is still true.
TEST_F(NodeSpecsTest, RecreatedNodeKeepsItsObjects) {
  node("n1");
  metric("n1", "2");
  start();
  const Json uid = *metric_object("n1")->at("metadata", "uid");
  remove("/api/v1/nodes", "n1");
  run_for(NodeObjects::kOrphanGrace - 3s);
  node("n1");
  run_for(1min);
  EXPECT_EQ(*metric_object("n1")->at("metadata", "uid"), uid);
  EXPECT_EQ(offered("n1"), "17200");
  // The next time counts from the start.
  remove("/api/v1/nodes", "n1");
  run_for(NodeObjects::kOrphanGrace - 3s);
  EXPECT_TRUE(metric_object("n1"));
  run_for(4s);
  EXPECT_FALSE(metric_object("n1"));
}

// Contract 4.3: error status keeps existing specs. Contract 5.8: a new spec follows the strategy in force.
TEST_F(NodeSpecsTest, InvalidSettingsLeaveMetricSpecsUnchanged) {
  settings(Json::object({{"enable", true}, {"metricReportIntervalSeconds", 30}}));
  node("n1");
  start();
  EXPECT_EQ(interval("n1"), Json(30));
  setting("colocation-config", "{");
  run_for(1s);
  patch(kNodeMetricsPath, "n1", R"({"spec":{"metricCollectPolicy":{"reportIntervalSeconds":5}}})");
  EXPECT_EQ(interval("n1"), Json(5));
  node("n2");
  run_for(1s);
  EXPECT_EQ(interval("n2"), Json(30));
  settings(Json::object({{"enable", true}, {"metricReportIntervalSeconds", 40}}));
  run_for(1s);
  EXPECT_EQ(interval("n1"), Json(40));
  EXPECT_EQ(interval("n2"), Json(40));
}

TEST_F(NodeSpecsTest, InvalidSettingsFromTheStartCreateOnlyNodeSlos) {
  setting("colocation-config", "{");
  node("n1");
  start();
  EXPECT_FALSE(metric_object("n1"));
  EXPECT_EQ(threshold("n1"), Json(65));
  settings(Json::object({{"enable", true}}));
  run_for(1s);
  EXPECT_EQ(interval("n1"), Json(60));
}

TEST_F(NodeSpecsTest, OnlyTheLeaderWritesAndItsSuccessorContinues) {
  node("n1");
  start("one", true);
  start("two", true);
  ASSERT_TRUE(slo("n1"));
  run_for(30s);
  EXPECT_EQ(replicas[1]->metric(R"(slo_controller_nodeslo_reconcile_count{reason="createNodeSLO",status="succeeded"})"),
            0);
  replicas.erase(replicas.begin());
  setting("resource-threshold-config", R"({"clusterStrategy":{"cpuSuppressThresholdPercent":55}})");
  run_for(5s);
  EXPECT_EQ(threshold("n1"), Json(65));  // there is no leader
  run_for(30s);
  EXPECT_EQ(threshold("n1"), Json(55));
}

// The API server's schema has the ranges: what it refuses is not tried again and again, and the old object stays.
TEST_F(NodeSpecsTest, WriteRefusedByTheSchemaLeavesTheObjectUnchanged) {
  node("n1");
  auto& replica = start();
  const std::string_view refused = R"(tidemark_manager_node_objects_refused_total{component="nodeslo"})";
  setting("resource-threshold-config", R"({"clusterStrategy":{"cpuSuppressThresholdPercent":101}})");
  run_for(1s);
  EXPECT_EQ(threshold("n1"), Json(65));
  EXPECT_EQ(replica.metric(refused), 1);
  run_for(4min);
  EXPECT_EQ(replica.metric(refused), 1);
  run_for(2min);
  EXPECT_EQ(replica.metric(refused), 2);
  setting("resource-threshold-config", R"({"clusterStrategy":{"cpuSuppressThresholdPercent":100}})");
  run_for(1s);
  EXPECT_EQ(threshold("n1"), Json(100));
}

// A share of the request budget, so that what a node may sell never waits behind its specs.
TEST_F(NodeSpecsTest, SpecWritesUseHalfTheRequestRate) {
  constexpr int kNodes = 200;
  for (int i = 0; i < kNodes; ++i) node(base::cat("n", i));
  ManagerOptions options;
  options.queries_per_second = 30;
  options.query_burst = 50;
  auto& replica = start("one", false, options);  // half of both is theirs
  const auto written = [&] {
    return replica.metric(R"(slo_controller_nodeslo_reconcile_count{reason="createNodeSLO",status="succeeded"})") +
           replica.metric(R"(slo_controller_nodemetric_reconcile_count{reason="createNodeMetric",status="succeeded"})");
  };
  const double first = written();
  EXPECT_GE(first, 25);
  EXPECT_LE(first, 25 + 15);
  run_for(10s);
  EXPECT_NEAR(written() - first, 150, 2);
  run_for(30s);
  EXPECT_EQ(written(), 2 * kNodes);
}

TEST_F(NodeSpecsTest, ExportsTheCountersOfKoordinator) {
  node("n1");
  auto& replica = start();
  EXPECT_EQ(replica.metric(R"(slo_controller_nodeslo_reconcile_count{reason="createNodeSLO",status="succeeded"})"), 1);
  EXPECT_GT(
      replica.metric(R"(slo_controller_nodeslo_spec_parse_count{reason="getSystemConfigSpec",status="succeeded"})"), 0);
  EXPECT_GT(
      replica.metric(
          R"(slo_controller_nodemetric_spec_parse_count{reason="getNodeMetricCollectPolicy",status="succeeded"})"),
      0);
  patch_node("n1", R"({"metadata":{"annotations":{"node.koordinator.sh/network-bandwidth":"fast"}}})");
  EXPECT_GT(replica.metric(R"(slo_controller_nodeslo_spec_parse_count{reason="getSystemConfigSpec",status="failed"})"),
            0);
  remove("/api/v1/nodes", "n1");
  run_for(NodeObjects::kOrphanGrace);
  EXPECT_EQ(replica.metric(R"(slo_controller_nodeslo_reconcile_count{reason="deleteNodeSLO",status="succeeded"})"), 1);
}

// The agent's line goes up at night with the water line, a ramp in steps, and back without any event.
TEST_F(NodeSpecsTest, AgentThresholdsFollowOnlyTheCalendarOfThePool) {
  node("n1", Json::object({{"pool", "a"}}));
  node("n2");
  Json map = name_only("tidemark-config");
  map["data"] = Json::object({{"config.yaml", R"({schema: 1, mode: enforce,
    calendars: [{name: night-rise, zone: UTC, entries: [
      {name: night, cron: "0 22 * * *", until: "0 6 * * *", cpu: 78, memory: 75, rampUp: 60m, rampDown: 60m}]}],
    pools: [{name: spark, nodeSelector: {matchLabels: {pool: a}}, calendar: night-rise}]})"}});
  const std::int64_t day_s = 24 * 3600;
  const auto until = [&](base::Duration time_of_day) {
    const auto now = clock.wall().since_epoch;
    const base::Duration today =
        std::chrono::seconds(std::chrono::duration_cast<std::chrono::seconds>(now).count() / day_s * day_s);
    base::Duration wanted = today + time_of_day;
    if (wanted < now) wanted += std::chrono::hours(24);
    run_for(wanted - now);
  };
  until(21h);
  must("POST", testing::kConfigPath, map);
  start();
  EXPECT_EQ(threshold("n1"), Json(65));
  const std::string before = slo_revision("n1");
  until(22h + 20min);  // a third of 18 points: 6, so the step of 5
  EXPECT_EQ(threshold("n1"), Json(70));
  until(23h + 1min);
  EXPECT_EQ(threshold("n1"), Json(83));
  EXPECT_EQ(slo("n1")->at("spec", "resourceUsedThresholdWithBE", "memoryEvictThresholdPercent")->dump(), "80");
  const auto writes = *base::parse_int(slo_revision("n1")) - *base::parse_int(before);
  EXPECT_GT(writes, 0);
  until(6h + 1min);
  EXPECT_EQ(threshold("n1"), Json(65));
  EXPECT_EQ(threshold("n2"), Json(65));
  EXPECT_EQ(slo("n2")->at("metadata", "generation")->dump(), "1") << "its pool has no calendar: never written again";
  EXPECT_LE(slo("n1")->at("metadata", "generation")->as_int(), 11) << "a ramp costs a few writes";
}

}  // namespace
}  // namespace tidemark::manager
