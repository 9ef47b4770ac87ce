// A node and its queue on the API server in memory, under simulated time.
#include "runtime/place/binder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"
#include "runtime/testing/garbling.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kNode = "/api/v1/nodes/n1";
constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";

net::HttpRequest request(std::string_view method, std::string target, std::string body = "",
                         std::string_view type = "application/json") {
  net::HttpRequest out;
  out.method = method;
  out.target = std::move(target);
  if (!body.empty()) out.headers.set("content-type", type);
  out.body = std::move(body);
  return out;
}

// Refuses calls with a given end of the path, or lets another writer be quicker; delays watch events of pods.
class Gate final : public net::HttpTransport {
 public:
  Gate(net::EventLoop& loop, net::HttpTransport& behind) : loop_(loop), behind_(behind) {}
  std::string ending;
  int refuse = 0;  // so many
  std::optional<net::HttpRequest> quicker;
  bool then_late = false;  // from the first such call on, watches of pods are silent
  bool late = false;
  int seen = 0;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest one, base::Duration limit) override {
    if (!ending.empty() && one.target.substr(0, one.target.find('?')).ends_with(ending)) {
      ++seen;
      late = late || then_late;
      if (refuse > 0) {
        --refuse;
        co_return fail(ErrorKind::kUnavailable, "connection refused");
      }
      if (auto other = std::exchange(quicker, std::nullopt)) co_await behind_.fetch(std::move(*other), limit);
    }
    co_return co_await behind_.fetch(std::move(one), limit);
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest one, base::Duration limit) override {
    const bool of_pods = one.target.find("/pods") != std::string::npos;
    auto stream = co_await behind_.open(std::move(one), limit);
    if (!stream || !of_pods) co_return stream;
    co_return std::make_unique<Stream>(*this, *std::move(stream));
  }

 private:
  class Stream final : public net::HttpStream {
   public:
    Stream(Gate& gate, std::unique_ptr<net::HttpStream> behind) : gate_(gate), behind_(std::move(behind)) {}
    const net::HttpResponseHead& head() const override { return behind_->head(); }
    net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
      auto piece = co_await behind_->read(limit);
      while (gate_.late) co_await gate_.loop_.sleep(100ms);
      co_return piece;
    }

   private:
    Gate& gate_;
    std::unique_ptr<net::HttpStream> behind_;
  };

  net::EventLoop& loop_;
  net::HttpTransport& behind_;
};

struct BinderTest : ::testing::Test {
  BinderTest() {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    must(request("POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})"));
    sells(6000);
    begin();
  }
  ~BinderTest() override { end(); }

  void begin() { begin_at("", std::nullopt); }
  void begin_at(std::string ending, std::optional<net::HttpRequest> quicker) {
    begin_at(std::move(ending), std::move(quicker), *admin);
  }
  void begin_at(std::string ending, std::optional<net::HttpRequest> quicker, net::HttpTransport& behind) {
    gate = std::make_unique<Gate>(loop, behind);
    gate->ending = std::move(ending);
    gate->quicker = std::move(quicker);
    metrics = std::make_unique<base::Registry>();
    client = std::make_unique<kube::Client>(
        loop, *gate, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
    binder = std::make_unique<Binder>(loop, *client, log, *metrics, base::Random(2), BinderConfig{"n1"});
    scope = std::make_unique<net::Scope>(loop);
    scope->spawn(binder->run());
    run_for(1s);
  }
  void end() {
    scope.reset();
    binder.reset();
    client.reset();
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  Json must(net::HttpRequest one) {
    const std::string what = cat(one.method, " ", one.target);
    auto response = net::testing::run_task(loop, clock, admin->fetch(std::move(one), 10s));
    if (!response || response->status >= 300) {
      ADD_FAILURE() << what << ": " << (response ? response->body : response.error().message);
      return {};
    }
    return *Json::parse(response->body);
  }
  void node(std::string_view subresource, std::string body) {
    must(request("PATCH", cat(kNode, subresource), std::move(body), kMerge));
    run_for(1s);
  }
  void sells(std::int64_t batch_cpu, std::string_view ready = "True") {
    node("/status", cat(R"({"status":{"conditions":[{"type":"Ready","status":")", ready,
                        R"("}],"allocatable":{"cpu":"4","memory":"8Gi","pods":"10","kubernetes.io/batch-cpu":")",
                        batch_cpu, R"(","kubernetes.io/batch-memory":"8Gi"}}})"));
  }
  void create(std::string_view name, std::string_view resource, std::string_view amount, std::string_view more = "") {
    const std::string amounts = cat(R"({")", resource, R"(":")", amount, R"("})");
    must(request("POST", std::string(kPods),
                 cat(R"({"metadata":{"name":")", name, R"("},"spec":{"containers":[{"name":"c","image":"i",)",
                     R"("resources":{"requests":)", amounts, R"(,"limits":)", amounts, "}}]", more, "}}")));
    run_for(1s);
  }
  void batch(std::string_view name, std::int64_t cpu_milli, std::string_view more = "") {
    create(name, "kubernetes.io/batch-cpu", cat(cpu_milli), more);
  }
  Json read(std::string_view name) { return must(request("GET", cat(kPods, "/", name))); }
  void remove(std::string_view name, int grace_s = 0) {
    must(request("DELETE", cat(kPods, "/", name, "?gracePeriodSeconds=", grace_s)));
    run_for(1s);
  }
  void status(std::string_view name, std::string_view text) {
    must(request("PATCH", cat(kPods, "/", name, "/status"), cat(R"({"status":)", text, "}"), kStrategic));
    run_for(1s);
  }
  std::string on(std::string_view name) { return std::string(read(name).text_at("spec", "nodeName")); }
  std::string revision(std::string_view name) { return std::string(read(name).text_at("metadata", "resourceVersion")); }
  Json scheduled(std::string_view name) {
    const Json pod = read(name);
    const Json* conditions = pod.at("status", "conditions");
    if (conditions == nullptr) return {};
    for (const Json& each : conditions->as_array()) {
      if (each.text_at("type") == "PodScheduled") return each;
    }
    return {};
  }
  std::string told(std::string_view name) {
    const Json condition = scheduled(name);
    return condition.text_at("status") == "False" ? std::string(condition.text_at("message")) : "";
  }
  bool shows(std::string_view line) { return metrics->text().find(cat(line, "\n")) != std::string::npos; }

  std::string lines;
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kWarn, .write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<base::Registry> metrics;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<Binder> binder;
  std::unique_ptr<net::Scope> scope;
};

