// The commands against the API server in memory, with no manager there. What depends on a real server is in
// tests/cluster/test_state.py.
#include "operate/order.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/text.h"
#include "model/reason.h"
#include "operate/classes.h"
#include "operate/order_wait.h"
#include "operate/testing/orders.h"
#include "policy/state/desired.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;
using testing::kMaps;

class OrderTest : public testing::Orders {
 protected:
  WaitReport wait(const OrderReport& report, const OrderOptions& options, base::Duration limit = 5s) {
    return net::testing::run_task(loop, clock,
                                  wait_for_order(loop, client, log, base::Random(2), report, options, {limit}));
  }
};

TEST_F(OrderTest, OffStopsSellingAtOnceAndIsStoredForNodesThatJoinLater) {
  for (int i = 0; i < 30; ++i) node(base::cat("n", i));
  auto options = order(policy::state::Wish::kOff);
  options.command.drain = 15min;
  const auto report = give(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(count(*report, OrderOutcome::kWritten), 30u);
  EXPECT_FALSE(report->failed());
  EXPECT_EQ(label("n7"), "draining");
  EXPECT_EQ(batch_cpu("n7"), "0");
  EXPECT_EQ(read("n7").text_at("status", "capacity", "kubernetes.io/batch-memory"), "0");
  const auto map = call("GET", base::cat(kMaps, "/tidemark-state"));
  EXPECT_NE(map.text_at("data", "state.json").find("a test"), std::string_view::npos);

  // Again: everything is found done, and nothing is written.
  const std::string before(read("n7").text_at("metadata", "resourceVersion"));
  const auto again = give(options);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->was_stored);
  EXPECT_EQ(count(*again, OrderOutcome::kAlready), 30u);
  EXPECT_EQ(read("n7").text_at("metadata", "resourceVersion"), before);
}

TEST_F(OrderTest, CompletesInterruptedRun) {
  for (int i = 0; i < 10; ++i) node(base::cat("n", i));
  ASSERT_TRUE(give(order(policy::state::Wish::kOff)));
  node("late");
  const auto again = give(order(policy::state::Wish::kOff));
  ASSERT_TRUE(again);
  EXPECT_EQ(count(*again, OrderOutcome::kAlready), 10u);
  EXPECT_EQ(count(*again, OrderOutcome::kWritten), 1u);
  EXPECT_EQ(label("late"), "off");
  EXPECT_EQ(batch_cpu("late"), "");
}

// Another manager, or a status from before, put the amounts back; and the first run ended before the taint was off.
TEST_F(OrderTest, RepeatedOffRemovesNewOfferAndTaint) {
  node("n");
  ASSERT_TRUE(give(order(policy::state::Wish::kOff)));
  ASSERT_EQ(batch_cpu("n"), "");
  const auto tainted = [&] { return read("n").at("spec", "taints") != nullptr; };
  call("PATCH", "/api/v1/nodes/n", R"({"spec":{"taints":[{"key":"tidemark.io/oversold","effect":"NoSchedule"}]}})");
  ASSERT_TRUE(tainted());
  const auto again = give(order(policy::state::Wish::kOff));
  EXPECT_EQ(count(*again, OrderOutcome::kAlready), 1u);
  EXPECT_FALSE(tainted());

  const std::string amounts = R"({"kubernetes.io/batch-cpu":"500"})";
  call("PATCH", "/api/v1/nodes/n/status",
       base::cat(R"({"status":{"capacity":)", amounts, R"(,"allocatable":)", amounts, "}}"));
  auto dry = order(policy::state::Wish::kOff);
  dry.dry_run = true;
  ASSERT_TRUE(give(dry));
  EXPECT_EQ(batch_cpu("n"), "500");
  ASSERT_TRUE(give(order(policy::state::Wish::kOff)));
  EXPECT_EQ(batch_cpu("n"), "");
  EXPECT_EQ(read("n").text_at("status", "capacity", "kubernetes.io/batch-cpu"), "");
}

