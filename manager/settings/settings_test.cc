// Settings against the API server in memory: the text in force, the report of a bad one, and its receivers.
#include "manager/settings/settings.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
    call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ns"}})");
  }
  void TearDown() override {
    settings.reset();
    running.clear();
  }

  int call(std::string_view method, std::string_view target, std::string body,
           std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers.set("content-type", type);
    auto response = net::testing::run_task(loop, clock, transport->fetch(std::move(request), 10s));
    if (!response) return 0;
    answer = response->body;
    return response->status;
  }
  // Data of the ConfigMap; an empty value removes the key.
  void write(std::vector<std::pair<std::string_view, std::string_view>> data) {
    Json members = Json::object();
    for (const auto& [key, text] : data) members[key] = text == "(none)" ? Json(nullptr) : Json(text);
    const Json patch = Json::object({{"data", std::move(members)}});
    if (call("PATCH", "/api/v1/namespaces/ns/configmaps/slo", patch.dump(), "application/merge-patch+json") == 404) {
      Json map = Json::object({{"metadata", Json::object({{"name", "slo"}})}});
      map["data"] = *patch.at("data");
      ASSERT_EQ(call("POST", "/api/v1/namespaces/ns/configmaps", map.dump()), 201) << answer;
    }
    run_for(1s);
  }
  void start() {
    recorder = std::make_unique<kube::EventRecorder>(loop, *client, log, metrics, "test");
    running.spawn(recorder->run());
    const SettingsContext context{.leading = [] { return true; }, .config_namespace = "ns", .config_name = "slo"};
    settings = std::make_unique<Settings>(Shared{loop, *client, *client, *client, *recorder, interner, log, metrics},
                                          context, base::Random(2));
    settings->subscribe([this](const SettingsChange& change) {
      EXPECT_FALSE(change.node.has_value());
      ++changes;
    });
    settings->start();
    run_for(1s);
  }
  const Revision& revision() { return settings->for_node(model::NodeName("any")); }
  std::int64_t reclaim() { return revision().colocation.config->cluster.cpu_reclaim_threshold_percent; }
  std::vector<std::string> events() {
    call("GET", "/api/v1/namespaces/ns/events", "");
    std::vector<std::string> reasons;
    const Json list = *Json::parse(answer);
    for (const Json& event : list.at("items")->as_array()) {
      EXPECT_EQ(event.text_at("involvedObject", "kind"), "ConfigMap");
      EXPECT_EQ(event.text_at("involvedObject", "name"), "slo");
      EXPECT_EQ(event.text_at("type"), "Warning");
      reasons.emplace_back(event.text_at("reason"));
    }
    return reasons;
  }
  static std::string text_of_defaults(model::SloPart part) {
    return policy::settings::slo_for({}, {}, std::nullopt).parts[static_cast<std::size_t>(part)].text;
  }
  double good() { return metrics.gauge("tidemark_manager_config_good", "").value(); }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner;
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::EventRecorder> recorder;
  net::Scope running{loop};
  std::unique_ptr<Settings> settings;
  int changes = 0;
  std::string answer;
};

TEST_F(SettingsTest, TextTakesEffectOnceReadAndNotifies) {
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  start();
  EXPECT_EQ(settings->not_ready(), "");
  EXPECT_EQ(reclaim(), 70);
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(good(), 1);
  const std::string first = revision().hash;
  EXPECT_EQ(first.size(), 16U);

  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":71})"}});
  EXPECT_EQ(reclaim(), 71);
  EXPECT_EQ(changes, 2);
  EXPECT_NE(revision().hash, first);
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  EXPECT_EQ(revision().hash, first);
  EXPECT_TRUE(events().empty());
}

// Contract 4.3: updates whose data is unchanged are ignored.
TEST_F(SettingsTest, UpdateWithoutDataChangeIsIgnored) {
  write({{"colocation-config", "{}"}});
  start();
  call("PATCH", "/api/v1/namespaces/ns/configmaps/slo", R"({"metadata":{"labels":{"a":"b"}}})",
       "application/merge-patch+json");
  run_for(1s);
  EXPECT_EQ(changes, 1);
  // An unknown key changes only the revision: `undo` brings it back too.
  const std::string hash = revision().hash;
  write({{"something-else", "1"}});
  EXPECT_NE(revision().hash, hash);
  EXPECT_EQ(reclaim(), 60);
}

