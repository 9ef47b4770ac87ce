// Another program writes a node more often than the budget lets a request of ours through: our writes still succeed.
// Against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/yaml.h"
#include "manager/testing/cluster.h"
#include "net/http_server.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kBatchCpu;
using testing::kMerge;
using testing::Replica;

constexpr base::Duration kBeat = 100ms;
constexpr std::string_view kTopologiesPath = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";

class BusyNodeTest : public testing::InMemoryCluster {
 protected:
  void TearDown() override {
    others.clear();
    InMemoryCluster::TearDown();
  }

  // Another program that writes an annotation of the object, again and again.
  net::Task<void> write_again_and_again(std::string path) {
    for (int i = 0;; ++i) {
      co_await write_once(path, i);
      co_await loop.sleep(kBeat);
    }
  }
  net::Task<void> write_once(std::string path, int beat) {
    net::HttpRequest request;
    request.method = "PATCH";
    request.target = std::move(path);
    request.body = base::cat(R"({"metadata":{"annotations":{"example.org/beat":")", beat, R"("}}})");
    request.headers.set("content-type", kMerge);
    (void)co_await admin->fetch(std::move(request), 10s);
    ++foreign_writes;
  }
  // So many calls stand in the line of the manager's budget of 30 a second, all the time.
  void crowd(Replica& replica, int calls) {
    for (int i = 0; i < calls; ++i) others.spawn(call_again_and_again(replica));
  }
  static net::Task<void> call_again_and_again(Replica& replica) {
    while (true) (void)co_await replica.client.get(kube::kNamespaces, "", "koordinator-system", 1min);
  }
  // Another program's write comes just before our write of the node's status, `faster` times.
  net::Task<void> overtaken(const net::HttpHandler& inner, net::HttpExchange& exchange, int& faster) {
    const auto& request = exchange.head();
    if (faster > 0 && request.method == "PATCH" && request.target.starts_with("/api/v1/nodes/n1/status")) {
      co_await write_once("/api/v1/nodes/n1", faster--);
    }
    co_await inner(exchange);
  }
  std::string zone_offer() {
    const Json read = must("GET", base::cat(kTopologiesPath, "/n1"), nullptr);
    for (const Json& each : read.at("zones")->as_array()[0].at("resources")->as_array()) {
      if (each.text_at("name") == kBatchCpu) return std::string(each.text_at("available"));
    }
    return std::string();
  }

  net::Scope others{loop};
  int foreign_writes = 0;
};

TEST_F(BusyNodeTest, FrequentWriterDoesNotBlockOurWrite) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  run_for(10s);
  ASSERT_EQ(offered("n1"), "17200");
  crowd(replica, 150);
  others.spawn(write_again_and_again("/api/v1/nodes/n1"));
  run_for(10s);
  EXPECT_GT(replica.client.budget_wait(), 20 * kBeat) << "no write waits: the test proves nothing";
  metric("n1", "12");
  run_for(15s);
  EXPECT_EQ(offered("n1"), "7200");
  EXPECT_LE(replica.metric("tidemark_manager_conflicts_total"), 1);
  EXPECT_GT(foreign_writes, 200);
}

TEST_F(BusyNodeTest, FrequentWriterDoesNotBlockZoneWrites) {
  must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       *base::parse_yaml(testing::read_file(
           base::testing::from_root("deploy/crds/topology.node.k8s.io_noderesourcetopologies.yaml"))));
  Json topology = name_only("n1");
  topology["apiVersion"] = Json("topology.node.k8s.io/v1alpha1");
  topology["kind"] = Json("NodeResourceTopology");
  topology["topologyPolicies"] = *Json::parse(R"(["None"])");
  topology["zones"] = *Json::parse(R"([{"name":"node-0","type":"Node","resources":[
      {"name":"cpu","capacity":"32","allocatable":"32","available":"32"}]}])");
  node("n1");
  metric("n1", "2");
  must("POST", kTopologiesPath, topology);
  auto& replica = start();
  run_for(10s);
  ASSERT_EQ(zone_offer(), "17200");
  crowd(replica, 150);
  others.spawn(write_again_and_again(base::cat(kTopologiesPath, "/n1")));
  run_for(10s);
  metric("n1", "12");
  run_for(1min);
  EXPECT_EQ(offered("n1"), "7200");
  EXPECT_EQ(zone_offer(), "7200");
}

TEST_F(BusyNodeTest, ConflictIsDecidedAgainAndSentAtOnce) {
  node("n1");
  metric("n1", "2");
  auto& first = start();
  run_for(10s);
  ASSERT_EQ(offered("n1"), "17200");
  const double before = first.metric("tidemark_manager_conflicts_total");
  replicas.clear();

  // Another program is a moment faster, twice.
  int faster = 0;
  const net::HttpHandler handler = [this, inner = server->handler(), &faster](net::HttpExchange& exchange) {
    return overtaken(inner, exchange, faster);
  };
  ManagerOptions options;
  options.leader_elect = false;
  replicas.push_back(std::make_unique<Replica>(loop, handler, log, "two", 200, options));
  Replica& replica = *replicas.back();
  run_for(10s);
  const double settled = replica.metric("tidemark_manager_conflicts_total");
  crowd(replica, 150);
  run_for(10s);
  faster = 2;
  metric("n1", "12");
  run_for(45s);
  EXPECT_EQ(faster, 0);
  EXPECT_EQ(before + replica.metric("tidemark_manager_conflicts_total") - settled, 2);
  EXPECT_EQ(offered("n1"), "7200");
  EXPECT_EQ(replica.metric("tidemark_manager_reconcile_errors_total"), 0) << "without another round through the queue";
}

TEST_F(BusyNodeTest, FormerLeaderWritesNothing) {
  node("n1");
  metric("n1", "2");
  auto& replica = start("one", true);
  run_for(30s);
  ASSERT_EQ(offered("n1"), "17200");
  crowd(replica, 250);
  run_for(10s);
  metric("n1", "12");
  run_for(1s);
  must("PATCH", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager",
       *Json::parse(R"({"spec":{"holderIdentity":"another","leaseTransitions":9}})"), kMerge);
  run_for(3s);
  ASSERT_EQ(replica.metric("tidemark_leader"), 0);
  EXPECT_EQ(offered("n1"), "17200") << "the place came too soon: the test proves nothing";
  run_for(10s);
  EXPECT_EQ(offered("n1"), "17200");
}

}  // namespace
}  // namespace tidemark::manager