TEST_F(OrderTest, MarksNodeWithoutLabelsAndAnnotations) {
  node("bare", "");
  ASSERT_FALSE(give(order(policy::state::Wish::kOff, {"bare"}))->failed());
  EXPECT_EQ(label("bare"), "off");
}

TEST_F(OrderTest, NamesMissingNodeAndMarksOthers) {
  node("there");
  const auto report = give(order(policy::state::Wish::kOff, {"nowhere", "there"}));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->failed());
  EXPECT_EQ(report->nodes[0].problem, "node not found");
  EXPECT_EQ(label("there"), "off");
}

TEST_F(OrderTest, ADryRunWritesNothing) {
  node("n");
  auto options = order(policy::state::Wish::kOff);
  options.dry_run = true;
  const std::string before(read("n").text_at("metadata", "resourceVersion"));
  const auto report = give(options);
  ASSERT_TRUE(report);
  EXPECT_EQ(count(*report, OrderOutcome::kWritten), 1u);
  EXPECT_EQ(report->nodes[0].state.strictest(), model::NodeState::kOff);
  EXPECT_EQ(read("n").text_at("metadata", "resourceVersion"), before);
  EXPECT_EQ(ask("GET", base::cat(kMaps, "/tidemark-state")).status, 404);
}

TEST_F(OrderTest, ClusterOnKeepsNodeOff) {
  node("a");
  node("b");
  ASSERT_TRUE(give(order(policy::state::Wish::kOff, {"a"})));
  ASSERT_TRUE(give(order(policy::state::Wish::kOff)));
  auto on = order(policy::state::Wish::kOn);
  const auto report = give(on);
  ASSERT_TRUE(report);
  EXPECT_EQ(label("a"), "off");
  EXPECT_EQ(label("b"), "on");
  EXPECT_EQ(report->nodes[0].state.strictest(), model::NodeState::kOff);
}

// Two operators at once, one for the cluster and one for it as well: on every node the same one wins, the one whose
// order was stored later, and the other hears of it where it came too late.
TEST_F(OrderTest, LaterOfTwoConcurrentOrdersWinsOnEveryNode) {
  for (int i = 0; i < 200; ++i) node(base::cat("n", i));
  std::optional<Result<OrderReport>> off;
  std::optional<Result<OrderReport>> on;
  {
    net::Scope scope(loop);
    auto give_off = [&]() -> net::Task<void> {
      off = co_await give_order(loop, client, order(policy::state::Wish::kOff), nullptr);
    };
    auto give_on = [&]() -> net::Task<void> {
      on = co_await give_order(loop, client, order(policy::state::Wish::kOn), nullptr);
    };
    scope.spawn(give_off());
    scope.spawn(give_on());
    net::testing::run_for(loop, clock, 10s);
  }
  ASSERT_TRUE(off && *off && on && *on);
  EXPECT_EQ(count(**off, OrderOutcome::kFailed) + count(**on, OrderOutcome::kFailed), 0u);
  const auto map = call("GET", base::cat(kMaps, "/tidemark-state"));
  const bool off_is_later = map.text_at("data", "state.json").find(R"("wish":"off")") != std::string_view::npos;
  for (int i = 0; i < 200; ++i) EXPECT_EQ(label(base::cat("n", i)), off_is_later ? "off" : "on");
}