// Contract 4.3: bad JSON keeps the old configuration and raises ColocationCfgUnmarshalFailed; a value out of range
// keeps it without an event.
TEST_F(SettingsTest, InvalidTextKeepsTheLastGoodOne) {
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  start();
  const std::string hash = revision().hash;
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":-1})"}});
  EXPECT_EQ(reclaim(), 70);
  EXPECT_TRUE(revision().colocation.error);
  EXPECT_EQ(good(), 0);
  EXPECT_TRUE(events().empty());

  write({{"colocation-config", "{"}});
  EXPECT_EQ(reclaim(), 70);
  EXPECT_EQ(revision().hash, hash);
  EXPECT_EQ(good(), 0);
  EXPECT_EQ(events(), std::vector<std::string>{"ColocationCfgUnmarshalFailed"});

  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  EXPECT_FALSE(revision().colocation.error);
  EXPECT_EQ(good(), 1);
}

TEST_F(SettingsTest, DeletedConfigMapStaysInForceAbsentOneMeansDefaults) {
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  start();
  ASSERT_EQ(call("DELETE", "/api/v1/namespaces/ns/configmaps/slo", ""), 200) << answer;
  run_for(1s);
  EXPECT_EQ(reclaim(), 70);
  EXPECT_EQ(changes, 1);

  settings.reset();
  start();
  EXPECT_EQ(settings->not_ready(), "");
  EXPECT_EQ(reclaim(), 60);
  EXPECT_TRUE(revision().colocation.error);
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  EXPECT_EQ(reclaim(), 70);
}

// Contract 4.3: bad JSON right after a restart leaves the configuration unavailable until a good one comes.
// Where the peer has nothing to go by: what was good is stored.
TEST_F(SettingsTest, LastGoodTextSurvivesARestart) {
  write({{"colocation-config", R"({"cpuReclaimThresholdPercent":70})"}});
  start();
  settings.reset();
  write({{"colocation-config", "{"}});
  start();
  EXPECT_EQ(settings->not_ready(), "");
  EXPECT_EQ(reclaim(), 70);
  EXPECT_TRUE(revision().colocation.error);
  EXPECT_EQ(good(), 0);
}

TEST_F(SettingsTest, InvalidTextFromTheStartGivesNoSettings) {
  write({{"colocation-config", "{"}});
  start();
  EXPECT_EQ(settings->not_ready(), "the configuration is invalid, and no earlier one exists");
  EXPECT_FALSE(revision().colocation.config.has_value());
  write({{"colocation-config", "(none)"}});
  EXPECT_EQ(settings->not_ready(), "");
  EXPECT_EQ(reclaim(), 60);
}

// Contract 4.3: that key keeps its old value, the other keys are applied; an empty text is bad JSON for these keys.
TEST_F(SettingsTest, NodeSloKeysAreIndependent) {
  const auto text = [&](model::SloPart part) {
    return policy::settings::slo_for(revision().nodeslo, {}, std::nullopt).parts[static_cast<std::size_t>(part)].text;
  };
  const std::string burst_default = text_of_defaults(model::SloPart::kCpuBurst);
  write({{"resource-qos-config", R"({"clusterStrategy":{"lsClass":{}}})"},
         {"cpu-burst-config", R"({"clusterStrategy":{"cpuBurstPercent":7}})"},
         {"system-config", "nonsense"}});
  start();
  EXPECT_EQ(text(model::SloPart::kQos), R"({"lsClass":{}})");
  EXPECT_EQ(text(model::SloPart::kSystem), text_of_defaults(model::SloPart::kSystem));
  EXPECT_EQ(good(), 0);
  EXPECT_EQ(events(), std::vector<std::string>{"SLOCfgUnmarshalFailed"});

  write({{"resource-qos-config", ""}, {"cpu-burst-config", "(none)"}, {"system-config", "{}"}});
  EXPECT_EQ(text(model::SloPart::kQos), R"({"lsClass":{}})");
  EXPECT_EQ(text(model::SloPart::kCpuBurst), burst_default);
  EXPECT_EQ(good(), 0);
  EXPECT_EQ(events().size(), 2U);
  EXPECT_EQ(changes, 2);  // one for all the keys of an update

  write({{"resource-qos-config", "(none)"}});
  EXPECT_EQ(text(model::SloPart::kQos), "{}");
  EXPECT_EQ(good(), 1);
}

}  // namespace
}  // namespace tidemark::manager
