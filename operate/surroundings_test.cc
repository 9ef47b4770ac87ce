// What commands read beside the node: pods that wait, and how far an offer has to go; under simulated time.
#include "operate/surroundings.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "manager/testing/cluster.h"
#include "operate/plan.h"
#include "operate/testing/failing_transport.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

using manager::testing::kConfigPath;

class SurroundingsTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    below = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "ann");
    between = std::make_unique<testing::FailingTransport>(loop, *below);
    client = std::make_unique<kube::Client>(
        loop, *between, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
  }
  void pending(std::string_view name, std::string_view work_class) {
    const Json amounts = Json::object({{"kubernetes.io/batch-cpu", "1000"}, {"kubernetes.io/batch-memory", "1Gi"}});
    Json object = name_only(name);
    object["metadata"]["labels"] =
        Json::object({{"koordinator.sh/qosClass", "BE"}, {"tidemark.io/class", Json(work_class)}});
    object["spec"] = Json::object(
        {{"containers",
          Json::array({Json::object({{"name", "c"},
                                     {"image", "i"},
                                     {"resources", Json::object({{"requests", amounts}, {"limits", amounts}})}})})}});
    must("POST", "/api/v1/namespaces/default/pods", object);
    must("PATCH", base::cat("/api/v1/namespaces/default/pods/", name, "/status"),
         Json::object({{"status", Json::object({{"phase", "Pending"}})}}), manager::testing::kMerge);
  }
  Surroundings read(SurroundingsWanted wanted) {
    return net::testing::run_task(
        loop, clock, read_surroundings(loop, *client, "koordinator-system", 10s, wanted, {{"slow", 1}, {"fast", 7}}));
  }

  std::unique_ptr<kube::memory::LocalTransport> below;
  std::unique_ptr<testing::FailingTransport> between;
  std::unique_ptr<kube::Client> client;
};

TEST_F(SurroundingsTest, ShowsWaitingPodsWithHighestClass) {
  EXPECT_FALSE(read({.waiting = true}).waiting.wants_more);
  pending("a", "slow");
  pending("b", "fast");
  const Surroundings seen = read({.waiting = true});
  EXPECT_EQ(seen.waiting_pods, 2u);
  EXPECT_TRUE(seen.waiting.wants_more);
  EXPECT_EQ(seen.waiting.best_order, 7);
  EXPECT_TRUE(seen.notes.empty());
  EXPECT_EQ(read({}).waiting_pods, 0u) << "not asked for";
  between->refuses = [](const net::HttpRequest&) { return Error{ErrorKind::kDenied, "pods are forbidden", 0, 0}; };
  const Surroundings refused = read({.profiles = true, .waiting = true});
  EXPECT_FALSE(refused.waiting.wants_more);
  ASSERT_EQ(refused.notes.size(), 2u) << "told, and no reason to answer nothing at all";
  EXPECT_NE(refused.notes[1].find("as if none did"), std::string::npos) << refused.notes[1];
}

// 32 cores, of which the system uses 2. The line goes from 60 % to 95 %; growth is a tenth of the node a minute.
TEST_F(SurroundingsTest, PlanShowsNextStepAndEndOfStepwiseGrowth) {
  Json map = name_only("tidemark-config");
  map["data"] =
      Json::object({{"config.yaml", "{schema: 1, mode: enforce, rollout: {pace: at-once}, profile: tidemark}"}});
  must("POST", kConfigPath, map);
  node("n1");
  start();
  for (int i = 0; i < 20; ++i) {
    metric("n1", "2");
    run_for(1min);
  }
  replicas.clear();
  PlanOptions options;
  options.text =
      Json::object(
          {{"kind", "ConfigMap"},
           {"metadata", Json::object({{"name", "slo-controller-config"}})},
           {"data", Json::object({{"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":95})"}})}})
          .dump();
  const auto report = net::testing::run_task(loop, clock, plan_settings(loop, *client, options));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->nodes.size(), 1u);
  const NodeChange& change = report->nodes[0];
  EXPECT_GT(change.before.batch_cpu, 15'000);
  EXPECT_GT(change.after.batch_cpu, change.before.batch_cpu);
  EXPECT_LE(change.after.batch_cpu, change.before.batch_cpu + 6400) << "two minutes of growth";
  EXPECT_GT(change.end.batch_cpu, change.after.batch_cpu);
  EXPECT_EQ(sums_of(report->nodes).at("").end.batch_cpu, change.end.batch_cpu);
}

}  // namespace
}  // namespace tidemark::operate
