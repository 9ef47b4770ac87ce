// What `plan`, `override --wait` and `resume pool --wait` make of a pool that evictions stopped; under simulated time.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "manager/testing/cluster.h"
#include "model/names.h"
#include "operate/budgets.h"
#include "operate/override_wait.h"
#include "operate/plan.h"
#include "operate/testing/failing_transport.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

class StoppedPoolTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    policy::evict::BudgetState state;
    state.looked = clock.wall();
    state.pools.resize(1);
    state.pools[0].pool = "default";
    state.pools[0].breaker.phase = policy::evict::BreakerPhase::kOpen;
    state.pools[0].breaker.since = clock.wall();
    state.pools[0].breaker.cool_down = std::chrono::minutes(30);
    map(model::kBudgetsName, model::kBudgetsStateKey, policy::evict::encode_budgets(state));
    map("tidemark-config", "config.yaml", "{schema: 1, mode: enforce, rollout: {pace: at-once}}");
    below = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "ann");
    between = std::make_unique<testing::FailingTransport>(loop, *below);
    client = std::make_unique<kube::Client>(
        loop, *between, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    node("n1");
    metric("n1", "4");
  }
  void map(std::string_view name, std::string_view key, std::string_view text) {
    Json object = name_only(name);
    object["data"] = Json::object({{key, Json(text)}});
    must("POST", manager::testing::kConfigPath, object);
  }
  net::Task<void> follow(OverrideOptions asked, std::optional<OverrideWait>& out) {
    out = co_await wait_for_override(loop, *client, log, base::Random(2), asked, 2min, [](const OverrideWait&) {});
  }
  net::Task<void> resume(ResumePoolOptions asked, std::optional<Result<bool>>& out) {
    out = co_await resume_pool(loop, *client, asked);
  }

  std::unique_ptr<kube::memory::LocalTransport> below;
  std::unique_ptr<testing::FailingTransport> between;
  std::unique_ptr<kube::Client> client;
};

TEST_F(StoppedPoolTest, WaitForResumeContinuesWithoutApiServer) {
  bool asked = false;
  int failed = 0;
  bool away = true;
  between->refuses = [&](const net::HttpRequest& request) -> std::optional<Error> {
    asked = asked || request.method == "PATCH";
    if (!asked || !away || request.method == "PATCH") return std::nullopt;
    ++failed;
    return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
  };
  ResumePoolOptions options;
  options.pool = "default";
  options.why = "it is mended";
  options.id = "ann-1";
  options.wait = 5min;
  options.limit = 5s;
  std::optional<Result<bool>> answer;
  net::Scope scope(loop);
  scope.spawn(resume(options, answer));
  run_for(1min);
  ASSERT_GT(failed, 0);
  ASSERT_FALSE(answer);
  away = false;
  start();
  run_for(1min);
  ASSERT_TRUE(answer && *answer);
  EXPECT_TRUE(**answer) << "a manager has resumed it";
}

TEST_F(StoppedPoolTest, PlanShowsNoGrowthInStoppedPool) {
  PlanOptions options;
  options.text = R"({"kind":"ConfigMap","metadata":{"name":"slo-controller-config"},"data":{
      "colocation-config":"{\"enable\":true,\"cpuReclaimThresholdPercent\":80}"}})";
  const auto report = net::testing::run_task(loop, clock, plan_settings(loop, *client, options));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->problems.empty());
  const PlanSum all = sums_of(report->nodes).at("");
  EXPECT_EQ(all.before.batch_cpu, 0) << "nothing is sold";
  EXPECT_EQ(all.end.batch_cpu, 0);
  EXPECT_TRUE(base::join(report->notes, "\n").contains("evictions of pool default spiked"));
}

TEST_F(StoppedPoolTest, StoppedPoolFollowsOverrideWithSoldAmount) {
  start();
  run_for(10s);
  ASSERT_EQ(offered("n1"), "0");
  OverrideOptions options;
  options.command = {policy::waterline::LinePercent{80, std::nullopt}, "ann@ops", "a fire drill", clock.wall() + 2h};
  ASSERT_TRUE(net::testing::run_task(loop, clock, give_override(loop, *client, options)));
  std::optional<OverrideWait> waited;
  net::Scope scope(loop);
  scope.spawn(follow(options, waited));
  run_for(1min);
  ASSERT_TRUE(waited);
  EXPECT_TRUE(waited->reached);
  EXPECT_EQ(waited->stopped, std::vector<std::string>{"default"});
}

}  // namespace
}  // namespace tidemark::operate
