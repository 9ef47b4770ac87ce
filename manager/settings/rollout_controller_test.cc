// Rollouts against the API server in memory, under simulated time: the stored state, the settings of each node, a
// restart, a second replica and a store that cannot be written. policy/settings/rollout tests the decisions of a step.
#include "manager/settings/rollout_controller.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "manager/capacity/decide.h"
#include "manager/settings/settings.h"
#include "net/testing/loop.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr std::string_view kRolloutMaps = "/api/v1/namespaces/ns/configmaps";
constexpr std::string_view kRevisions = "/api/v1/namespaces/ns/configmaps/tidemark-config-revisions";
constexpr std::string_view kMergePatchType = "application/merge-patch+json";

// Sixty nodes a minute: five every five seconds.
constexpr std::string_view kStaged = R"(
schema: 1
mode: enforce
pools:
- {name: canary, nodeSelector: {matchLabels: {pool: canary}}, canary: true}
rollout: {nodesPerMinute: 60, canarySoak: 1m, stopOnEvictions: {window: 5m, atLeast: 3, factorPercent: 100}}
)";

std::string reclaim(int percent) {
  return cat(R"({"enable":true,"cpuReclaimThresholdPercent":)", percent, "}");
}

// One replica's settings with what a process has around them.
struct RolloutReplica {
  RolloutReplica(net::EventLoop& loop, const base::Log& log, net::HttpHandler handler, bool leads)
      : leading(leads),
        transport(loop, std::move(handler), "test"),
        client(
            loop, transport, [] { return std::string(); },
            {.queries_per_second = 1000, .burst = 1000, .user_agent = "test"}, base::Random(1)),
        nodes({loop, client, client, log, metrics, base::Random(2)}, node_config(),
              [this](std::string_view bytes) { return kube::decode_node(bytes, node_fields(), interner); }),
        recorder(loop, client, log, metrics, "test"),
        shared{loop, client, client, client, recorder, interner, log, metrics},
        evictions(shared,
                  {.nodes = nodes,
                   .pool_of = [](const kube::Node&) { return std::string(); },
                   .known_class = [](const kube::Node&, std::string_view) { return false; },
                   .class_off = [this](const kube::Node&, std::string_view name) { return class_off == name; },
                   .shows = [] { return false; }},
                  base::Random(4)),
        settings(shared, context(), base::Random(3)),
        running(loop) {
    settings.subscribe([this](const SettingsChange& change) { change.node ? ++told_one : ++told_all; });
    running.spawn(nodes.run());
    running.spawn(recorder.run());
    evictions.start();
    settings.start();
  }
  static kube::InformerConfig node_config() {
    kube::InformerConfig config;
    config.resource = kube::kNodes;
    return config;
  }
  SettingsContext context() {
    return {.nodes = &nodes,
            .evictions = &evictions,
            .leading = [this] { return leading; },
            .writes = [this](const kube::Node& node) { return node.meta.name.view() != only_observed; },
            .config_namespace = "ns",
            .config_name = "slo"};
  }
  std::int64_t reclaim_of(const std::string& node) {
    return settings.for_node(model::NodeName(node)).colocation.config->cluster.cpu_reclaim_threshold_percent;
  }

  bool leading;
  std::string only_observed;
  std::string class_off = "transcode";
  base::Registry metrics;
  kube::Interner interner;
  kube::memory::LocalTransport transport;
  kube::Client client;
  kube::Informer<kube::Node> nodes;
  kube::EventRecorder recorder;
  Shared shared;
  EvictionWatch evictions;
  Settings settings;
  int told_one = 0;
  int told_all = 0;
  net::Scope running;
};

class RolloutControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "admin");
    must("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ns"}})");
    for (int i = 0; i < 3; ++i) node(cat("canary-", i), "canary");
    for (int i = 0; i < 20; ++i) node(cat("n-", i), "rest");
    slo(reclaim(60));
    tidemark(kStaged);
  }
  void TearDown() override { replicas.clear(); }

  Json must(std::string_view method, std::string_view target, std::string body,
            std::string_view type = "application/json") {
    auto answer = call(method, target, std::move(body), type);
    EXPECT_TRUE(answer.status == 200 || answer.status == 201) << target << " " << answer.status << " " << answer.body;
    return *Json::parse(answer.body);
  }
  net::HttpResponse call(std::string_view method, std::string_view target, std::string body,
                         std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers.set("content-type", type);
    auto response = net::testing::run_task(loop, clock, admin->fetch(std::move(request), 10s));
    return response ? std::move(*response) : net::HttpResponse{};
  }
  void node(const std::string& name, std::string_view pool) {
    must("POST", "/api/v1/nodes", cat(R"({"metadata":{"name":")", name, R"(","labels":{"pool":")", pool, R"("}}})"));
  }
  void map(std::string_view name, std::string_view key, std::string_view text) {
    const Json data = Json::object({{"data", Json::object({{key, Json(text)}})}});
    if (call("PATCH", cat(kRolloutMaps, "/", name), data.dump(), kMergePatchType).status != 404) return;
    Json made = data;
    made["metadata"] = Json::object({{"name", Json(name)}});
    must("POST", kRolloutMaps, made.dump());
  }
  void slo(std::string_view text) { map("slo", "colocation-config", text); }
  void tidemark(std::string_view text) { map("tidemark-config", "config.yaml", text); }
  void evicted(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = cat("e", ++serial);
      must("POST", "/api/v1/namespaces/ns/pods",
           cat(R"({"metadata":{"name":")", name,
               R"("},"spec":{"nodeName":"canary-1","containers":[{"name":"c","image":"i"}]}})"));
      must("PATCH", cat("/api/v1/namespaces/ns/pods/", name, "/status"),
           R"({"status":{"phase":"Failed","reason":"Evicted"}})", kMergePatchType);
    }
  }
  void ask(policy::settings::RolloutRequest request) {
    request.id = cat("r", ++serial);
    request.at = clock.wall();
    const Json data =
        Json::object({{"data", Json::object({{"request", policy::settings::encode_request(request, "a test")}})}});
    must("PATCH", kRevisions, data.dump(), kMergePatchType);
  }

  RolloutReplica& start(bool leads = true) {
    const net::HttpHandler serve = server->handler();
    const net::HttpHandler handler = [this, serve](net::HttpExchange& exchange) -> net::Task<void> {
      const bool write = exchange.head().method == "PATCH" || exchange.head().method == "POST";
      if (refuse_writes && write && exchange.head().target.find("configmaps") != std::string::npos) {
        exchange.respond(403, "application/json",
                         R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})");
        co_return;
      }
      co_await serve(exchange);
    };
    replicas.push_back(std::make_unique<RolloutReplica>(loop, log, handler, leads));
    run_for(1s);
    return *replicas.back();
  }
  // "60:20 61:3": how many nodes run which settings.
  std::string running(RolloutReplica& replica) {
    std::map<std::int64_t, int> counts;
    for (int i = 0; i < 3; ++i) ++counts[replica.reclaim_of(cat("canary-", i))];
    for (int i = 0; i < 20; ++i) ++counts[replica.reclaim_of(cat("n-", i))];
    std::string text;
    for (const auto& [percent, count] : counts) text += cat(text.empty() ? "" : " ", percent, ":", count);
    return text;
  }
  policy::settings::Stored stored() {
    std::map<std::string, std::string, std::less<>> data;
    const Json object = must("GET", kRevisions, "");
    for (const auto& [key, text] : object.at("data")->as_object()) data.emplace(key, text.as_string());
    return policy::settings::decode_stored(data);
  }
  std::vector<std::string> events(std::string_view about) {
    std::vector<std::string> reasons;
    const Json list = must("GET", "/api/v1/namespaces/ns/events", "");
    for (const Json& event : list.at("items")->as_array()) {
      if (event.text_at("involvedObject", "name") == about) reasons.emplace_back(event.text_at("reason"));
    }
    return reasons;
  }
  bool has_event(std::string_view about, std::string_view reason) {
    const auto all = events(about);
    return std::find(all.begin(), all.end(), reason) != all.end();
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
  std::vector<std::unique_ptr<RolloutReplica>> replicas;
  int serial = 0;
  bool refuse_writes = false;
};

TEST_F(RolloutControllerTest, DoesNotWaitForNodesWithoutNodeSlo) {
  RolloutReplica& replica = start();
  run_for(1min);
  base::Gauge& unconfirmed = replica.metrics.gauge("tidemark_settings_nodes_unconfirmed", "");
  EXPECT_EQ(unconfirmed.value(), 23) << "no program writes hashes here";
  replica.only_observed = "n-7";
  run_for(1min);
  EXPECT_EQ(unconfirmed.value(), 22);
}

