// The whole manager against the API server in memory, under simulated time: what depends on durations is tested here,
// what depends on a real server in tests/cluster.
#include "manager/manager.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/json.h"
#include "manager/testing/cluster.h"
#include "model/annotations.h"
#include "model/names.h"
#include "net/http_server.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kBatchCpu;
using testing::kConfigPath;
using testing::kMerge;
using testing::kNodeMetricsPath;
using testing::Replica;
using ManagerTest = testing::InMemoryCluster;

constexpr std::string_view kLeasePath =
    "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager";

TEST_F(ManagerTest, WritesAnOfferOnceForUnchangedMetrics) {
  node("n1");
  metric("n1", "2");
  start();
  EXPECT_EQ(offered("n1"), "17200");
  const std::string before = revision("n1");
  run_for(4min);
  EXPECT_EQ(revision("n1"), before);
}

// Contract 5.6: a status write older than updateTimeThresholdSeconds (300, strictly) is due again.
TEST_F(ManagerTest, WritesSmallChangesAfterTheTimeThreshold) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  const std::string_view writes = R"(tidemark_manager_capacity_writes_total{reason="TM-WRITE-002"})";
  metric("n1", "2.1");
  run_for(290s);
  EXPECT_EQ(offered("n1"), "17200");
  run_for(20s);
  EXPECT_EQ(offered("n1"), "17100");
  EXPECT_EQ(replica.metric(writes), 1);
}

// A write that would change nothing is left out, and the time runs from it as it does from the peer's.
TEST_F(ManagerTest, SkippedRefreshIsDueAfterTheSameInterval) {
  node("n1");
  metric("n1", "2");
  start();
  run_for(310s);
  metric("n1", "2.1");
  run_for(280s);
  EXPECT_EQ(offered("n1"), "17200");
  run_for(30s);
  EXPECT_EQ(offered("n1"), "17100");
}

// Counted where requests arrive: the server takes a patch that changes nothing without a new revision.
TEST_F(ManagerTest, WritesNothingForUnchangedAmounts) {
  constexpr int kNodes = 20;
  const auto name_of = [](int i) { return base::cat("n", i); };
  const auto all_report = [&] {
    for (int i = 0; i < kNodes; ++i) metric(name_of(i), "2");
  };
  for (int i = 0; i < kNodes; ++i) node(name_of(i));
  all_report();
  int writes = 0;
  const net::HttpHandler handler = [&writes, inner = server->handler()](net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.head();
    if (request.method != "GET" && request.target.starts_with("/api/v1/nodes")) ++writes;
    return inner(exchange);
  };
  ManagerOptions options;
  options.leader_elect = false;
  replicas.push_back(std::make_unique<Replica>(loop, handler, log, "one", 100, options));
  run_for(1min);
  for (int i = 0; i < kNodes; ++i) ASSERT_EQ(offered(name_of(i)), "17200");
  ASSERT_GE(writes, kNodes);
  writes = 0;
  for (int minute = 0; minute < 60; ++minute) {
    all_report();
    run_for(1min);
  }
  EXPECT_EQ(writes, 0);
}

// Contract 5.5: degraded strictly after updateTime + degradeTimeMinutes (15).
TEST_F(ManagerTest, OfferEndsWhenItsMetricIsStale) {
  node("n1");
  metric("n1", "2");
  start();
  run_for(14min + 55s);
  EXPECT_EQ(offered("n1"), "17200");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "");
  metric("n1", "2");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
}

// Contract 4.3: a plugin that --noderesource-plugins leaves out touches nothing of its own, not even in a reset.
TEST_F(ManagerTest, LeavesFieldsOfDisabledPluginsUnchanged) {
  node("n1");
  const Json foreign = Json::object({{kBatchCpu, "4711"}});
  must("PATCH", "/api/v1/nodes/n1/status",
       Json::object({{"status", Json::object({{"capacity", foreign}, {"allocatable", foreign}})}}), kMerge);
  metric("n1", "2");
  ManagerOptions options;
  options.plugins.batch_resource = false;
  start("one", false, options);
  EXPECT_EQ(offered("n1"), "4711");
  EXPECT_NE(read_node("n1").at("status", "allocatable", "kubernetes.io/mid-cpu"), nullptr);
  run_for(16min);
  EXPECT_EQ(offered("n1"), "4711");
  EXPECT_EQ(read_node("n1").at("status", "allocatable", "kubernetes.io/mid-cpu"), nullptr) << "the metric is too old";
  EXPECT_EQ(read_node("n1").at("metadata", "annotations", "node.koordinator.sh/originExtendedAllocatable"), nullptr);
}

