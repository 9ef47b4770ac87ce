// Orders through the API of the console, on an API server in memory, with no manager there.
#include "console/orders.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "console/testing/console_in_memory.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

class ConsoleOrders : public testing::ConsoleInMemory {
 protected:
  void pod(const std::string& name, const std::string& on) {
    call(
        "POST", std::string(kPods),
        cat(R"({"metadata":{"name":")", name, R"(","labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"nodeName":")",
            on, R"(","containers":[{"name":"c","image":"i","resources":{"requests":{"kubernetes.io/batch-cpu":"2000",)",
            R"("kubernetes.io/batch-memory":"1Gi"}}}]}})"));
    call("PATCH", cat(kPods, "/", name, "/status"),
         cat(R"({"status":{"phase":"Running","startTime":")", base::format_rfc3339(clock.wall() + -60s), R"("}})"));
  }
  // As the kubelet of every node: removes pods that are asked to leave.
  void end_leaving_pods() {
    for (const Json& each : call("GET", std::string(kPods)).at("items")->as_array()) {
      if (each.at("metadata", "deletionTimestamp") == nullptr) continue;
      ask("DELETE", cat(kPods, "/", each.text_at("metadata", "name"), "?gracePeriodSeconds=0"));
    }
  }
};

constexpr std::string_view kOff = R"({"verb":"off","scope":"cluster","reason":"kernel update"})";
constexpr std::string_view kEvict =
    R"({"verb":"off","scope":"cluster","reason":"kernel update","evict":true,"graceSeconds":5})";

TEST_F(ConsoleOrders, SwitchesTheClusterOffAsTheCommandDoes) {
  node("a");
  node("b");
  serve();
  const auto answer = post(std::string(kOff));
  ASSERT_EQ(answer.status, 202) << answer.body;
  const Json order = *body_of(answer).member("order");
  EXPECT_EQ(order.text_at("phase"), "done");
  EXPECT_EQ(number(order, "marked"), 2);
  EXPECT_EQ(number(order, "report", "counts", "written"), 2);
  EXPECT_EQ(answer.headers.get("location"), cat("/api/v1/orders/", order.text_at("id")));
  EXPECT_EQ(label("a"), "draining");
  EXPECT_EQ(batch_cpu("b"), "0");
  const Json stored = call("GET", cat(operate::testing::kMaps, "/tidemark-state"));
  EXPECT_NE(stored.dump().find("kernel update"), std::string::npos) << "nodes that join later inherit it";
  EXPECT_EQ(read_api(answer.headers.get("location")).text_at("order", "by"), "ann");
  EXPECT_EQ(number(read_api("/api/v1/orders").member("orders")->as_array().at(0), "marked"), 2);
}

TEST_F(ConsoleOrders, SwitchesNodesAndAPoolOffAndOnAgain) {
  live(config_with("web"));
  node("a", R"("labels":{"pool":"web"})");
  node("b");
  serve();
  EXPECT_EQ(post(R"({"verb":"off","scope":"pool","pool":"web","reason":"r","drainSeconds":0})", "1").status, 202);
  EXPECT_EQ(label("a"), "off");
  EXPECT_EQ(label("b"), "");
  EXPECT_EQ(post(R"({"verb":"observe","scope":"node","nodes":["b"],"reason":"r"})", "2").status, 202);
  EXPECT_EQ(label("b"), "observe");
  EXPECT_EQ(post(R"({"verb":"on","scope":"pool","pool":"web","reason":"r"})", "3").status, 202);
  EXPECT_EQ(label("a"), "on");
  const auto unknown = post(R"({"verb":"off","scope":"pool","pool":"wed","reason":"r"})", "4");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.body.find("did you mean web?"), std::string::npos) << unknown.body;
  EXPECT_EQ(post(R"({"verb":"off","scope":"node","nodes":["nowhere"],"reason":"r"})", "5").status, 404);
}

TEST_F(ConsoleOrders, CountsTheNodesWhoseOrdersDoNotFitIntoTheList) {
  constexpr int kNodes = 203;  // the list has 200 orders at most
  live(config_with("web"));
  for (int i = 0; i < kNodes; ++i) node(cat("n", i).c_str(), R"("labels":{"pool":"web"})");
  serve();
  EXPECT_EQ(number(read_api("/api/v1/pools/web"), "ordersLeftOff"), 0);
  for (int i = 0; i < kNodes; ++i) {
    const auto answer =
        post(cat(R"({"verb":"observe","scope":"node","nodes":["n)", i, R"("],"reason":"disk )", i, "\"}"), cat(i));
    ASSERT_EQ(answer.status, 202) << answer.body;
  }
  net::testing::run_for(loop, clock, 2s);
  const Json detail = read_api("/api/v1/pools/web");
  EXPECT_EQ(detail.member("orders")->as_array().size(), 200u);
  EXPECT_EQ(number(detail, "ordersLeftOff"), 3);
}

TEST_F(ConsoleOrders, ListsTheOrdersOfAPool) {
  live(config_with("web"));
  for (const char* name : {"a", "b"}) node(name, R"("labels":{"pool":"web"})");
  node("other");
  serve();
  EXPECT_TRUE(read_api("/api/v1/pools/web").member("orders")->as_array().empty());
  post(R"({"verb":"observe","scope":"cluster","reason":"new settings"})", "1");
  post(R"({"verb":"off","scope":"pool","pool":"web","only":["yarn"],"reason":"disks","lastsSeconds":600})", "2");
  post(R"({"verb":"off","scope":"node","nodes":["a","b"],"reason":"rack 7","drainSeconds":0})", "3");
  post(R"({"verb":"off","scope":"node","nodes":["other"],"reason":"elsewhere","drainSeconds":0})", "4");
  net::testing::run_for(loop, clock, 2s);
  const Json detail = read_api("/api/v1/pools/web");
  const auto& orders = detail.member("orders")->as_array();
  ASSERT_EQ(orders.size(), 3u) << detail.member("orders")->dump();
  EXPECT_EQ(orders[0].text_at("scope"), "cluster");
  EXPECT_EQ(orders[0].text_at("verb"), "observe");
  EXPECT_EQ(orders[0].text_at("by"), "ann");
  EXPECT_TRUE(orders[0].member("until")->is_null());
  EXPECT_EQ(orders[1].text_at("scope"), "pool");
  EXPECT_EQ(orders[1].text_at("reason"), "disks");
  EXPECT_EQ(orders[1].member("only")->as_array().at(0), Json("yarn"));
  EXPECT_TRUE(orders[1].member("until")->is_int());
  EXPECT_EQ(orders[2].text_at("scope"), "node");
  EXPECT_EQ(number(orders[2], "nodes"), 2);
  EXPECT_EQ(orders[2].member("names")->as_array().size(), 2u);
  EXPECT_EQ(*orders[2].member("inForce"), Json(true));
  clock.advance(601s);
  net::testing::run_for(loop, clock, 2s);
  EXPECT_EQ(read_api("/api/v1/pools/web").member("orders")->as_array().size(), 2u) << "an order that ended is gone";
  node("c", R"("labels":{"pool":"web","tidemark.io/state":"off"})");
  net::testing::run_for(loop, clock, 2s);
  const Json last = read_api("/api/v1/pools/web").member("orders")->as_array().back();
  EXPECT_TRUE(last.member("at")->is_null()) << "a label has no time: " << last.dump();
}

TEST_F(ConsoleOrders, ShowsWhenTheOrderOfANodeEnds) {
  node("a");
  serve();
  const auto until = [&] { return read_api("/api/v1/nodes?columns=until").at("columns", "until")->as_array().at(0); };
  EXPECT_TRUE(until().is_null());
  const auto ends = std::chrono::floor<std::chrono::seconds>((clock.wall() + 600s).since_epoch).count();
  ASSERT_EQ(post(R"({"verb":"off","scope":"node","nodes":["a"],"reason":"r","lastsSeconds":600})").status, 202);
  net::testing::run_for(loop, clock, 2s);
  EXPECT_EQ(until(), Json(ends));
  clock.advance(601s);
  net::testing::run_for(loop, clock, 2s);
  EXPECT_TRUE(until().is_null()) << "the order has ended";
}

TEST_F(ConsoleOrders, PreviewShowsTheWorkAndWritesNothing) {
  node("a");
  node("b");
  pod("t1", "a");
  pod("t2", "a");
  call("PATCH", "/api/v1/nodes/b", R"({"metadata":{"labels":{"tidemark.io/state":"off"}}})");
  serve();
  const auto answer = post(R"({"verb":"off","scope":"cluster","reason":"r","evict":true,"dryRun":true})", "");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json preview = body_of(answer);
  EXPECT_EQ(number(preview, "work", "nodes"), 2);
  EXPECT_EQ(number(preview, "work", "pods"), 2);
  EXPECT_EQ(number(preview, "work", "podsRequest", "cpu"), 4000);
  EXPECT_EQ(number(preview, "work", "offered", "cpu"), 16000);
  EXPECT_GE(number(preview, "work", "coreSeconds"), 4 * 60);
  EXPECT_EQ(preview.member("orders")->as_array().size(), 1u);
  EXPECT_EQ(preview.at("report", "dryRun")->get_bool(), true);
  EXPECT_EQ(label("a"), "");
  EXPECT_EQ(ask("GET", cat(operate::testing::kMaps, "/tidemark-state")).status, 404);
  EXPECT_TRUE(read_api("/api/v1/orders").member("orders")->as_array().empty());
}

TEST_F(ConsoleOrders, EvictsAndShowsTheStoredProgressUntilNothingIsLeft) {
  node("a");
  pod("t1", "a");
  serve();
  const auto answer = post(std::string(kEvict));
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(body_of(answer).text_at("order", "phase"), "evicting");
  EXPECT_EQ(label("a"), "off");
  EXPECT_EQ(post(std::string(kEvict), "k2").status, 409) << "one eviction at a time for a scope";
  net::testing::run_for(loop, clock, 3s);
  const Json under_way = read_api("/api/v1/orders").member("evictions")->as_array().at(0);
  EXPECT_EQ(under_way.text_at("scope"), "cluster");
  EXPECT_EQ(under_way.text_at("by"), "ann");
  EXPECT_EQ(number(under_way, "counts", "podsLeft"), 1);
  EXPECT_EQ(under_way.member("running")->get_bool(), true);
  end_leaving_pods();
  net::testing::run_for(loop, clock, 5s);
  const Json over = read_api("/api/v1/orders");
  EXPECT_EQ(over.member("orders")->as_array().at(0).text_at("phase"), "done");
  EXPECT_EQ(over.member("evictions")->as_array().at(0).member("finished")->get_bool(), true);
  EXPECT_EQ(number(over.member("evictions")->as_array().at(0), "counts", "evicted"), 1);
}

TEST_F(ConsoleOrders, EvictionThatCannotListPodsFails) {
  node("a");
  pod("t1", "a");
  serve();
  between.refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (!request.target.starts_with("/api/v1/pods")) return std::nullopt;
    return Error{ErrorKind::kUnavailable, "no pods", 0, 0};
  };
  ASSERT_EQ(post(std::string(kEvict)).status, 202);
  net::testing::run_for(loop, clock, 11min);
  const Json order = read_api("/api/v1/orders").member("orders")->as_array().at(0);
  EXPECT_EQ(order.text_at("phase"), "failed");
  EXPECT_TRUE(order.text_at("error").starts_with("cannot list nodes or pods: ")) << order.dump();
}

