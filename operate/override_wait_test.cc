// Waiting for an override beside a running manager, over a connection that breaks; under simulated time.
#include "operate/override_wait.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "manager/testing/cluster.h"
#include "operate/testing/failing_transport.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

using manager::testing::kConfigPath;

class OverrideWaitTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", "{schema: 1, mode: enforce, rollout: {pace: at-once}}"}});
    must("POST", kConfigPath, map);
    below = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "ann");
    between = std::make_unique<testing::FailingTransport>(loop, *below);
    client = std::make_unique<kube::Client>(
        loop, *between, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    options.command = {policy::waterline::LinePercent{30, std::nullopt}, "ann@ops", "a fire drill", clock.wall() + 2h};
    for (const char* name : {"n1", "n2"}) {
      node(name);
      metric(name, "4");
    }
  }
  void give() { ASSERT_TRUE(net::testing::run_task(loop, clock, give_override(loop, *client, options))); }
  void wait(net::Scope& scope, base::Duration limit) {
    auto run = [](OverrideWaitTest& self, base::Duration until) -> net::Task<void> {
      self.waited = co_await wait_for_override(self.loop, *self.client, self.log, base::Random(2), self.options, until,
                                               [&](const OverrideWait& seen) { self.progress.push_back(seen); });
    };
    scope.spawn(run(*this, limit));
  }

  OverrideOptions options;
  std::unique_ptr<kube::memory::LocalTransport> below;
  std::unique_ptr<testing::FailingTransport> between;
  std::unique_ptr<kube::Client> client;
  std::vector<OverrideWait> progress;
  std::optional<OverrideWait> waited;
};

TEST_F(OverrideWaitTest, ContinuesAfterErrorsAndListsOnce) {
  give();
  bool away = true;
  int lists = 0;
  between->refuses = [&](const net::HttpRequest& request) -> std::optional<Error> {
    if (away) return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
    const bool list = request.method == "GET" && request.target.starts_with("/api/v1/pods") &&
                      request.target.find("watch=") == std::string::npos;
    lists += list ? 1 : 0;
    return std::nullopt;
  };
  net::Scope scope(loop);
  wait(scope, 10min);
  run_for(20s);
  ASSERT_FALSE(waited) << "it gave up: " << waited->trouble;
  ASSERT_FALSE(progress.empty());
  EXPECT_NE(progress.back().trouble.find("the server went away"), std::string::npos) << progress.back().trouble;
  away = false;
  run_for(2min);
  ASSERT_FALSE(waited) << "no manager is there yet";
  EXPECT_EQ(progress.back().trouble, "");
  EXPECT_EQ(progress.back().nodes, 2u);
  EXPECT_EQ(progress.back().not_reached, (std::vector<std::string>{"n1", "n2"}));
  for (const char* name : {"n1", "n2"}) metric(name, "4");
  start();
  run_for(30s);
  ASSERT_TRUE(waited);
  EXPECT_TRUE(waited->reached);
  EXPECT_EQ(waited->nodes, 2u);
  EXPECT_EQ(lists, 1) << "the rest came by watch";
}

// With profile tidemark the offer grows in steps: it has not followed before the last of them.
TEST_F(OverrideWaitTest, StepwiseOfferFollowsAtLastStep) {
  must("PATCH", base::cat(kConfigPath, "/tidemark-config"),
       Json::object({{"data", Json::object({{"config.yaml",
                                             "{schema: 1, mode: enforce, rollout: {pace: at-once}, profile: tidemark, "
                                             "motion: {slewPermillePerMinute: 50}}"}})}}),
       manager::testing::kMerge);
  start();
  const auto report = [&](int minutes) {
    for (; minutes > 0; --minutes) {
      for (const char* name : {"n1", "n2"}) metric(name, "4");
      run_for(1min);
    }
  };
  report(3);
  ASSERT_EQ(offered("n1"), "15200");
  options.command.line = policy::waterline::LinePercent{80, std::nullopt};
  give();
  net::Scope scope(loop);
  wait(scope, 20min);
  run_for(20s);
  ASSERT_FALSE(waited) << "of 6400 more the first step gives half";
  EXPECT_EQ(progress.back().not_reached, (std::vector<std::string>{"n1", "n2"}));
  report(8);
  ASSERT_TRUE(waited);
  EXPECT_TRUE(waited->reached) << waited->trouble;
  EXPECT_GE(*base::parse_int(offered("n1")), 21'600 * 9 / 10) << "but for what is not worth a write";
}

// A manager of another version, which tells agents something else beside the lines.
TEST_F(OverrideWaitTest, CountsNodeSloOfOtherVersionSeparately) {
  start();
  give();
  {
    net::Scope scope(loop);
    wait(scope, 10min);
    run_for(30s);
    ASSERT_TRUE(waited);
    ASSERT_TRUE(waited->reached) << waited->trouble;
  }
  replicas.clear();
  must("PATCH", base::cat(manager::testing::kNodeSlosPath, "/n2"),
       *Json::parse(R"({"spec":{"extensions":{"Object":{"tidemark":{"ofAnotherVersion":1}}}}})"),
       manager::testing::kMerge);
  waited.reset();
  net::Scope scope(loop);
  wait(scope, 10s);
  run_for(11s);
  ASSERT_TRUE(waited);
  EXPECT_FALSE(waited->reached);
  EXPECT_EQ(waited->nodes, 2u);
  EXPECT_TRUE(waited->not_reached.empty());
  EXPECT_EQ(waited->other_words, std::vector<std::string>{"n2"});
}

TEST_F(OverrideWaitTest, TimeoutNamesNodesThatDoNotFollow) {
  give();
  net::Scope scope(loop);
  wait(scope, 30s);
  run_for(29s);
  EXPECT_FALSE(waited);
  run_for(2s);
  ASSERT_TRUE(waited);
  EXPECT_FALSE(waited->reached);
  EXPECT_EQ(waited->not_reached, (std::vector<std::string>{"n1", "n2"}));
}

}  // namespace
}  // namespace tidemark::operate