TEST_F(ManagerTest, WritesNoNodeWithAllPluginsOff) {
  node("n1");
  metric("n1", "2");
  const std::string before = revision("n1");
  ManagerOptions options;
  options.plugins.batch_resource = false;
  options.plugins.mid_resource = false;
  options.plugins.cpu_normalization = false;
  options.plugins.resource_amplification = false;
  start("one", false, options);
  run_for(16min);
  EXPECT_EQ(revision("n1"), before);
}

// Contract 11.1: --controllers; what is off writes nothing of its own.
TEST_F(ManagerTest, DisabledControllerWritesNothing) {
  node("n1");
  metric("n1", "2");
  const std::string before = revision("n1");
  const auto count = [this](std::string_view kind) {
    return must("GET", base::cat("/apis/slo.koordinator.sh/v1alpha1/", kind), nullptr).at("items")->as_array().size();
  };
  ManagerOptions options;
  options.controllers = {.node_resource = false, .node_metric = true, .node_slo = false};
  auto& replica = start("one", false, options);
  EXPECT_EQ(replica.manager->not_ready(), "");
  run_for(16min);
  EXPECT_EQ(revision("n1"), before);
  EXPECT_EQ(count("nodeslos"), 0u);
  replicas.clear();

  options.controllers = {.node_resource = true, .node_metric = false, .node_slo = true};
  node("n2");
  start("two", false, options);
  run_for(1min);
  EXPECT_NE(revision("n1"), before);
  EXPECT_EQ(count("nodeslos"), 2u);
  EXPECT_EQ(count("nodemetrics"), 1u) << "n2 gets none";
}

TEST_F(ManagerTest, SyncPeriodDecidesEveryNodeAgain) {
  node("n1");
  metric("n1", "2");
  auto& plain = start();
  ManagerOptions options;
  options.sync_period = 10s;
  auto& often = start("two", false, options);
  run_for(1min);  // both have settled
  const std::string_view looks = R"(tidemark_work_queue_adds_total{component="overcommit"})";
  const double plain_before = plain.metric(looks);
  const double often_before = often.metric(looks);
  run_for(35s);
  EXPECT_EQ(plain.metric(looks), plain_before);
  EXPECT_GE(often.metric(looks), often_before + 3);
}

// Contract 4.2: resourceDiffThreshold 0.1 of the old value, strictly.
TEST_F(ManagerTest, WritesOnlyLargeChangesAtOnce) {
  node("n1");
  metric("n1", "2");
  start();
  metric("n1", "3");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  metric("n1", "4");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "15200");
}

TEST_F(ManagerTest, RepairsAheadOfAThousandRoutineNodes) {
  for (int i = 0; i < 200; ++i) {
    node(base::cat("n", i));
    metric(base::cat("n", i), "2");
  }
  auto& replica = start();
  run_for(30s);
  ASSERT_EQ(offered("n199"), "17200");
  settings(Json::object({{"enable", true}, {"cpuReclaimThresholdPercent", 50}}));  // every node is due, 30 a second
  run_for(10ms);
  must("PATCH", "/api/v1/nodes/n199/status",
       Json::object({{"status", Json::object({{"allocatable", Json::object({{kBatchCpu, nullptr}})},
                                              {"capacity", Json::object({{kBatchCpu, nullptr}})}})}}),
       kMerge);
  run_for(1s);
  EXPECT_EQ(offered("n199"), "14k");
  EXPECT_GT(replica.metric(R"(tidemark_work_queue_depth{component="overcommit"})"), 50) << "the others still wait";
  run_for(30s);
  EXPECT_EQ(offered("n0"), "14k");
}

TEST_F(ManagerTest, CountsANewPodBeforeTheNextMetric) {
  settings(Json::object({{"enable", true}, {"cpuCalculatePolicy", "maxUsageRequest"}}));
  node("n1");
  metric("n1", "2");
  start();
  const Json requests = Json::object({{"requests", Json::object({{"cpu", "6"}, {"memory", "1Gi"}})}});
  Json pod = name_only("p1");
  pod["metadata"]["namespace"] = Json("default");
  pod["spec"] = Json::object(
      {{"nodeName", "n1"},
       {"containers", Json::array({Json::object({{"name", "c"}, {"image", "i"}, {"resources", requests}})})}});
  must("POST", "/api/v1/namespaces/default/pods", pod);
  run_for(1s);
  // Contract 5.3, trap: at node level a pod without a metric adds nothing to the larger of use and request.
  EXPECT_EQ(offered("n1"), "17200");
  settings(Json::object({{"enable", true}, {"memoryCalculatePolicy", "request"}}));
  run_for(1s);
  // Policy usage counts a pod without a metric by its request: 17.2 - 6 cores.
  EXPECT_EQ(offered("n1"), "11200");
}