TEST_F(RolloutControllerTest, EditReachesCanariesThenTheRest) {
  auto& replica = start();
  EXPECT_EQ(running(replica), "60:23");
  EXPECT_TRUE(stored().book.at(0).completed);
  replica.told_all = replica.told_one = 0;

  slo(reclaim(61));
  run_for(1s);
  EXPECT_EQ(running(replica), "60:20 61:3");
  EXPECT_EQ(replica.reclaim_of("canary-0"), 61);
  EXPECT_EQ(replica.told_one, 3) << "only those that changed are looked at again";
  EXPECT_EQ(replica.told_all, 0);
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_nodes_behind", "").value(), 20);
  EXPECT_TRUE(has_event("tidemark-config-revisions", "SettingsRolloutBegun"));

  run_for(50s);
  EXPECT_EQ(running(replica), "60:20 61:3");
  run_for(15s);
  EXPECT_NE(running(replica), "60:20 61:3");
  EXPECT_NE(running(replica), "61:23");
  run_for(20s);
  EXPECT_EQ(running(replica), "61:23");
  EXPECT_EQ(replica.told_one + 23 * replica.told_all, 23);
  const auto kept = stored();
  EXPECT_EQ(kept.book.size(), 2U);
  EXPECT_TRUE(kept.book.at(1).completed);
  EXPECT_EQ(kept.state->layers.size(), 1U);
  EXPECT_TRUE(has_event("tidemark-config-revisions", "SettingsRolledOut"));
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_revision", "").value(), 2);
}

TEST_F(RolloutControllerTest, RestartContinuesEvenIfTheEditIsNowInvalid) {
  start();
  slo(reclaim(61));
  run_for(10s);
  replicas.clear();
  slo("{ broken");
  auto& second = start();
  EXPECT_EQ(running(second), "60:20 61:3") << "what was stored is in force";
  EXPECT_EQ(second.metrics.gauge("tidemark_manager_config_good", "").value(), 0);
  run_for(90s);
  EXPECT_EQ(running(second), "61:23") << "the last good text is the one that was being rolled out";
}

TEST_F(RolloutControllerTest, RollsOutAnEditMadeWhileNoManagerRan) {
  start();
  replicas.clear();
  auto* again = &start();
  EXPECT_EQ(running(*again), "60:23");
  const std::string version(must("GET", kRevisions, "").text_at("metadata", "resourceVersion"));
  run_for(1min);
  EXPECT_EQ(must("GET", kRevisions, "").text_at("metadata", "resourceVersion"), version) << "nothing to write";
  replicas.clear();
  slo(reclaim(61));
  again = &start();
  EXPECT_EQ(running(*again), "60:20 61:3");
}

TEST_F(RolloutControllerTest, FollowerContinuesTheRolloutWhenItLeads) {
  auto& leader = start();
  auto& other = start(false);
  slo(reclaim(61));
  run_for(10s);
  EXPECT_EQ(running(leader), "60:20 61:3");
  EXPECT_EQ(running(other), "60:20 61:3");
  leader.leading = false;
  run_for(2min);
  EXPECT_EQ(running(other), "60:20 61:3") << "no leader";
  other.leading = true;
  other.settings.leadership_changed();
  run_for(90s);
  EXPECT_EQ(running(other), "61:23");
  EXPECT_EQ(running(leader), "61:23");
}

TEST_F(RolloutControllerTest, DoesNotTakeAStepThatCannotBeStored) {
  auto& replica = start();
  refuse_writes = true;
  slo(reclaim(61));
  run_for(30s);
  EXPECT_EQ(running(replica), "60:23");
  EXPECT_GE(replica.metrics.counter("tidemark_settings_store_errors_total", "").value(), 3U);
  refuse_writes = false;
  run_for(6s);
  EXPECT_EQ(running(replica), "60:20 61:3");
}

