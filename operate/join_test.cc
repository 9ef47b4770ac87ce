// Nodes join co-location and leave it, beside a manager in memory and simulated time.
#include "operate/join.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

class JoinTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json object = name_only("tidemark-config");
    object["data"] =
        Json::object({{"config.yaml", Json("{schema: 1, mode: observe, pools: [{name: night, mode: enforce, "
                                           "nodeSelector: {matchLabels: {tidemark.io/pool: night}}}]}")}});
    must("POST", manager::testing::kConfigPath, object);
    for (const char* name : {"n1", "n2"}) {
      node(name);
      ready(name, "True");
    }
    client = std::make_unique<kube::Client>(
        loop, *admin, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    options.nodes = {"n1", "n2"};
    options.pool = "night";
    options.by = "ann";
    options.why = "a test";
    options.config_namespace = "koordinator-system";
    options.zones = [](std::string_view) { return policy::waterline::Zones(); };
    options.wait = 10s;
  }
  void ready(std::string_view name, std::string_view status) {
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         Json::object(
             {{"status",
               Json::object({{"conditions", Json::array({Json::object({{"type", "Ready"}, {"status", status}})})}})}}),
         manager::testing::kMerge);
  }
  JoinReport join() {
    seen.clear();
    auto report = net::testing::run_task(loop, clock,
                                         join_nodes(loop, *client, log, base::Random(2), options,
                                                    [&](const JoinProgress& each) { seen.push_back(each.step); }));
    EXPECT_TRUE(report) << report.error().message;
    return report ? std::move(*report) : JoinReport();
  }
  std::string label_of(std::string_view name, std::string_view key) {
    return std::string(read_node(name).text_at("metadata", "labels", key));
  }

  JoinOptions options;
  std::unique_ptr<kube::Client> client;
  std::vector<JoinStep> seen;
};

TEST_F(JoinTest, NodesWithAgentsSellInTheirNewPool) {
  metric("n1", "2");
  metric("n2", "2");
  start();
  run_for(1s);
  ASSERT_EQ(offered("n1"), "");
  const JoinReport report = join();
  for (const JoinedNode& each : report.nodes) {
    EXPECT_EQ(each.problem, "") << each.name;
    EXPECT_EQ(each.pool_before, "default");
    EXPECT_EQ(each.pool_after, "night");
    EXPECT_EQ(each.state.strictest(), model::NodeState::kOn);
  }
  EXPECT_EQ(seen.back(), JoinStep::kOn);
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  for (const JoinedNode& each : join().nodes) EXPECT_EQ(each.steps, JoinSteps()) << "done already: " << each.name;
}

TEST_F(JoinTest, NodeWithoutAgentStaysObservedUntilItsAgentReports) {
  metric("n1", "2");
  start();
  JoinReport report = join();
  EXPECT_TRUE(report.failed());
  EXPECT_EQ(report.nodes[0].problem, "");
  EXPECT_TRUE(report.nodes[1].problem.contains("no agent ever reported")) << report.nodes[1].problem;
  EXPECT_EQ(label_of("n2", "tidemark.io/state"), "observe") << "the pool enforces, and the node must not sell";
  EXPECT_EQ(label_of("n2", "tidemark.io/pool"), "night");
  metric("n1", "2");
  metric("n2", "2");
  report = join();
  EXPECT_FALSE(report.failed());
  EXPECT_EQ(report.nodes[1].steps, (JoinSteps{.on = true})) << "the rest of the steps was done";
  run_for(1s);
  EXPECT_EQ(offered("n2"), "17200");
}

TEST_F(JoinTest, ObserveOnlyStopsBeforeNodesSell) {
  metric("n1", "2");
  metric("n2", "2");
  start();
  options.observe_only = true;
  EXPECT_FALSE(join().failed());
  run_for(5s);
  EXPECT_EQ(label_of("n1", "tidemark.io/state"), "observe");
  EXPECT_EQ(offered("n1"), "");
}

