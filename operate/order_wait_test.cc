// Waiting for `on` and `observe` beside a manager, and without one; under simulated time.
#include "operate/order_wait.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/testing/cluster.h"
#include "operate/testing/failing_transport.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

class OrderWaitTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    below = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "ann");
    between = std::make_unique<testing::FailingTransport>(loop, *below);
    client = std::make_unique<kube::Client>(
        loop, *between, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    node("n1");
    metric("n1", "2");
    node("full");  // the system alone uses all of it
    metric("full", "32", "128Gi");
  }
  OrderReport give(policy::state::Wish wish) {
    options.command.wish = wish;
    options.command.by = "ann";
    options.command.why = "a test";
    options.limit = 5s;
    auto report = net::testing::run_task(loop, clock, give_order(loop, *client, options, nullptr));
    EXPECT_TRUE(report) << report.error().message;
    return report ? std::move(*report) : OrderReport();
  }
  WaitReport wait(const OrderReport& report) {
    return net::testing::run_task(loop, clock,
                                  wait_for_order(loop, *client, log, base::Random(2), report, options, {20s}));
  }

  OrderOptions options;
  std::unique_ptr<kube::memory::LocalTransport> below;
  std::unique_ptr<testing::FailingTransport> between;
  std::unique_ptr<kube::Client> client;
};

TEST_F(OrderWaitTest, OnIsReachedWhenManagerReportsItEvenWithNothingToSell) {
  start();
  run_for(5s);
  give(policy::state::Wish::kOff);
  run_for(5s);
  ASSERT_EQ(offered("n1"), "");
  const WaitReport waited = wait(give(policy::state::Wish::kOn));
  EXPECT_TRUE(waited.reached);
  EXPECT_EQ(waited.last.reached, 2u);
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(offered("full"), "0");
}

TEST_F(OrderWaitTest, OnIsNotReachedWithoutManager) {
  start();
  run_for(5s);
  give(policy::state::Wish::kOff);
  run_for(5s);
  replicas.clear();
  const auto report = give(policy::state::Wish::kOn);
  const WaitReport early = wait(report);
  EXPECT_FALSE(early.reached);
  EXPECT_EQ(early.last.unheard, 2u);
  EXPECT_EQ(early.not_reached, (std::vector<std::string>{"full", "n1"}));
  start("two");
  EXPECT_TRUE(wait(report).reached);
}

TEST_F(OrderWaitTest, ObserveIsReachedWhenManagerReportsIt) {
  start();
  run_for(5s);
  replicas.clear();
  const auto report = give(policy::state::Wish::kObserve);
  EXPECT_EQ(wait(report).last.unheard, 2u) << "the amounts on the node are of before";
  start("two");
  EXPECT_TRUE(wait(report).reached);
}

TEST_F(OrderWaitTest, StricterWiderOrderEndsWaitAtTheMark) {
  start();
  run_for(5s);
  give(policy::state::Wish::kOff);
  options.scope = OrderScope::kNode;
  options.nodes = {"n1"};
  const auto report = give(policy::state::Wish::kOn);
  ASSERT_EQ(report.nodes.at(0).state.strictest(), model::NodeState::kOff);
  EXPECT_TRUE(wait(report).reached);
}

TEST_F(OrderWaitTest, ANodeThatCouldNotBeMarkedIsNotReached) {
  between->refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (request.method != "PATCH" || !request.target.starts_with("/api/v1/nodes/full")) return std::nullopt;
    return Error{ErrorKind::kDenied, "not this one", 0, 0};
  };
  const auto report = give(policy::state::Wish::kOff);
  ASSERT_TRUE(report.failed());
  const WaitReport waited = wait(report);
  EXPECT_FALSE(waited.reached);
  EXPECT_EQ(waited.not_marked, std::vector<std::string>{"full"});
  EXPECT_TRUE(waited.not_reached.empty()) << "nothing of the others is left to wait for";
}

}  // namespace
}  // namespace tidemark::operate