// Without steps nothing depends on the store: the peer has none, and its account may not write one.
TEST_F(RolloutControllerTest, ImmediateSettingsApplyWithoutAStore) {
  must("DELETE", "/api/v1/namespaces/ns/configmaps/tidemark-config", "");
  refuse_writes = true;
  auto& replica = start();
  EXPECT_EQ(running(replica), "60:23");
  slo(reclaim(61));
  run_for(1s);
  EXPECT_EQ(running(replica), "61:23");
}

TEST_F(RolloutControllerTest, RecreatesADeletedStoreWithoutEffect) {
  auto& replica = start();
  slo(reclaim(61));
  run_for(1s);
  ASSERT_EQ(running(replica), "60:20 61:3");
  must("DELETE", "/api/v1/namespaces/ns/configmaps/tidemark-config-revisions", "");
  run_for(10s);
  EXPECT_EQ(running(replica), "60:20 61:3") << "what is in force stays, and is stored anew";
  EXPECT_EQ(stored().state->layers.size(), 2U);
}

TEST_F(RolloutControllerTest, KeepsTheStoreOfANewerVersionAndRollsOutNothing) {
  start();
  replicas.clear();
  const auto kept = [&] { return must("GET", kRevisions, "").at("data")->dump(); };
  const std::string newer = R"({"schema":2,"waves":[]})";
  map("tidemark-config-revisions", "state", newer);
  const std::string before = kept();
  slo(reclaim(61));
  auto& replica = start();
  run_for(10min);
  EXPECT_EQ(kept(), before);
  EXPECT_EQ(running(replica), "60:23") << "the newest that was in force everywhere";
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_held", "").value(), 1);
  EXPECT_TRUE(has_event("tidemark-config-revisions", "SettingsRolloutHeld"));
  // Switching co-location off does not wait for the rollout.
  slo(R"({"enable":false,"cpuReclaimThresholdPercent":60})");
  run_for(10s);
  EXPECT_FALSE(replica.settings.for_node(model::NodeName("n-1")).colocation.config->cluster.enable);
  EXPECT_EQ(kept(), before);

  must("PATCH", kRevisions, R"({"data":{"state":null}})", kMergePatchType);
  slo(reclaim(61));
  run_for(3min);
  EXPECT_EQ(running(replica), "61:23");
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_held", "").value(), 0);
}

// Where not even a revision can be read, what the ConfigMaps say holds.
TEST_F(RolloutControllerTest, DoesNotReplaceARevisionOfANewerVersion) {
  map("tidemark-config-revisions", "revision-1", R"({"schema":2,"number":1})");
  auto& replica = start();
  slo(reclaim(61));
  run_for(1min);
  EXPECT_EQ(running(replica), "61:23");
  EXPECT_EQ(must("GET", kRevisions, "").at("data")->dump(), R"({"revision-1":"{\"schema\":2,\"number\":1}"})");
}

TEST_F(RolloutControllerTest, EvictionSpikePausesTheRolloutUntilResume) {
  auto& replica = start();
  evicted(2);
  slo(reclaim(61));
  run_for(10s);
  evicted(2);
  run_for(6s);
  EXPECT_TRUE(has_event("tidemark-config-revisions", "SettingsRolloutHeld"));
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_held", "").value(), 1);
  run_for(5min);
  EXPECT_EQ(running(replica), "60:20 61:3");
  ASSERT_TRUE(stored().state->hold.has_value());
  EXPECT_EQ(stored().state->hold->pool, "canary");
  EXPECT_EQ(stored().state->hold->evictions, 4);

  policy::settings::RolloutRequest resume;
  resume.verb = policy::settings::RolloutRequest::Verb::kResume;
  ask(resume);
  run_for(90s);
  EXPECT_EQ(running(replica), "61:23");
}

// An order to be off has work evicted: that says nothing about the settings that are rolled out meanwhile.
TEST_F(RolloutControllerTest, OrderedEvictionsDoNotPauseARollout) {
  auto& replica = start();
  const auto api_evicts = [&](std::string_view work_class) {
    PodEnd end;
    end.node = replica.interner.intern("canary-1");
    end.work_class = replica.interner.intern(work_class);
    end.offline = true;
    end.by = EndedBy::kEvictionApi;
    replica.evictions.running_changed(nullptr, &end, false);
  };
  slo(reclaim(61));
  run_for(5s);
  for (int i = 0; i < 20; ++i) api_evicts("transcode");
  run_for(10s);
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_held", "").value(), 0);
  for (int i = 0; i < 4; ++i) api_evicts("spark");
  run_for(6s);
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_held", "").value(), 1);
  ASSERT_TRUE(stored().state->hold.has_value());
  EXPECT_EQ(stored().state->hold->evictions, 4);
}