TEST_F(BinderTest, BindsFittingPodsAndShowsQueuePlaceOfOthers) {
  batch("a", 4000);
  batch("b", 3000);
  batch("c", 2500);
  create("web", "cpu", "1");
  EXPECT_EQ(on("a"), "n1");
  EXPECT_EQ(on("web"), "n1");
  EXPECT_EQ(on("b"), "");
  EXPECT_EQ(told("b"), "position 1 of 1: batch-cpu: 3 cores wanted, 2 free of 6 sold to batch");
  EXPECT_EQ(told("c"), "position 2 of 2: batch-cpu: 2.5 cores wanted, 2 free of 6 sold to batch");
  EXPECT_EQ(scheduled("b").text_at("reason"), "Unschedulable");
  EXPECT_FALSE(scheduled("b").text_at("lastTransitionTime").empty());
  run_for(6s);
  EXPECT_EQ(told("b"), "position 1 of 2: batch-cpu: 3 cores wanted, 2 free of 6 sold to batch");
  EXPECT_TRUE(shows(R"(tidemark_runtime_pods_waiting{component="offline"} 2)")) << metrics->text();
  EXPECT_TRUE(shows(R"(tidemark_runtime_binds_total{component="offline"} 1)"));
  EXPECT_TRUE(shows(R"(tidemark_runtime_binds_total{component="online"} 1)"));
}

TEST_F(BinderTest, EndedPodFreesRoomTerminatingPodDoesNot) {
  batch("a", 4000);
  batch("b", 3000);
  remove("a", 60);
  run_for(10s);
  EXPECT_EQ(on("b"), "") << "it still runs";
  remove("a");
  EXPECT_EQ(on("b"), "n1");
  EXPECT_EQ(scheduled("b").text_at("status"), "True");
  batch("c", 3000);
  batch("d", 1000);
  EXPECT_EQ(told("d"), "position 1 of 1: batch-cpu: 1 core wanted, 0 free of 6 sold to batch");
  status("c", R"({"phase":"Succeeded"})");
  EXPECT_EQ(on("d"), "n1");
}

TEST_F(BinderTest, BindsMoreWhenOfferGrows) {
  batch("a", 7000);
  EXPECT_EQ(told("a"),
            "position 1 of 1: batch-cpu: 7 cores wanted, no more than 6 sold to batch with nothing else on the node");
  sells(7000);
  EXPECT_EQ(on("a"), "n1");
}

