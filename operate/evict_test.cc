// `off --evict` against the API server in memory, with no manager there. A task in the test is the kubelet and the
// agent: it ends pods whose grace is over, and reports in the node's condition.
#include "operate/evict.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "operate/testing/orders.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

class EvictTest : public testing::Orders {
 protected:
  EvictTest() : nodes_scope_(loop) {}

  void pod(const std::string& name, const std::string& node, bool offline = true, std::int64_t grace_s = 5,
           std::string_view annotations = "") {
    call("POST", std::string(kPods),
         base::cat(R"({"metadata":{"name":")", name, R"(","labels":{"app":")", name[0], "\"",
                   offline ? R"(,"koordinator.sh/qosClass":"BE")" : "", "}",
                   annotations.empty() ? "" : R"(,"annotations":)", annotations, R"(},"spec":{"nodeName":")", node,
                   R"(","terminationGracePeriodSeconds":)", grace_s, R"(,"containers":[{"name":"c","image":"i"}]}})"));
    call("PATCH", base::cat(kPods, "/", name, "/status"),
         R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
  }
  void agent(const std::string& node, std::string_view reason, std::string_view message = "") {
    call("PATCH", base::cat("/api/v1/nodes/", node, "/status"),
         base::cat(R"({"status":{"conditions":[{"type":"TidemarkIsolation","status":"True","reason":")", reason,
                   R"(","message":")", message, R"("}]}})"));
  }
  // As the yarn-operator writes it, beside another third party.
  void yarn_holds(const std::string& node, std::string_view cpu, std::string_view memory) {
    const auto entry = [](std::string_view name, std::string_view milli, std::string_view bytes) {
      return base::cat(R"({"name":")", name, R"(","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":")",
                       milli, R"(","kubernetes.io/batch-memory":")", bytes, R"("}})");
    };
    const std::string all =
        base::cat(R"({"allocations":[)", entry("other", "1000", "1Gi"), ",", entry("hadoop-yarn", cpu, memory), "]}");
    Json body = Json::object({{"node.koordinator.sh/thirdPartyAllocations", Json(all)}});
    body = Json::object({{"metadata", Json::object({{"annotations", std::move(body)}})}});
    call("PATCH", "/api/v1/nodes/" + node, body.dump());
  }
  bool has_pod(const std::string& name) { return ask("GET", base::cat(kPods, "/", name)).status == 200; }

  // Ends pods, and obeys as the agents of `agents_`. `clock` moves only between two steps.
  net::Task<void> be_nodes() {
    while (true) {
      co_await loop.sleep(200ms);
      net::HttpRequest list;
      list.method = "GET";
      list.target = kPods;
      const auto answer = co_await transport.fetch(std::move(list), 10s);
      const auto pods = Json::parse(answer->body);
      std::set<std::string> busy;
      for (const Json& each : pods->at("items")->as_array()) {
        const std::string name(each.text_at("metadata", "name"));
        const auto ends = base::parse_rfc3339(each.text_at("metadata", "deletionTimestamp"));
        if (ends && clock.wall() >= *ends && !stuck_.contains(name)) {
          net::HttpRequest end;
          end.method = "DELETE";
          end.target = base::cat(kPods, "/", name, "?gracePeriodSeconds=0");
          co_await transport.fetch(std::move(end), 10s);
        } else if (each.text_at("metadata", "labels", "koordinator.sh/qosClass") == "BE") {
          busy.insert(std::string(each.text_at("spec", "nodeName")));
        }
      }
      for (const auto& node : agents_) {
        net::HttpRequest read;
        read.method = "GET";
        read.target = base::cat("/api/v1/nodes/", node);
        const auto found = Json::parse((co_await transport.fetch(std::move(read), 10s))->body);
        const auto mark = Json::parse(found->text_at("metadata", "annotations", "tidemark.io/state-detail"));
        const std::int64_t generation = mark ? mark->at("generation")->get_int().value_or(0) : 0;
        net::HttpRequest say;
        say.method = "PATCH";
        say.target = base::cat("/api/v1/nodes/", node, "/status");
        say.headers.set("content-type", "application/strategic-merge-patch+json");
        say.body = base::cat(R"({"status":{"conditions":[{"type":"TidemarkIsolation","status":"True","reason":"Off",)",
                             R"("message":")", busy.contains(node) ? "cpuSuppress: off (2 files)" : "cpuSuppress: off",
                             "; mark ", generation, R"("}]}})");
        co_await transport.fetch(std::move(say), 10s);
      }
    }
  }

  OffProgress evict(EvictOptions options, base::Duration limit = 1min,
                    policy::state::Wish wish = policy::state::Wish::kOff) {
    auto order = this->order(wish);
    order.command.evict = true;
    const auto report = give(order);
    EXPECT_TRUE(report) << report.error().message;
    const auto began = clock.monotonic();
    if (!nodes_run_) nodes_scope_.spawn(be_nodes());
    nodes_run_ = true;
    auto done = net::testing::run_task(
        loop, clock, evict_offline(loop, client, log, base::Random(1), *report, {order, options, limit}, nullptr));
    took_ = clock.monotonic() - began;
    return done;
  }
  std::vector<OffProgress> stored() {
    auto all = net::testing::run_task(loop, clock, read_progress(client, "koordinator-system", 5s));
    EXPECT_TRUE(all);
    return all ? *all : std::vector<OffProgress>();
  }

  std::set<std::string> agents_;  // nodes with an agent that obeys
  std::set<std::string> stuck_;   // pods that no kubelet ends
  base::Duration took_{0};
  bool nodes_run_ = false;
  net::Scope nodes_scope_;
};