TEST_F(RolloutControllerTest, UndoRestoresEveryNodeAtOnce) {
  auto& replica = start();
  const std::string first = replica.settings.for_node(model::NodeName("n-1")).hash;
  slo(reclaim(61));
  run_for(100s);
  ASSERT_EQ(running(replica), "61:23");
  policy::settings::RolloutRequest undo;
  undo.verb = policy::settings::RolloutRequest::Verb::kTake;
  undo.revision = first;
  undo.at_once = true;
  ask(undo);
  slo(reclaim(77));  // what stands between two writes
  run_for(3s);
  EXPECT_EQ(running(replica), "61:23");
  slo(reclaim(60));
  run_for(1s);
  EXPECT_EQ(running(replica), "60:23");
  EXPECT_TRUE(has_event("tidemark-config-revisions", "SettingsInForce"));
}

TEST_F(RolloutControllerTest, InvalidConfigKeepsTheLastGoodOneAndListsAllErrors) {
  auto& replica = start();
  tidemark("schema: 1\nmode: maybe\npolls: []\n");
  run_for(2s);
  EXPECT_TRUE(has_event("tidemark-config", "TidemarkConfigInvalid"));
  EXPECT_EQ(replica.metrics.gauge("tidemark_manager_config_good", "").value(), 0);
  slo(reclaim(61));
  run_for(10s);
  EXPECT_EQ(running(replica), "60:20 61:3") << "in steps, as the last good one says";
  must("DELETE", "/api/v1/namespaces/ns/configmaps/tidemark-config", "");
  run_for(10s);
  EXPECT_EQ(running(replica), "60:20 61:3") << "gone is not let loose";
}

TEST_F(RolloutControllerTest, OffAppliesAtOnceInEveryRevision) {
  auto& replica = start();
  slo(R"({"enable":false,"cpuReclaimThresholdPercent":60})");
  run_for(1s);
  EXPECT_FALSE(replica.settings.for_node(model::NodeName("n-1")).colocation.config->cluster.enable);
  EXPECT_FALSE(replica.settings.for_node(model::NodeName("canary-1")).colocation.config->cluster.enable);
}

TEST_F(RolloutControllerTest, WithoutTidemarkConfigEditsApplyAtOnce) {
  must("DELETE", "/api/v1/namespaces/ns/configmaps/tidemark-config", "");
  auto& replica = start();
  slo(reclaim(61));
  run_for(100ms);
  EXPECT_EQ(running(replica), "61:23");
  EXPECT_TRUE(events("tidemark-config-revisions").empty());
  // The first one is governed by itself: there is no other.
  tidemark(kStaged);
  run_for(1s);
  EXPECT_EQ(replica.metrics.gauge("tidemark_settings_nodes_behind", "").value(), 20);
  slo(reclaim(62));
  run_for(10s);
  EXPECT_EQ(running(replica), "61:20 62:3");
}

TEST_F(RolloutControllerTest, ReportsOverlappingPoolsOnce) {
  auto& replica = start();
  tidemark(cat(R"(
schema: 1
mode: enforce
pools:
- {name: all-rest, nodeSelector: {matchExpressions: [{key: pool, operator: Exists}]}}
- {name: some-rest, nodeSelector: {matchLabels: {pool: rest}}}
rollout: {pace: at-once}
)"));
  run_for(5min);
  EXPECT_EQ(events("tidemark-config"), std::vector<std::string>{"PoolsOverlap"});
  EXPECT_EQ(replica.metrics.gauge("tidemark_pool_overlap_nodes", "").value(), 20);
}

TEST_F(RolloutControllerTest, UnknownRevisionFallsBackToTheConfigMaps) {
  start();
  slo(reclaim(61));
  run_for(10s);
  replicas.clear();
  must("PATCH", kRevisions, R"({"data":{"revision-1":null}})", kMergePatchType);
  auto& replica = start();
  EXPECT_EQ(running(replica), "61:23");
  EXPECT_EQ(stored().state->layers.size(), 1U);
}

}  // namespace
}  // namespace tidemark::manager