TEST_F(BinderTest, LargePodIsNotStarvedAfterTenMinutes) {
  batch("first", 4000);
  batch("big", 5000);
  batch("quick", 1000);
  EXPECT_EQ(on("quick"), "n1");
  run_for(10min);
  batch("late", 1000);
  EXPECT_EQ(told("late"),
            "position 2 of 2: default/big has waited longer than 10m0s for batch-cpu, and no other pod may "
            "overtake it any more");
  remove("first");
  EXPECT_EQ(on("big"), "n1");
  EXPECT_EQ(on("late"), "");
  remove("quick");
  EXPECT_EQ(on("late"), "n1");
}

TEST_F(BinderTest, ClockSetBackDoesNotStarveLargePod) {
  batch("first", 4000);
  batch("big", 5000);
  clock.jump_wall(-24h);
  batch("quick", 1000);
  EXPECT_EQ(on("quick"), "n1");
  run_for(10min);
  batch("late", 1000);
  EXPECT_EQ(on("late"), "") << "though it looks older";
  remove("first");
  EXPECT_EQ(on("big"), "n1");
}

TEST_F(BinderTest, DelaysOfflineWorkAfterEviction) {
  batch("a", 1000);
  create("web", "cpu", "1");
  const std::string disrupted = R"({"conditions":[{"type":"DisruptionTarget","status":"True","reason":"X"}]})";
  status("web", disrupted);
  remove("web", 30);
  batch("elsewhere", 1000, R"(,"nodeName":"n2")");
  status("elsewhere", disrupted);
  remove("elsewhere", 30);
  batch("b", 1000);
  EXPECT_EQ(on("b"), "n1") << "online work, and other nodes, say nothing of what is sold here";
  status("a", disrupted);
  remove("a", 5);
  batch("c", 1000);
  create("api", "cpu", "1");
  EXPECT_EQ(on("api"), "n1");
  EXPECT_TRUE(told("c").starts_with("position 1 of 1: offline work was evicted: none starts for another "))
      << told("c");
  const std::string written = revision("c");
  run_for(20s);
  EXPECT_EQ(on("c"), "");
  EXPECT_EQ(revision("c"), written) << "seconds that pass are no reason to write";
  remove("a");
  run_for(10s);
  EXPECT_EQ(on("c"), "n1");
}

// What `tidemark local run --class=free` makes: it asks for nothing, and is offline all the same.
TEST_F(BinderTest, FreeWorkIsOffline) {
  const auto free_one = [&](std::string_view name, std::string_view says) {
    must(
        request("POST", std::string(kPods),
                cat(R"({"metadata":{"name":")", name, R"(",)", says, R"(,"containers":[{"name":"c","image":"i"}]}})")));
    run_for(1s);
  };
  const std::string_view by_label = R"("labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"restartPolicy":"Never")";
  const std::string_view by_class =
      R"("labels":{"koordinator.sh/priority-class":"koord-free"}},"spec":{"restartPolicy":"Never")";
  free_one("a", by_label);
  EXPECT_EQ(on("a"), "n1");
  EXPECT_TRUE(shows(R"(tidemark_runtime_binds_total{component="offline"} 1)")) << metrics->text();
  status("a", R"({"conditions":[{"type":"DisruptionTarget","status":"True","reason":"X"}]})");
  remove("a");
  free_one("again", by_label);
  free_one("other", by_class);
  create("api", "cpu", "1");
  EXPECT_EQ(on("again"), "") << "it would take the room at once that the node took back";
  EXPECT_EQ(on("other"), "");
  EXPECT_EQ(on("api"), "n1");
  run_for(30s);
  EXPECT_EQ(on("again"), "n1");
  EXPECT_EQ(on("other"), "n1");
}

TEST_F(BinderTest, OffStartsNoOfflineWorkUntilOrderEnds) {
  const auto ordered = [&](std::string_view mark) {
    node("", cat(R"({"metadata":{"labels":{"tidemark.io/state":)", mark, "}}}"));
  };
  ordered(R"("off")");
  must(request(
      "POST", std::string(kPods),
      R"({"metadata":{"name":"free","labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"containers":[{"name":"c","image":"i"}]}})"));
  batch("a", 1000);
  create("api", "cpu", "1");
  EXPECT_EQ(on("free"), "") << "it asks for nothing, and finds room for that anywhere";
  EXPECT_EQ(on("a"), "");
  EXPECT_EQ(on("api"), "n1");
  EXPECT_TRUE(told("free").contains("off or drains here")) << told("free");
  ordered("null");
  EXPECT_EQ(on("free"), "n1");
  EXPECT_EQ(on("a"), "n1");
  const auto isolation = [&](std::string_view reason, std::string_view is = "True") {
    must(request("PATCH", cat(kNode, "/status"),
                 cat(R"({"status":{"conditions":[{"type":"TidemarkIsolation","status":")", is, R"(","reason":")",
                     reason, R"("}]}})"),
                 kStrategic));
    run_for(1s);
  };
  isolation("OffLocally");
  batch("b", 1000);
  EXPECT_EQ(on("b"), "") << "by the switch on the machine";
  isolation("Enforcing");
  EXPECT_EQ(on("b"), "n1");
  // An agent that can write nothing, or was never begun, says that first.
  auto next = [&, number = 0]() mutable {
    const std::string name = cat("c", number++);
    batch(name, 100);
    return name;
  };
  for (const std::string_view reason : {"Unable", "NoGroups"}) {
    isolation(reason);
    const std::string held = next();
    EXPECT_EQ(on(held), "") << reason << ": the switch on the machine is drawn all the same";
    isolation(reason, "False");
    EXPECT_EQ(on(held), "n1") << reason;
  }
}