TEST_F(OrderTest, ReplacesUnreadableMark) {
  node("n", R"("labels":{"tidemark.io/state":"on"},"annotations":{"tidemark.io/state-detail":"{broken"})");
  ASSERT_FALSE(give(order(policy::state::Wish::kOn, {"n"}))->failed());
  EXPECT_EQ(label("n"), "on");
  EXPECT_EQ(read("n").text_at("metadata", "annotations", "tidemark.io/state-detail").find("{broken"),
            std::string_view::npos);
}

TEST_F(OrderTest, ReplacesUnreadableStoreButNotNewerVersion) {
  node("n");
  call("POST", std::string(kMaps), R"({"metadata":{"name":"tidemark-state"},"data":{"state.json":"{broken"}})");
  const auto report = give(order(policy::state::Wish::kOff));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(label("n"), "off");
  call("PATCH", base::cat(kMaps, "/tidemark-state"), R"({"data":{"state.json":"{\"schema\":2}"}})");
  const auto refused = give(order(policy::state::Wish::kOn));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(label("n"), "off");
}

// Nodes carry copies of what was ordered: the next command goes on from them, for nodes that join later.
TEST_F(OrderTest, RestoresLostStoreFromNodeMarks) {
  node("day", R"("labels":{"pool":"day"})");
  node("night", R"("labels":{"pool":"night"})");
  live(config_with("night"));
  auto night = pool_order(policy::state::Wish::kOff, "night");
  night.command.why = "of the night";
  auto all = order(policy::state::Wish::kOff);
  all.command.why = "of all";
  all.command.drain = 1h;
  ASSERT_TRUE(give(all));
  ASSERT_TRUE(give(night));
  call("DELETE", base::cat(kMaps, "/tidemark-state"));

  // A side of what is off can be switched on: it is known that it is off.
  auto on = order(policy::state::Wish::kOn);
  on.command.only.k8s = true;
  const auto report = give(on);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_NE(report->notes[0].find("recovered from the node marks"), std::string::npos) << report->notes[0];
  const auto stored = [&] {
    return policy::state::parse_desired(call("GET", base::cat(kMaps, "/tidemark-state")).text_at("data", "state.json"));
  };
  auto desired = stored();
  ASSERT_TRUE(desired && desired->cluster && desired->pool("night") != nullptr);
  EXPECT_TRUE(desired->cluster->orders[0].only.yarn);
  EXPECT_EQ(desired->pool("night")->orders[0].why, "of the night");

  // Unreadable is as good as lost.
  call("PATCH", base::cat(kMaps, "/tidemark-state"), R"({"data":{"state.json":"{broken"}})");
  const std::int64_t before = desired->generation;
  night.command.wish = policy::state::Wish::kOn;
  ASSERT_TRUE(give(night));
  desired = stored();
  ASSERT_TRUE(desired && desired->cluster);
  EXPECT_TRUE(desired->cluster->orders[0].only.yarn);
  EXPECT_GT(desired->generation, before);
}

// Of 520 nodes the list breaks after the first page: what was taken is finished, and the report has both.
TEST_F(OrderTest, FailedListKeepsReportOfDoneNodes) {
  for (int i = 0; i < 520; ++i) node(base::cat("n", i));
  between.refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (request.target.find("continue=") == std::string::npos) return std::nullopt;
    return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
  };
  const auto options = order(policy::state::Wish::kOff);
  const auto report = give(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->failed());
  EXPECT_TRUE(report->stored);
  EXPECT_EQ(count(*report, OrderOutcome::kWritten), 500u);
  ASSERT_EQ(report->notes.size(), 1u) << "nothing was stored yet, and not all nodes could tell";
  EXPECT_NE(report->notes[0].find("earlier orders for pools may be lost"), std::string::npos) << report->notes[0];
  EXPECT_TRUE(report->incomplete.starts_with("listing nodes: ")) << report->incomplete;

  // Where nothing was done it is an error.
  between.refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (!request.target.starts_with("/api/v1/nodes")) return std::nullopt;
    return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
  };
  auto dry = options;
  dry.dry_run = true;
  dry.command.why = "another";
  EXPECT_FALSE(give(dry));
  // So it is where what was ordered before is gone, unless the whole cluster is switched off.
  call("DELETE", base::cat(kMaps, "/tidemark-state"));
  EXPECT_FALSE(give(order(policy::state::Wish::kOn)));
  EXPECT_EQ(ask("GET", base::cat(kMaps, "/tidemark-state")).status, 404);
}

