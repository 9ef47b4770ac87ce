// Amounts that another program removed or overwrote are repaired within a second, ahead of every routine write: against
// the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/yaml.h"
#include "manager/capacity/own_writes.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kBatchCpu;
using testing::kMerge;
using testing::Replica;

constexpr std::string_view kOrigin = "node.koordinator.sh/originExtendedAllocatable";
constexpr std::string_view kRepaired = R"(tidemark_manager_capacity_writes_total{reason="TM-WRITE-008"})";
constexpr std::string_view kTopologiesPath = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";

class RepairTest : public testing::InMemoryCluster {
 protected:
  // Another program writes amounts into the status; null removes one.
  void foreign(std::string_view name, const Json& capacity, const Json& allocatable) {
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         Json::object({{"status", Json::object({{"capacity", capacity}, {"allocatable", allocatable}})}}), kMerge);
  }
  void lose_batch(std::string_view name) {
    const Json none = Json::object({{kBatchCpu, nullptr}, {"kubernetes.io/batch-memory", nullptr}});
    foreign(name, none, none);
  }
  // As a kubelet registers, with what its machine has.
  void register_again(std::string_view name) {
    Json again = name_only(name);
    const Json amounts = Json::object({{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "110"}});
    again["status"] = Json::object({{"capacity", amounts}, {"allocatable", amounts}});
    must("POST", "/api/v1/nodes", again);
  }
  std::string capacity(std::string_view name) {
    return std::string(read_node(name).text_at("status", "capacity", kBatchCpu));
  }
  std::string origin(std::string_view name) {
    return std::string(read_node(name).text_at("metadata", "annotations", kOrigin));
  }
  // So many writes of others wait for their place in the manager's own budget of 30 a second.
  void exhaust_budget(Replica& replica, net::Scope& scope, int writes) {
    for (int i = 0; i < writes; ++i) scope.spawn(write_settings(replica));
  }
  Json make_topology() {
    must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         *base::parse_yaml(testing::read_file(
             base::testing::from_root("deploy/crds/topology.node.k8s.io_noderesourcetopologies.yaml"))));
    Json topology = name_only("n1");
    topology["apiVersion"] = Json("topology.node.k8s.io/v1alpha1");
    topology["kind"] = Json("NodeResourceTopology");
    topology["topologyPolicies"] = *Json::parse(R"(["None"])");
    topology["zones"] = *Json::parse(R"([{"name":"node-0","type":"Node","resources":[
        {"name":"cpu","capacity":"32","allocatable":"32","available":"32"}]}])");
    must("POST", kTopologiesPath, topology);
    return topology;
  }
  std::string batch_of_zone() {
    const Json read = must("GET", base::cat(kTopologiesPath, "/n1"), nullptr);
    const auto& resources = read.at("zones")->as_array()[0].at("resources")->as_array();
    for (const Json& each : resources) {
      if (each.text_at("name") == kBatchCpu) return std::string(each.text_at("available"));
    }
    return std::string();
  }
  static net::Task<void> write_settings(Replica& replica) {
    kube::WriteOptions options;
    options.ns = "koordinator-system";
    (void)co_await replica.client.patch(kube::kConfigMaps, "slo-controller-config", kube::PatchType::kMerge, "{}",
                                        options, 1min);
  }
};

TEST_F(RepairTest, RepairsWithinASecondAheadOfFiveHundredWrites) {
  node("n1");
  node("n2");
  metric("n1", "2");
  metric("n2", "2");
  auto& replica = start();
  run_for(10s);
  ASSERT_EQ(offered("n1"), "17200");
  net::Scope others(loop);
  exhaust_budget(replica, others, 500);
  run_for(2s);
  metric("n2", "12");  // a routine write, which the budget keeps waiting
  lose_batch("n1");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(replica.metric(kRepaired), 1);
  EXPECT_EQ(offered("n2"), "17200") << "the budget was not exhausted: the test proves nothing";
  run_for(1min);
  EXPECT_EQ(offered("n2"), "7200");
}