TEST_F(BinderTest, PodThatEndsAtOnceCountsAsEvicted) {
  batch("a", 1000);
  status("a", R"({"conditions":[{"type":"DisruptionTarget","status":"True","reason":"X"}]})");
  remove("a");
  batch("b", 1000);
  EXPECT_EQ(on("b"), "");
  run_for(30s);
  EXPECT_EQ(on("b"), "n1");
}

TEST_F(BinderTest, RetriesFailedBindAndKeepsRoom) {
  gate->ending = "/big/binding";
  gate->refuse = 3;
  batch("big", 4000);
  batch("other", 4000);
  EXPECT_EQ(on("big"), "");
  EXPECT_EQ(on("other"), "") << "the bind may have come about";
  EXPECT_NE(lines.find("a pod cannot be bound"), std::string::npos);
  run_for(10s);
  EXPECT_EQ(on("big"), "n1");
  EXPECT_EQ(gate->seen, 4);
  EXPECT_EQ(on("other"), "");
  EXPECT_TRUE(shows(R"(tidemark_runtime_binds_failed_total{reason="unavailable"} 3)")) << metrics->text();
}

TEST_F(BinderTest, UnboundPodWaitsIfRoomIsGone) {
  gate->ending = "/big/binding";
  gate->refuse = 2;
  batch("big", 4000);
  sells(3000);
  run_for(10s);
  EXPECT_EQ(told("big"),
            "position 1 of 1: batch-cpu: 4 cores wanted, no more than 3 sold to batch with nothing else on the node");
  ASSERT_TRUE(loop.next_timer());
  EXPECT_GT(*loop.next_timer() - clock.monotonic(), 100ms) << "it is not looked at over and over";
  sells(4000);
  EXPECT_EQ(on("big"), "n1");
}

TEST_F(BinderTest, DecidesAgainAfterNodeChange) {
  end();
  batch("a", 1000);
  batch("b", 1000);
  begin();
  EXPECT_EQ(on("b"), "n1");
  end();
  batch("c", 1000);
  batch("d", 1000);
  begin_at("/c/binding", request("PATCH", std::string(kNode), R"({"spec":{"unschedulable":true}})", kMerge));
  EXPECT_EQ(on("c"), "n1") << "it was on its way";
  EXPECT_EQ(on("d"), "");
}

TEST_F(BinderTest, CountsBoundPodBeforeWatchEvent) {
  gate->ending = "/a/binding";
  gate->then_late = true;
  batch("b", 5000, R"(,"nodeSelector":{"late":"yes"})");
  batch("a", 4000);
  EXPECT_EQ(on("a"), "n1");
  node("", R"({"metadata":{"labels":{"late":"yes"}}})");
  EXPECT_EQ(on("b"), "") << "a has taken the room";
  EXPECT_EQ(gate->seen, 1) << "and is not bound twice";
  gate->then_late = gate->late = false;
  remove("a");
  EXPECT_EQ(on("b"), "n1");
}

TEST_F(BinderTest, AcceptsBindOfAnotherBinder) {
  gate->ending = "/a/binding";
  gate->quicker = request("POST", cat(kPods, "/a/binding"),
                          R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"name":"n2"}})");
  batch("a", 4000);
  EXPECT_EQ(on("a"), "n2");
  batch("b", 4000);
  EXPECT_EQ(on("b"), "n1") << "what was meant for the other one is free";
  EXPECT_EQ(gate->seen, 1) << "and that is not tried again";
}

TEST_F(BinderTest, BoundPodGetsNoWaitingCondition) {
  gate->ending = "/a/status";
  gate->quicker = request("POST", cat(kPods, "/a/binding"),
                          R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"name":"n2"}})");
  batch("a", 40'000);
  EXPECT_EQ(gate->seen, 1);
  EXPECT_EQ(scheduled("a").text_at("status"), "True");
}