TEST_F(ManagerTest, SuccessorWritesItsEpochToEveryNode) {
  node("n1");
  metric("n1", "2");
  auto& first = start("first", true);
  run_for(5s);
  start("second", true);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(read_node("n1").text_at("metadata", "annotations", "tidemark.io/capacity-epoch"), "1");
  EXPECT_EQ(first.metric("tidemark_leader"), 1);
  EXPECT_EQ(replicas[1]->metric("tidemark_leader"), 0);

  replicas.erase(replicas.begin());  // dies without giving the lease back
  metric("n1", "12");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "17200") << "no leader yet";
  run_for(20s);
  EXPECT_EQ(offered("n1"), "7200");
  EXPECT_EQ(read_node("n1").text_at("metadata", "annotations", "tidemark.io/capacity-epoch"), "2");
}

TEST_F(ManagerTest, LeaseShowsTheQueues) {
  start("first", true);
  run_for(5s);
  const auto queues =
      model::parse_queues(must("GET", kLeasePath, Json()).text_at("metadata", "annotations", model::kQueuesAnnotation));
  ASSERT_TRUE(queues) << queues.error().message;
  std::vector<std::string> names;
  for (const auto& each : *queues) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"overcommit", "state", "nodeslo", "nodemetric"}));
}

TEST_F(ManagerTest, OrderlyStopReleasesTheLease) {
  node("n1");
  metric("n1", "2");
  start("first", true);
  run_for(5s);
  start("second", true);
  net::testing::run_task(loop, clock, replicas[0]->manager->drain());
  replicas.erase(replicas.begin());
  metric("n1", "12");
  run_for(4s);
  EXPECT_EQ(offered("n1"), "7200");
}

// A node's annotation is held to no range; a negative time would bring the node back at once, for ever.
TEST_F(ManagerTest, NodeSettingsCannotCauseEndlessWrites) {
  node("n1");
  metric("n1", "2");
  must("PATCH", "/api/v1/nodes/n1",
       *Json::parse(R"({"metadata":{"annotations":{"node.koordinator.sh/colocation-strategy":
      "{\"updateTimeThresholdSeconds\":-5,\"resourceDiffThreshold\":-1}"}}})"),
       kMerge);
  auto& manager = start();
  const auto writes = [&] {
    double sum = 0;
    for (const char* reason : {"TM-WRITE-001", "TM-WRITE-002", "TM-WRITE-003", "TM-WRITE-004", "TM-WRITE-005"}) {
      sum += manager.metric(base::cat("tidemark_manager_capacity_writes_total{reason=\"", reason, "\"}"));
    }
    return sum;
  };
  ASSERT_EQ(offered("n1"), "17200");
  ASSERT_GE(writes(), 1);
  const auto before = *base::parse_int(revision("n1"));
  const double written = writes();
  run_for(20s);
  EXPECT_LE(*base::parse_int(revision("n1")) - before, 21);
  EXPECT_LE(writes() - written, 21);
}

TEST_F(ManagerTest, AbsurdTimesCauseNoTightLoopAndKeepTheOffer) {
  settings(*Json::parse(R"({"enable":true,"updateTimeThresholdSeconds":9223372036854775807,
      "degradeTimeMinutes":9223372036854775807})"));
  node("n1");
  metric("n1", "2");
  start();
  const std::string before = revision("n1");
  run_for(1h);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(revision("n1"), before);
}

TEST_F(ManagerTest, RecreatedLeaseDoesNotLockOutTheManager) {
  node("n1");
  metric("n1", "2");
  start("first", true);
  run_for(5s);
  must("PATCH", "/api/v1/nodes/n1", *Json::parse(R"({"metadata":{"annotations":{"tidemark.io/capacity-epoch":"9"}}})"),
       kMerge);
  replicas.clear();
  must("DELETE", kLeasePath, nullptr);
  metric("n1", "12");
  start("second", true);
  run_for(10s);
  EXPECT_EQ(offered("n1"), "7200");
  EXPECT_EQ(read_node("n1").text_at("metadata", "annotations", "tidemark.io/capacity-epoch"), "10");
}

TEST_F(ManagerTest, LeavesANodeWithANewerEpochToTheLeaseHolder) {
  node("n1");
  metric("n1", "2");
  start("first", true);
  run_for(5s);
  ASSERT_EQ(offered("n1"), "17200");
  must("PATCH", kLeasePath, *Json::parse(R"({"spec":{"holderIdentity":"another","leaseTransitions":9}})"), kMerge);
  must("PATCH", "/api/v1/nodes/n1", *Json::parse(R"({"metadata":{"annotations":{"tidemark.io/capacity-epoch":"9"}}})"),
       kMerge);
  metric("n1", "12");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "17200");
}

}  // namespace
}  // namespace tidemark::manager