TEST_F(EvictTest, EvictsOfflinePodsAndProvesThatNothingIsLeft) {
  for (const char* name : {"n1", "n2"}) {
    node(name);
    agent(name, "Enforcing", "cpuSuppress: enforce (2 files)");
  }
  agents_ = {"n1", "n2"};
  for (const char* name : {"a1", "a2"}) pod(name, "n1");
  pod("b1", "n2", true, 600);  // wants ten minutes, gets the grace
  pod("web", "n2", false);
  const auto done = evict({.grace = 10s});
  EXPECT_TRUE(done.finished()) << progress_json(done).dump();
  EXPECT_LE(took_, 20s);
  EXPECT_EQ(done.evicted, 3u);
  EXPECT_EQ(done.offers_at_zero, 2u);
  EXPECT_EQ(done.files_restored, 2u);
  EXPECT_TRUE(done.nodes_left.empty());
  EXPECT_TRUE(has_pod("web")) << "online work stays";
  EXPECT_FALSE(has_pod("a1") || has_pod("b1"));
  EXPECT_EQ(label("n1"), "off");
  ASSERT_EQ(stored().size(), 1u);
  EXPECT_EQ(stored()[0], done);
  EXPECT_NE(read("n1").text_at("metadata", "annotations", "tidemark.io/state-detail").find(R"("evict":true)"),
            std::string_view::npos)
      << "the yarn-operator reads it";
}

TEST_F(EvictTest, DisruptionBudgetRefusesUnlessAtOnce) {
  node("n1");
  pod("a1", "n1");
  call("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
       R"({"metadata":{"name":"keep"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"a"}}}})");
  auto done = evict({.grace = 5s}, 30s);
  EXPECT_FALSE(done.finished());
  EXPECT_EQ(done.refused, 1u);
  ASSERT_EQ(done.nodes_left.size(), 1u);
  ASSERT_EQ(done.nodes_left[0].refused.size(), 1u);
  EXPECT_EQ(done.nodes_left[0].refused[0],
            "default/a1: The disruption budget keep needs 1 healthy pods and has 1 currently");
  EXPECT_FALSE(done.running) << "its command has ended";
  EXPECT_TRUE(has_pod("a1"));
  done = evict({.grace = 5s, .at_once = true});
  EXPECT_TRUE(done.finished());
  EXPECT_FALSE(has_pod("a1"));
}

TEST_F(EvictTest, EndedCommandGoesOnWhenItRunsAgain) {
  node("n1");
  for (int i = 0; i < 5; ++i) pod(base::cat("a", i), "n1");
  const auto first = evict({.grace = 5s, .per_minute = 2}, 2s);
  EXPECT_EQ(first.evicted, 2u) << "the budget of the minute";
  EXPECT_FALSE(first.finished());
  const auto second = evict({.grace = 5s});
  EXPECT_TRUE(second.finished());
  EXPECT_EQ(second.evicted, 5u) << "counted over both runs";
  EXPECT_EQ(second.began, first.began);
}