TEST_F(BinderTest, UnknownPodKeepsItsRoom) {
  batch("a", 3500);
  end();
  testing::Garbling garbling(*admin, R"("3500")", R"("?")");
  begin_at("", std::nullopt, garbling);
  batch("b", 3000);
  create("web", "cpu", "1");
  EXPECT_EQ(on("b"), "") << "2500 are left";
  EXPECT_EQ(on("web"), "") << "what it has of other resources is not known either";
  EXPECT_TRUE(told("b").starts_with("position 1 of 1: free resources are unknown: ")) << told("b");
  EXPECT_TRUE(lines.contains("default/a")) << lines;
  remove("a");
  run_for(2s);
  EXPECT_EQ(on("b"), "n1");
  EXPECT_EQ(on("web"), "n1");
}

TEST_F(BinderTest, NextBinderContinues) {
  batch("a", 4000);
  batch("b", 3000);
  batch("c", 3000);
  run_for(10s);
  const std::string b = revision("b"), c = revision("c");
  end();
  run_for(1min);
  begin_at("/b/status", std::nullopt);
  run_for(10s);
  EXPECT_EQ(gate->seen, 0) << "what stands there is not written again";
  EXPECT_EQ(revision("b"), b);
  EXPECT_EQ(revision("c"), c);
  EXPECT_EQ(on("b"), "");
  remove("a");
  EXPECT_EQ(on("b"), "n1");
  EXPECT_EQ(on("c"), "n1");
}

TEST_F(BinderTest, EvictionDuringDowntimeCounts) {
  batch("a", 1000);
  status("a", cat(R"({"conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":")",
                  base::format_rfc3339(clock.wall()), R"("}]})"));
  end();
  remove("a", 60);
  batch("b", 1000);
  run_for(10s);
  begin();
  EXPECT_EQ(on("b"), "");
  run_for(15s);
  EXPECT_EQ(on("b"), "") << "27 s after";
  run_for(5s);
  EXPECT_EQ(on("b"), "n1");
}

TEST_F(BinderTest, WritesConditionSeldom) {
  gate->ending = "/b/status";
  batch("a", 4000);
  batch("b", 3000);
  EXPECT_EQ(gate->seen, 1);
  for (const std::int64_t sold : {6100, 5900, 6000, 6200, 5950}) sells(sold);
  run_for(1min);
  EXPECT_EQ(gate->seen, 1) << "numbers that wobble";
  for (int i = 0; i < 6; ++i) sells(i % 2 == 0 ? 5000 : 6000);
  run_for(10s);
  EXPECT_LE(gate->seen, 4) << "one in five seconds";
  EXPECT_GE(gate->seen, 2);
  EXPECT_EQ(told("b"), "position 1 of 1: batch-cpu: 3 cores wanted, 2 free of 6 sold to batch");
}

TEST_F(BinderTest, GatesSelectorsAndTheNodeItself) {
  batch("gated", 100, R"(,"schedulingGates":[{"name":"x.io/g"}])");
  EXPECT_EQ(scheduled("gated").text_at("reason"), "SchedulingGated");
  must(request("PATCH", cat(kPods, "/gated"), R"({"spec":{"schedulingGates":[]}})", kMerge));
  run_for(1s);
  EXPECT_EQ(on("gated"), "n1");
  batch("picky", 100, R"(,"nodeSelector":{"disk":"ssd"})");
  EXPECT_EQ(told("picky"), "position 1 of 1: the node does not match its disk=ssd");
  batch("named", 100,
        R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
        R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}})");
  EXPECT_EQ(on("named"), "n1");
  node("", R"({"metadata":{"labels":{"disk":"ssd"}},"spec":{"unschedulable":true}})");
  run_for(5s);
  EXPECT_EQ(told("picky"), "position 1 of 1: the node is cordoned");
  node("", R"({"spec":{"unschedulable":null,"taints":[{"key":"x.io/t","effect":"NoSchedule"}]}})");
  run_for(5s);
  EXPECT_EQ(told("picky"), "position 1 of 1: it does not tolerate the node's taint x.io/t");
  batch("tolerant", 100, R"(,"tolerations":[{"key":"x.io/t","operator":"Exists"}])");
  EXPECT_EQ(on("tolerant"), "n1");
  node("", R"({"spec":{"taints":null}})");
  EXPECT_EQ(on("picky"), "n1");
  sells(6000, "False");
  batch("soon", 100);
  EXPECT_EQ(told("soon"), "position 1 of 1: the node is not ready");
  sells(6000);
  EXPECT_EQ(on("soon"), "n1");
}

}  // namespace
}  // namespace tidemark::runtime