TEST_F(ConsoleOrders, AnotherConsoleContinuesAfterOneDied) {
  node("a");
  pod("t1", "a");
  serve();
  ASSERT_EQ(post(std::string(kEvict)).status, 202);
  net::testing::run_for(loop, clock, 3s);
  served.reset();  // in the middle of the eviction
  net::testing::run_for(loop, clock, 30s);
  serve();
  const Json left = read_api("/api/v1/orders").member("evictions")->as_array().at(0);
  EXPECT_EQ(left.member("finished")->get_bool(), false);
  ASSERT_EQ(post(std::string(kEvict), "k2").status, 202);
  end_leaving_pods();
  net::testing::run_for(loop, clock, 5s);
  const Json over = read_api("/api/v1/orders").member("evictions")->as_array().at(0);
  EXPECT_EQ(over.member("finished")->get_bool(), true);
  EXPECT_EQ(over.text_at("began"), left.text_at("began"));
  EXPECT_EQ(number(over, "counts", "evicted"), 1) << "the count of the first run goes on";
}

TEST_F(ConsoleOrders, TheSameKeyIsTheSameOrder) {
  node("a");
  serve();
  const auto first = post(std::string(kOff), "key");
  const auto again = post(std::string(kOff), "key");
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(body_of(again).text_at("order", "id"), body_of(first).text_at("order", "id"));
  EXPECT_EQ(read_api("/api/v1/orders").member("orders")->as_array().size(), 1u);
  const auto other = post(R"({"verb":"on","scope":"cluster","reason":"r"})", "key");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(body_of(other).text_at("field"), "Idempotency-Key");
  EXPECT_EQ(post(std::string(kOff), "").status, 400);
}