// A new leader comes to every node once, as fast as its budget lets it; who lost something does not wait for that.
TEST_F(RepairTest, NewLeaderRepairsALossBeforeItsFirstWrite) {
  for (const char* each : {"n1", "n2"}) {
    node(each);
    metric(each, "2");
  }
  start("one", true);
  Replica& next = start("two", true);
  run_for(10s);
  ASSERT_EQ(offered("n1"), "17200");
  net::Scope others(loop);
  exhaust_budget(next, others, 3000);
  replicas.erase(replicas.begin());
  run_for(40s);
  ASSERT_EQ(next.metric("tidemark_leader"), 1);
  lose_batch("n1");
  must("DELETE", "/api/v1/nodes/n2", nullptr);
  run_for(100ms);
  register_again("n2");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(offered("n2"), "17200");
  EXPECT_EQ(next.metric(kRepaired), 2);
  const double first = next.metric(R"(tidemark_manager_capacity_writes_total{reason="TM-WRITE-001"})");
  EXPECT_EQ(first, 0) << "the budget was not exhausted: the test proves nothing";
}

// What it wrote when it led before says nothing of what the node carried since.
TEST_F(RepairTest, ReturningLeaderRepairsALossBeforeItsFirstWrite) {
  node("n1");
  node("n2");
  metric("n1", "2");
  metric("n2", "2");
  Replica& again = start("one", true);
  run_for(10s);
  ASSERT_EQ(offered("n1"), "17200");
  must("PATCH", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager",
       *Json::parse(R"({"spec":{"holderIdentity":"another","leaseTransitions":9}})"), kMerge);
  run_for(8s);
  ASSERT_EQ(again.metric("tidemark_leader"), 0);
  const auto firsts = [&] { return again.metric(R"(tidemark_manager_capacity_writes_total{reason="TM-WRITE-001"})"); };
  const double first = firsts();
  lose_batch("n1");
  net::Scope others(loop);
  exhaust_budget(again, others, 3000);
  run_for(40s);
  ASSERT_EQ(again.metric("tidemark_leader"), 1);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(again.metric(kRepaired), 1);
  EXPECT_EQ(firsts(), first) << "the budget was not exhausted: the test proves nothing";
}

TEST_F(RepairTest, RepairsAnyDeviationOfAmountsAndOrigin) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  const std::string whole_origin = origin("n1");
  foreign("n1", Json::object(), Json::object({{kBatchCpu, "17201"}}));
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  foreign("n1", Json::object({{kBatchCpu, "1"}}), Json::object());
  run_for(1s);
  EXPECT_EQ(capacity("n1"), "17200");
  foreign("n1", Json::object(), Json::object({{"kubernetes.io/mid-memory", "4711"}}));
  run_for(1s);
  EXPECT_EQ(read_node("n1").text_at("status", "allocatable", "kubernetes.io/mid-memory"),
            read_node("n1").text_at("status", "capacity", "kubernetes.io/mid-memory"));
  EXPECT_EQ(replica.metric(kRepaired), 3);
  for (const Json& text : {Json(nullptr), Json("no JSON"), Json(R"({"resources":{"kubernetes.io/batch-cpu":"1"}})")}) {
    must("PATCH", "/api/v1/nodes/n1",
         Json::object({{"metadata", Json::object({{"annotations", Json::object({{kOrigin, text}})}})}}), kMerge);
    run_for(1s);
    EXPECT_EQ(origin("n1"), whole_origin) << text.dump();
  }
  EXPECT_EQ(replica.metric(kRepaired), 6);
}

TEST_F(RepairTest, RepairsARecreatedNodeAheadOfTheBudget) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  run_for(10s);
  net::Scope others(loop);
  exhaust_budget(replica, others, 500);
  must("DELETE", "/api/v1/nodes/n1", nullptr);
  run_for(1s);
  register_again("n1");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
}