TEST_F(OrderTest, RejectsUnknownClass) {
  node("n", "");
  auto options = order(policy::state::Wish::kOff, {"n"});
  options.command.only.classes = {"sparc"};
  const auto check = [&] { return net::testing::run_task(loop, clock, check_classes(loop, client, options)); };
  auto checked = check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(checked.error().message.find("names none"), std::string::npos) << checked.error().message;
  call(
      "POST", std::string(kMaps),
      R"({"metadata":{"name":"tidemark-config"},"data":{"config.yaml":"schema: 1\nmode: enforce\nclasses:\n- {name: spark, order: 3}\n- {name: training, order: 2}\n"}})");
  checked = check();
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("did you mean spark? There are: training, spark"), std::string::npos)
      << checked.error().message;
  options.command.only.classes = {"spark"};
  EXPECT_EQ(check().value_or("?"), "");
  ASSERT_FALSE(give(options)->failed());
  // One that is gone from the settings is switched on where it is off, and not switched off.
  call("PATCH", base::cat(kMaps, "/tidemark-config"),
       R"({"data":{"config.yaml":"schema: 1\nmode: enforce\nclasses:\n- {name: training, order: 2}\n"}})");
  EXPECT_FALSE(check());
  options.command.wish = policy::state::Wish::kOn;
  EXPECT_EQ(check().value_or("?"), "");
  ASSERT_FALSE(give(options)->failed());
  EXPECT_FALSE(check()) << "it is off nowhere any more";
  // Settings that cannot be read delay no order.
  call("PATCH", base::cat(kMaps, "/tidemark-config"), R"({"data":{"config.yaml":"schema: 9\n"}})");
  options.command.wish = policy::state::Wish::kOff;
  EXPECT_NE(check().value_or("").find("is not known"), std::string::npos);
}

TEST_F(OrderTest, OneSideAlone) {
  node(
      "n",
      R"("annotations":{"node.koordinator.sh/originExtendedAllocatable":"{\"resources\":{\"kubernetes.io/batch-cpu\":\"9k\",\"kubernetes.io/batch-memory\":\"90\"}}"})");
  auto options = order(policy::state::Wish::kOff, {"n"});
  options.command.only = *policy::state::parse_parts(std::vector<std::string>{"yarn"});
  ASSERT_FALSE(give(options)->failed());
  EXPECT_EQ(batch_cpu("n"), "8k");
  EXPECT_NE(
      read("n").text_at("metadata", "annotations", "node.koordinator.sh/originExtendedAllocatable").find(R"("0")"),
      std::string_view::npos);
  auto on = order(policy::state::Wish::kOn, {"n"});
  on.command.only.k8s = true;
  EXPECT_EQ(give(on)->nodes[0].outcome, OrderOutcome::kNothing);
  on.command.only = {false, false, {"spark"}};
  ASSERT_FALSE(give(order(policy::state::Wish::kOff, {"n"}))->failed());
  EXPECT_EQ(give(on)->nodes[0].outcome, OrderOutcome::kRefused);
}

TEST_F(OrderTest, WaitEndsAfterDrainWithoutManager) {
  node("n");
  auto options = order(policy::state::Wish::kOff);
  options.command.drain = 10min;
  const auto report = give(options);
  ASSERT_TRUE(report);
  std::optional<WaitReport> waited;
  std::vector<WaitProgress> seen;
  {
    net::Scope scope(loop);
    auto wait = [&]() -> net::Task<void> {
      waited = co_await wait_for_order(loop, client, log, base::Random(2), *report, options,
                                       {30min, [&](const WaitProgress& progress) { seen.push_back(progress); }});
    };
    scope.spawn(wait());
    net::testing::run_for(loop, clock, 9min);
    EXPECT_FALSE(waited);
    net::testing::run_for(loop, clock, 2min);
  }
  ASSERT_TRUE(waited);
  EXPECT_TRUE(waited->reached);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].draining, 1u);
  EXPECT_EQ(seen[1].reached, 1u);

  // A manager that goes on writing amounts is reported.
  call("PATCH", "/api/v1/nodes/n/status", R"({"status":{"allocatable":{"kubernetes.io/batch-cpu":"500"}}})");
  const auto late =
      net::testing::run_task(loop, clock, wait_for_order(loop, client, log, base::Random(3), *report, options, {5s}));
  EXPECT_FALSE(late.reached);
  EXPECT_EQ(late.last.offering, 1u);
  EXPECT_EQ(late.not_reached, std::vector<std::string>{"n"});
}