TEST_F(EvictTest, StoresTheOptionsOfTheOrder) {
  node("n1");
  auto order = this->order(policy::state::Wish::kOff, {"n1"});
  order.command.evict = true;
  order.command.lasts = 2h;
  const base::WallTime until = clock.wall() + 2h;
  const auto report = give(order);
  ASSERT_TRUE(report) << report.error().message;
  net::testing::run_task(loop, clock,
                         evict_offline(loop, client, log, base::Random(1), *report,
                                       {order, {.grace = 45s, .per_minute = 5}, 1min}, nullptr));
  ASSERT_EQ(stored().size(), 1u);
  ASSERT_TRUE(stored()[0].options);
  EXPECT_EQ(*stored()[0].options, (OffOptions{45s, 5, false, until}));
  const std::string map = call("GET", base::cat(testing::kMaps, "/tidemark-off")).dump();
  EXPECT_NE(map.find(R"(\"budgetPerMinute\":5)"), std::string::npos) << map;
}

TEST_F(EvictTest, BudgetLimitsEvictionsOfAMinute) {
  node("n1");
  for (int i = 0; i < 5; ++i) pod(base::cat("a", i), "n1");
  EXPECT_TRUE(evict({.grace = 5s, .per_minute = 2}, 10min).finished());
  EXPECT_GE(took_, 2min);
  EXPECT_LE(took_, 2min + 15s);
}

TEST_F(EvictTest, BudgetOfAMinuteDoesNotEndTheDefaultWait) {
  node("n1");
  constexpr int kMany = 13;
  for (int i = 0; i < kMany; ++i) pod(base::cat("a", i), "n1");
  EvictOptions options{.grace = 1s, .per_minute = 1};
  const base::Duration limit = default_wait(options);
  EXPECT_TRUE(evict(options, limit).finished());
  EXPECT_GE(took_, 12min) << "longer than the wait without a budget";
  pod("stuck", "n1");
  stuck_ = {"stuck"};
  EXPECT_FALSE(evict(options, limit).finished());
  EXPECT_LE(took_, 2min) << "a standstill still ends it";
}

TEST_F(EvictTest, ANewOrderForgetsOldEndedOnes) {
  node("n1");
  const auto add = [&](const std::string& name, base::Duration age, bool running) {
    OffProgress progress;
    progress.scope = base::cat("node ", name);
    progress.running = running;
    progress.began = progress.updated = clock.wall() + -age;
    const auto stored = net::testing::run_task(loop, clock, store_progress(client, "koordinator-system", progress, 5s));
    ASSERT_TRUE(stored) << stored.error().message;
  };
  for (int i = 0; i < 60; ++i) add(base::cat("ended-", i), std::chrono::minutes(10 + i), false);
  add("runs", 1min, true);
  add("killed", 24h * 8, true);
  EXPECT_TRUE(evict({.grace = 5s}).finished());
  std::set<std::string> scopes;
  for (const OffProgress& each : stored()) scopes.insert(each.scope);
  EXPECT_EQ(scopes.size(), 52u);
  EXPECT_TRUE(scopes.contains("cluster") && scopes.contains("node runs"));
  EXPECT_TRUE(scopes.contains("node ended-49")) << "the newest 50 stay";
  EXPECT_FALSE(scopes.contains("node ended-50") || scopes.contains("node killed"));
  clock.advance(24h * 8);
  EXPECT_TRUE(evict({.grace = 5s}).finished());
  EXPECT_EQ(stored().size(), 1u);
}

TEST_F(EvictTest, NamesWhatADeadAgentLeaves) {
  node("n1");
  agent("n1", "Enforcing", "cpuSuppress: enforce (2 files)");
  pod("a1", "n1");
  const auto done = evict({.grace = 5s}, 30s);
  EXPECT_FALSE(done.finished());
  EXPECT_EQ(done.pods_left, 0u) << "the API server ends pods without the agent";
  ASSERT_EQ(done.nodes_left.size(), 1u);
  EXPECT_EQ(done.nodes_left[0].agent, AgentAnswer::kUnconfirmed);
  EXPECT_EQ(done.nodes_left[0].agent_says, "Enforcing: cpuSuppress: enforce (2 files)");
}