TEST_F(RepairTest, RepairsZonesAndRecreatedTopologyAheadOfTheBudget) {
  node("n1");
  metric("n1", "2");
  const Json topology = make_topology();
  auto& replica = start();
  run_for(10s);
  ASSERT_EQ(batch_of_zone(), "17200");
  net::Scope others(loop);
  exhaust_budget(replica, others, 1000);
  must("PATCH", base::cat(kTopologiesPath, "/n1"),
       *Json::parse(R"([{"op":"replace","path":"/zones/0/resources/1/available","value":"17199"}])"),
       "application/json-patch+json");
  run_for(1s);
  EXPECT_EQ(batch_of_zone(), "17200");
  must("DELETE", base::cat(kTopologiesPath, "/n1"), nullptr);
  run_for(1s);
  must("POST", kTopologiesPath, topology);
  run_for(1s);
  EXPECT_EQ(batch_of_zone(), "17200");
}

TEST_F(RepairTest, RepairsZonesOfANodeThatWaitsForTheBudget) {
  node("n1");
  metric("n1", "12");
  make_topology();
  auto& replica = start();
  run_for(10s);
  ASSERT_EQ(batch_of_zone(), "7200");
  net::Scope others(loop);
  exhaust_budget(replica, others, 1000);
  run_for(2s);
  metric("n1", "2");
  run_for(1s);
  ASSERT_EQ(offered("n1"), "7200") << "the budget was not exhausted: the test proves nothing";
  must("PATCH", base::cat(kTopologiesPath, "/n1"),
       *Json::parse(R"([{"op":"replace","path":"/zones/0/resources/1/available","value":"31000"}])"),
       "application/json-patch+json");
  run_for(1s);
  EXPECT_NE(batch_of_zone(), "31000");
}

TEST_F(RepairTest, LeavesZonesToASecondWriter) {
  node("n1");
  metric("n1", "2");
  make_topology();
  start();
  run_for(10s);
  ASSERT_EQ(batch_of_zone(), "17200");
  const auto overwrite = [&](int value) {
    must(
        "PATCH", base::cat(kTopologiesPath, "/n1"),
        *Json::parse(base::cat(R"([{"op":"replace","path":"/zones/0/resources/1/available","value":")", value, "\"}]")),
        "application/json-patch+json");
    run_for(1s);
  };
  for (int i = 0; i < 2; ++i) {
    overwrite(17100 + i);
    ASSERT_EQ(batch_of_zone(), "17200");
  }
  overwrite(17102);
  EXPECT_EQ(batch_of_zone(), "17102") << "the third in a row is another manager's";
  const auto contested = [&] {
    return replicas.back()->metric(R"(tidemark_manager_contested_nodes{component="zones"})");
  };
  EXPECT_EQ(contested(), 1);
  EXPECT_EQ(offered("n1"), "17200") << "what the node itself offers goes on";
  run_for(5min);
  metric("n1", "2");
  run_for(1s);
  EXPECT_EQ(batch_of_zone(), "17102");
  run_for(5min);
  metric("n1", "2");
  run_for(1s);
  EXPECT_EQ(batch_of_zone(), "17200") << "no other program wrote for ten minutes";
  EXPECT_EQ(contested(), 0);
}

TEST_F(RepairTest, RepairsNothingWithoutTheLease) {
  node("n1");
  metric("n1", "2");
  start("one", true);
  run_for(5s);
  ASSERT_EQ(offered("n1"), "17200");
  must("PATCH", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager",
       *Json::parse(R"({"spec":{"holderIdentity":"another","leaseTransitions":9}})"), kMerge);
  run_for(12s);
  lose_batch("n1");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "");
}

// A repair that fails is tried again as one: the wait in between is its own, not the routine line's.
TEST_F(RepairTest, RepairsAnOverwrittenFleetWithBothBudgets) {
  for (int i = 0; i < 200; ++i) {
    node(base::cat("n", i));
    metric(base::cat("n", i), "2");
  }
  auto& replica = start();
  run_for(30s);
  ASSERT_EQ(offered("n199"), "17200");
  for (int i = 0; i < 200; ++i) lose_batch(base::cat("n", i));
  run_for(5s);  // 50 at once and 10 a second ahead, 50 at once and 30 a second of the ordinary budget
  EXPECT_EQ(replica.metric(kRepaired), 200);
}

// ---- what was written, and whether it is still there ----