TEST_F(ConsoleOrders, NamesTheWrongField) {
  serve();
  const auto answer = post(R"({"verb":"off","scope":"cluster"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.headers.get("content-type"), "application/problem+json");
  EXPECT_EQ(body_of(answer).text_at("field"), "reason");
  EXPECT_EQ(body_of(answer).text_at("type"), "urn:tidemark:problem:invalid-order");
}

TEST_F(ConsoleOrders, AnswersTheRefusalOfTheApiServer) {
  node("a");
  serve();
  between.answers = [](const net::HttpRequest& request) -> std::optional<net::HttpResponse> {
    if (request.method == "GET") return std::nullopt;
    net::HttpResponse answer;
    answer.status = 403;
    answer.body = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"user \"viewer\" cannot patch"})";
    return answer;
  };
  for (const auto* body : {R"({"verb":"off","scope":"cluster","reason":"r"})",
                           R"({"verb":"off","scope":"node","nodes":["a"],"reason":"r"})"}) {
    const auto answer = post(body, body);
    EXPECT_EQ(answer.status, 403) << answer.body;
    EXPECT_NE(answer.body.find("cannot patch"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(label("a"), "");
}

TEST_F(ConsoleOrders, GivesNoOrderWithoutWrite) {
  node("a");
  serve(false);
  const auto answer = post(std::string(kOff));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(body_of(answer).text_at("type"), "urn:tidemark:problem:read-only");
  EXPECT_NE(answer.body.find("--write"), std::string::npos) << answer.body;
  EXPECT_EQ(label("a"), "");
  EXPECT_EQ(read_api("/api/v1/summary").member("readOnly")->get_bool(), true);
}

TEST_F(ConsoleOrders, OnlyTheListOfOrdersTakesAPost) {
  serve();
  for (const auto* path : {"/", "/api/v1/nodes", "/api/v1/orders/1", "/api/v1/stream"}) {
    EXPECT_EQ(post(std::string(kOff), "k", path).status, 405) << path;
  }
  EXPECT_EQ(get("/api/v1/orders/1").status, 404);
}

TEST_F(ConsoleOrders, EndsOneOfflinePodAfterADryRun) {
  node("a");
  pod("t1", "a");
  call("POST", std::string(kPods),
       R"({"metadata":{"name":"web"},"spec":{"nodeName":"a","containers":[{"name":"c","image":"i"}]}})");
  serve();
  const auto end = [&](std::string body) { return post(std::move(body), "", "/api/v1/tasks/end"); };
  const auto leaves = [&] { return call("GET", cat(kPods, "/t1")).at("metadata", "deletionTimestamp") != nullptr; };
  EXPECT_EQ(end(R"({"namespace":"default","name":"t1","dryRun":true})").status, 200);
  EXPECT_FALSE(leaves());
  const auto online = end(R"({"namespace":"default","name":"web"})");
  EXPECT_EQ(online.status, 409) << online.body;
  EXPECT_EQ(end(R"({"namespace":"default","name":"gone"})").status, 404);
  EXPECT_EQ(body_of(end(R"({"namespace":"default"})")).text_at("field"), "name");
  EXPECT_EQ(body_of(end(R"({"namespace":"default","name":"t1","force":true})")).text_at("field"), "force");
  const auto done = end(R"({"namespace":"default","name":"t1"})");
  EXPECT_EQ(done.status, 202) << done.body;
  EXPECT_TRUE(leaves());
}

TEST_F(ConsoleOrders, EndsNoTaskWithoutWrite) {
  node("a");
  pod("t1", "a");
  serve(false);
  EXPECT_EQ(post(R"({"namespace":"default","name":"t1"})", "", "/api/v1/tasks/end").status, 403);
}

TEST_F(ConsoleOrders, GainGrowsWithUseOfOfflineWork) {
  serve();
  EXPECT_TRUE(read_api("/api/v1/summary").member("gain")->is_null()) << "no node reports";
  EXPECT_EQ(parse_price("0.03 EUR")->per_core_hour_micro, 30'000);
  EXPECT_EQ(parse_price("2 CNY")->currency, "CNY");
  for (const std::string_view wrong :
       {"", "0.03", "EUR", "-1 EUR", "nan EUR", "1e99 EUR", "0.03 a currency too long"}) {
    EXPECT_FALSE(parse_price(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tidemark::console