TEST_F(EvictTest, ReportOfADeadAgentAboutAnEarlierOrderIsNoProof) {
  node("n1");
  ASSERT_TRUE(give(order(policy::state::Wish::kOff)));
  const std::string said = "cpuSuppress: off" + mark_said("n1");
  agent("n1", "Off", said);
  ASSERT_TRUE(give(order(policy::state::Wish::kOn)));  // the agent writes files, and dies before it reports them
  const auto done = evict({.grace = 5s}, 30s);
  EXPECT_FALSE(done.finished());
  ASSERT_EQ(done.nodes_left.size(), 1u);
  EXPECT_EQ(done.nodes_left[0].agent, AgentAnswer::kUnconfirmed);
  EXPECT_EQ(done.nodes_left[0].agent_says, "Off: " + said);
}

TEST_F(EvictTest, NamesPodsThatStay) {
  node("n1");
  pod("mirror", "n1", true, 5, R"({"kubernetes.io/config.mirror":"x"})");
  pod("stuck", "n1");
  stuck_ = {"stuck"};
  const auto done = evict({.grace = 5s}, 30s);
  ASSERT_EQ(done.nodes_left.size(), 1u);
  EXPECT_EQ(done.nodes_left[0].pods, 2u);
  EXPECT_EQ(done.nodes_left[0].static_pods, 1u);
  EXPECT_EQ(done.nodes_left[0].outlived, 1u);
  EXPECT_TRUE(has_pod("stuck")) << "a pod whose containers may run is never forgotten";
}

TEST_F(EvictTest, ProvesNothingWithoutTheRightToListPods) {
  for (const char* name : {"n1", "n2"}) node(name);
  pod("a1", "n1");
  between.answers = [](const net::HttpRequest& request) -> std::optional<net::HttpResponse> {
    if (request.method != "GET" || !request.target.starts_with("/api/v1/pods")) return std::nullopt;
    net::HttpResponse denied;
    denied.status = 403;
    denied.body = R"({"kind":"Status","status":"Failure","message":"ann cannot list pods","code":403})";
    return denied;
  };
  const auto done = evict({.grace = 5s, .gives_up_after = 30s}, 1h);
  EXPECT_FALSE(done.finished());
  EXPECT_EQ(done.nodes, 2u);
  EXPECT_TRUE(done.problem.starts_with("cannot list nodes or pods: ")) << done.problem;
  EXPECT_TRUE(done.problem.contains("ann cannot list pods")) << done.problem;
  EXPECT_TRUE(has_pod("a1"));
  const Json map = call("GET", base::cat(testing::kMaps, "/", kOffProgressName));
  EXPECT_TRUE(map.text_at("data", "cluster.json").contains(R"("finished":false)")) << map.dump();
  between.answers = nullptr;
  EXPECT_TRUE(evict({.grace = 5s}).finished());
}

TEST_F(EvictTest, NamesNodesWithoutAnAgent) {
  for (const char* name : {"n1", "n2"}) node(name);
  agent("n2", "Enforcing");
  agents_ = {"n2"};
  const auto done = evict({.grace = 5s});
  EXPECT_TRUE(done.finished());
  EXPECT_EQ(done.without_agent, std::vector<std::string>{"n1"});
}

TEST_F(EvictTest, EndsAfterAStandstill) {
  for (const char* name : {"n1", "n2"}) node(name);
  pod("stuck", "n1");
  pod("a1", "n2");
  stuck_ = {"stuck"};
  const auto done = evict({.grace = 5s, .gives_up_after = 30s}, 1h);
  EXPECT_FALSE(done.finished());
  EXPECT_FALSE(done.running);
  EXPECT_LE(took_, 1min);
  ASSERT_EQ(done.nodes_left.size(), 1u);
  EXPECT_EQ(done.nodes_left[0].name, "n1");
}

TEST_F(EvictTest, AsksARefusingPodUntilTheLimit) {
  node("n1");
  pod("a1", "n1");
  call("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
       R"({"metadata":{"name":"keep"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"a"}}}})");
  evict({.grace = 5s, .gives_up_after = 10s}, 2min);
  EXPECT_GE(took_, 2min) << "another replica may become ready";
}