kube::Node carrying(std::string_view revision, std::int64_t milli, kube::Interner& interner) {
  auto node = kube::decode_node(base::cat(R"({"metadata":{"name":"n1","resourceVersion":")", revision,
                                          R"("},"status":{"allocatable":{)", R"("kubernetes.io/batch-cpu":")", milli,
                                          R"("},"capacity":{"kubernetes.io/batch-cpu":")", milli, R"("}}})"),
                                kube::NodeFields(), interner);
  return std::move(*node);
}

TEST(OwnWritesTest, ComparesRevisionAndNodeContent) {
  kube::Interner interner;
  const base::MonotonicTime now{1h};
  const auto one = std::optional<std::int64_t>(1);
  OwnWrites writes{policy::sell::PluginSet()};
  EXPECT_EQ(writes.left_as(carrying("5", 7, interner), one, now), LeftAs::kNotWritten);
  writes.wrote(carrying("10", 7, interner), 1, now);
  EXPECT_EQ(writes.left_as(carrying("10", 7, interner), one, now), LeftAs::kAsWritten);
  EXPECT_EQ(writes.left_as(carrying("9", 5, interner), one, now), LeftAs::kBehind);
  EXPECT_EQ(writes.left_as(carrying("9", 5, interner), one, now + kBehindMax), LeftAs::kChanged)
      << "a server that was set back counts anew";
  EXPECT_EQ(writes.left_as(carrying("11", 7, interner), one, now), LeftAs::kAsWritten);
  EXPECT_EQ(writes.left_as(carrying("11", 8, interner), one, now), LeftAs::kChanged);
  auto empty = kube::decode_node(R"({"metadata":{"name":"n1","resourceVersion":"12"}})", kube::NodeFields(), interner);
  EXPECT_EQ(writes.left_as(*empty, one, now), LeftAs::kLost);
  EXPECT_EQ(writes.left_as(*empty, 2, now), LeftAs::kNotWritten) << "another leadership's write is none";
  EXPECT_EQ(writes.left_as(*empty, std::nullopt, now), LeftAs::kLost) << "no leader is elected";
  EXPECT_EQ(writes.since(model::NodeName("n1"), 2, now + 3s), std::nullopt);
  EXPECT_EQ(writes.since(model::NodeName("n1"), 1, now + 3s), 3s);
  writes.accept(carrying("13", 8, interner));
  EXPECT_EQ(writes.left_as(carrying("14", 8, interner), one, now), LeftAs::kAsWritten);
  writes.forget(model::NodeName("n1"));
  EXPECT_EQ(writes.left_as(*empty, one, now), LeftAs::kNotWritten);
}

TEST(OwnWritesTest, RemembersARemovedNodeAndIgnoresDisabledPlugins) {
  kube::Interner interner;
  const base::MonotonicTime now{1h};
  const auto one = std::optional<std::int64_t>(1);
  policy::sell::PluginSet no_batch;
  no_batch.batch_resource = false;
  OwnWrites mid_only{no_batch};
  mid_only.wrote(carrying("10", 7, interner), 1, now);
  EXPECT_EQ(mid_only.left_as(carrying("11", 8, interner), one, now), LeftAs::kAsWritten);

  OwnWrites writes{policy::sell::PluginSet()};
  writes.wrote(carrying("10", 7, interner), 1, now);
  writes.gone(model::NodeName("n1"), now + 1s);
  EXPECT_EQ(writes.left_as(carrying("12", 8, interner), one, now + 5min), LeftAs::kChanged);
  writes.gone(model::NodeName("another"), now + 2s + kMadeAnewWithin);
  EXPECT_EQ(writes.left_as(carrying("12", 8, interner), one, now + 5min), LeftAs::kNotWritten);

  writes.wrote(carrying("20", 7, interner), 1, now);
  writes.gone(model::NodeName("n1"), now + 1s);
  writes.wrote(carrying("21", 7, interner), 1, now + 2s);  // it came back
  writes.gone(model::NodeName("another"), now + 1h);
  EXPECT_EQ(writes.left_as(carrying("22", 8, interner), one, now + 1h), LeftAs::kChanged);
}

}  // namespace
}  // namespace tidemark::manager