TEST_F(OrderTest, WaitEndsWhenAgentConfirms) {
  node("n");
  const auto say = [&](std::string_view reason) {
    call("PATCH", "/api/v1/nodes/n/status",
         base::cat(R"({"status":{"conditions":[{"type":"TidemarkIsolation","status":"True","reason":")", reason,
                   R"(","message":"cpuSuppress: off)", mark_said("n"), R"("}]}})"));
  };
  say("Enforcing");
  auto options = order(policy::state::Wish::kOff);
  const auto report = give(options);
  ASSERT_TRUE(report);
  const auto early = wait(*report, options);
  EXPECT_FALSE(early.reached);
  EXPECT_EQ(early.last.limiting, 1u);
  EXPECT_EQ(early.not_reached, std::vector<std::string>{"n"});
  for (const std::string_view reason : {"Unable", "Holding", "Waiting", "PeerPresent"}) {
    say(reason);
    EXPECT_FALSE(wait(*report, options).reached) << reason;
  }
  for (const std::string_view reason : {"Off", "OffLocally", "NoGroups"}) {
    say(reason);
    EXPECT_TRUE(wait(*report, options).reached) << reason;
  }
  say("Enforcing");
  options.command.only.yarn = true;
  EXPECT_TRUE(wait(*report, options).reached) << "an agent obeys no order that is YARN's alone";
}

// Between two orders the agent may have written files, and died before it reported them.
TEST_F(OrderTest, ReportAboutEarlierOrderConfirmsNothing) {
  node("n");
  const auto off = order(policy::state::Wish::kOff);
  ASSERT_TRUE(give(off));
  const auto say = [&](const std::string& message) {
    call("PATCH", "/api/v1/nodes/n/status",
         base::cat(R"({"status":{"conditions":[{"type":"TidemarkIsolation","status":"True","reason":"Off","message":")",
                   message, R"("}]}})"));
  };
  say("cpuSuppress: off" + mark_said("n"));
  ASSERT_TRUE(give(order(policy::state::Wish::kOn)));
  const auto report = give(off);
  ASSERT_TRUE(report);
  auto waited = wait(*report, off);
  EXPECT_FALSE(waited.reached);
  EXPECT_EQ(waited.last.limiting, 1u);
  EXPECT_TRUE(waited.other_words.empty());
  say("cpuSuppress: off");
  waited = wait(*report, off);
  EXPECT_FALSE(waited.reached);
  EXPECT_EQ(waited.other_words, std::vector<std::string>{"n (Off)"}) << "an older agent reports no mark";
  say("cpuSuppress: off" + mark_said("n"));
  EXPECT_TRUE(wait(*report, off).reached);
}