TEST_F(JoinTest, PreflightRefusesNodeThatIsNotReady) {
  metric("n1", "2");
  metric("n2", "2");
  ready("n2", "False");
  start();
  options.nodes.push_back("n3");
  const JoinReport report = join();
  EXPECT_EQ(report.nodes[0].problem, "");
  EXPECT_TRUE(report.nodes[1].problem.starts_with("not ready")) << report.nodes[1].problem;
  EXPECT_EQ(report.nodes[2].problem, "node not found");
  EXPECT_EQ(label_of("n2", "tidemark.io/state"), "");
  EXPECT_EQ(label_of("n2", "tidemark.io/pool"), "");
  ASSERT_FALSE(report.preflight.empty());
}

TEST_F(JoinTest, DryRunShowsStepsAndWritesNothing) {
  options.dry_run = true;
  const JoinReport report = join();
  EXPECT_EQ(report.nodes[0].steps, (JoinSteps{true, true, true}));
  EXPECT_EQ(report.nodes[0].pool_after, "night");
  EXPECT_EQ(label_of("n1", "tidemark.io/state"), "");
  EXPECT_EQ(label_of("n1", "tidemark.io/pool"), "");
}

TEST_F(JoinTest, LateAgentIsNoAgent) {
  metric("n1", "2");
  clock.advance(4min);
  metric("n2", "2");
  start();
  const JoinReport report = join();
  EXPECT_TRUE(report.nodes[0].problem.contains("silent")) << report.nodes[0].problem;
  EXPECT_EQ(report.nodes[1].problem, "");
}

TEST_F(JoinTest, StricterOrderOfTheClusterIsNamed) {
  metric("n1", "2");
  metric("n2", "2");
  OrderOptions off;
  off.command.by = "bob";
  off.command.why = "incident";
  off.command.wish = policy::state::Wish::kOff;
  ASSERT_TRUE(net::testing::run_task(loop, clock, give_order(loop, *client, off, nullptr)));
  const JoinReport report = join();
  EXPECT_TRUE(report.nodes[0].problem.contains("bob")) << report.nodes[0].problem;
  EXPECT_TRUE(report.nodes[0].problem.starts_with("still off")) << report.nodes[0].problem;
}

TEST_F(JoinTest, NodesLeaveWithProof) {
  metric("n1", "2");
  metric("n2", "2");
  start();
  ASSERT_FALSE(join().failed());
  run_for(1s);
  LeaveOptions leave;
  leave.order.scope = OrderScope::kNode;
  leave.order.nodes = {"n1", "n2"};
  leave.order.command.wish = policy::state::Wish::kOff;
  leave.order.command.by = "ann";
  leave.order.command.why = "a test";
  leave.order.command.drain = 15min;
  leave.limit = 1min;
  std::size_t drained = 0;
  const auto left = net::testing::run_task(
      loop, clock,
      leave_nodes(loop, *client, log, base::Random(3), leave,
                  {[&](const WaitProgress& progress) { drained += progress.draining == 0 ? 1 : 0; }, nullptr}));
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_GT(drained, 0u);
  ASSERT_TRUE(left->proof);
  EXPECT_TRUE(left->proof->finished());
  EXPECT_EQ(left->proof->nodes, 2u);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_EQ(label_of("n1", "tidemark.io/state"), "off");
}

TEST(JoinStepsTest, NodeThatSellsIsNotObservedWhenItChangesItsPool) {
  JoinFacts facts;
  facts.mode = model::Mode::kEnforce;
  facts.agent = AgentReports::kFresh;
  facts.in_pool = false;
  facts.mode_then = model::Mode::kEnforce;
  EXPECT_EQ(join_steps(facts, false, {}), (JoinSteps{.label = true}));
  facts.mode_then = model::Mode::kObserve;
  EXPECT_EQ(join_steps(facts, false, {}), (JoinSteps{.label = true, .on = true}));
  facts.agent = AgentReports::kNever;
  EXPECT_EQ(join_steps(facts, false, {}), (JoinSteps{true, true, true}));
}

}  // namespace
}  // namespace tidemark::operate