TEST_F(EvictTest, NamesWhatYarnStillHolds) {
  node("n1");
  yarn_holds("n1", "2000", "1Gi");
  const auto done = evict({.grace = 5s}, 30s);
  EXPECT_FALSE(done.finished());
  EXPECT_EQ(done.yarn_left, 1u);
  ASSERT_EQ(done.nodes_left.size(), 1u);
  EXPECT_EQ(done.nodes_left[0].yarn, (model::Resources{model::CpuMilli{2000}, model::MemoryBytes{1 << 30}}));
  yarn_holds("n1", "0", "0");
  EXPECT_TRUE(evict({.grace = 5s}).finished());
}

TEST_F(EvictTest, AnUnreadableReportOfYarnIsNoProof) {
  node("n1");
  yarn_holds("n1", "many", "1Gi");
  const auto done = evict({.grace = 5s}, 30s);
  EXPECT_FALSE(done.finished());
  EXPECT_EQ(done.yarn_left, 1u);
  ASSERT_EQ(done.nodes_left.size(), 1u);
  EXPECT_TRUE(done.nodes_left[0].yarn_unreadable);
}

TEST_F(EvictTest, PreviewCountsWhatWouldGo) {
  for (const char* name : {"n1", "n2", "n3"}) node(name);
  pod("a1", "n1");
  pod("mirror", "n1", true, 5, R"({"kubernetes.io/config.mirror":"x"})");
  pod("web", "n1", false);
  pod("elsewhere", "n3");
  yarn_holds("n2", "2000", "1Gi");
  auto order = this->order(policy::state::Wish::kOff, {"n1", "n2"});
  order.command.evict = true;
  order.dry_run = true;
  const auto report = give(order);
  ASSERT_TRUE(report);
  const auto would = net::testing::run_task(loop, clock, preview_eviction(loop, client, *report, 5s));
  ASSERT_TRUE(would) << would.error().message;
  EXPECT_EQ(would->pods, 2u);
  EXPECT_EQ(would->static_pods, 1u);
  EXPECT_EQ(would->nodes_with_yarn, 1u);
  EXPECT_EQ(would->yarn, (model::Resources{model::CpuMilli{2000}, model::MemoryBytes{1 << 30}}));
  EXPECT_TRUE(has_pod("a1"));
}

TEST_F(EvictTest, ShortensTheGraceOfAPodThatLeavesAlready) {
  node("n1");
  pod("slow", "n1", true, 600);
  call("DELETE", base::cat(kPods, "/slow"));
  EXPECT_TRUE(evict({.grace = 5s}).finished());
  EXPECT_LE(took_, 15s);
}

TEST(OffProgress, IsReadBackAsItWasStored) {
  OffProgress progress;
  progress.scope = "pool web";
  progress.by = "ann";
  progress.why = "a test";
  progress.options = {45s, 5, false, base::WallTime(1767232800s)};
  progress.began = base::WallTime(1767225600s);
  progress.updated = base::WallTime(1767225660s);
  progress.nodes = 3;
  progress.marked = 2;
  progress.done = 1;
  progress.evicted = 7;
  NodeProof left;
  left.name = "n1";
  left.pods = 2;
  left.static_pods = 1;
  left.outlived = 1;
  left.refused = {"default/a: no"};
  left.yarn = {model::CpuMilli{500}, model::MemoryBytes{1 << 20}};
  left.yarn_unreadable = true;
  left.agent = AgentAnswer::kInForce;
  left.agent_says = "Off: x";
  progress.nodes_left = {left};
  progress.without_agent = {"n2"};
  progress.problem = "cannot list nodes or pods: no answer";
  const auto read = parse_progress(progress_json(progress));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, progress);
  progress.options.reset();  // as an earlier version stores it
  const auto earlier = parse_progress(progress_json(progress));
  ASSERT_TRUE(earlier) << earlier.error().message;
  EXPECT_EQ(*earlier, progress);
  EXPECT_FALSE(parse_progress(*Json::parse(R"({"schema":2})")));
}

}  // namespace
}  // namespace tidemark::operate