// They are named apart: waiting longer may bring nothing.
TEST_F(OrderTest, WaitNamesNodesWithoutAgentAnswer) {
  for (const char* name : {"n", "newer", "down", "bare"}) node(name);
  const auto say = [&](std::string_view name, std::string_view reason, std::string_view ready) {
    call("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         base::cat(R"({"status":{"conditions":[{"type":"Ready","status":")", ready,
                   R"("},{"type":"TidemarkIsolation","status":"True","reason":")", reason,
                   R"(","message":"cpuSuppress: off)", mark_said(std::string(name)), R"("}]}})"));
  };
  say("n", "Enforcing", "True");
  say("newer", "Sleeping", "True");
  say("down", "Enforcing", "Unknown");
  auto options = order(policy::state::Wish::kOff);
  const auto report = give(options);
  ASSERT_TRUE(report);
  const auto waited = wait(*report, options);
  EXPECT_FALSE(waited.reached);
  EXPECT_EQ(waited.last.limiting, 3u);
  EXPECT_EQ(waited.last.reached, 1u);
  EXPECT_EQ(waited.other_words, std::vector<std::string>{"newer (Sleeping)"});
  EXPECT_EQ(waited.silent, std::vector<std::string>{"down"});
  EXPECT_EQ(waited.without_agent, std::vector<std::string>{"bare"}) << "reached, and no agent says that it is held";
  EXPECT_EQ(waited.last.silent, 1u);
  EXPECT_EQ(waited.last.other_words, 1u);
  for (const char* name : {"n", "newer", "down"}) say(name, "Off", "True");
  EXPECT_TRUE(wait(*report, options).reached);
  options.command.only.yarn = true;
  EXPECT_TRUE(wait(*report, options).without_agent.empty()) << "of YARN's part no agent is to say anything";
}

TEST_F(OrderTest, WaitsUntilNoKernelFileIsInForce) {
  node("n");
  node("never-had-an-agent");
  const auto say = [&](std::string_view reason, std::string_view message) {
    call("PATCH", "/api/v1/nodes/n/status",
         base::cat(R"({"status":{"conditions":[{"type":"TidemarkIsolation","status":"True","reason":")", reason,
                   R"(","message":")", message, R"("}]}})"));
  };
  const auto in_force = [&] { return net::testing::run_task(loop, clock, nodes_in_force(client, 5s)); };
  say("Observing", "batchLimits: observe");
  EXPECT_EQ(in_force()->nodes, std::vector<std::string>());
  say("Enforcing", "batchLimits: enforce");
  EXPECT_EQ(in_force()->nodes, std::vector<std::string>{"n"}) << "it may write at any moment";
  say("PeerPresent", "cpuSuppress: observe");
  EXPECT_EQ(in_force()->nodes, std::vector<std::string>());
  EXPECT_EQ(in_force()->beside_peer, std::vector<std::string>{"n"});

  auto options = order(policy::state::Wish::kOff);
  const auto report = give(options);
  ASSERT_TRUE(report);
  say("Off", base::cat("batchLimits: off (12 files)", mark_said("n")));
  EXPECT_TRUE(wait(*report, options).reached) << "pods that run are held to their least: that is what off means";
  options.nothing_in_force = true;
  const auto early = wait(*report, options);
  EXPECT_FALSE(early.reached);
  EXPECT_EQ(early.last.in_force, 1u);
  EXPECT_EQ(early.in_force, std::vector<std::string>{base::cat("n (batchLimits: off (12 files)", mark_said("n"), ")")});
  say("Off", base::cat("batchLimits: off", mark_said("n")));
  EXPECT_TRUE(wait(*report, options).reached);
  EXPECT_EQ(in_force()->nodes, std::vector<std::string>());
}

// A class is on neither side: how far its order is tells whether it has come about.
TEST_F(OrderTest, WaitForClassEndsAfterItsDrain) {
  node("n");
  auto options = order(policy::state::Wish::kOff);
  options.command.only.classes = {"spark"};
  options.command.drain = 10min;
  const auto report = give(options);
  ASSERT_TRUE(report);
  const auto early = wait(*report, options, 4min);
  EXPECT_FALSE(early.reached);
  EXPECT_EQ(early.last.draining, 1u);
  EXPECT_FALSE(wait(*report, options, 4min).reached) << "eight minutes";
  EXPECT_TRUE(wait(*report, options, 4min).reached) << "ten minutes";
}

}  // namespace
}  // namespace tidemark::operate
