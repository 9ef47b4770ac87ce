// A cluster in memory under simulated time, and managers on it: for tests of the manager as a whole.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/yaml.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "manager/manager.h"
#include "net/testing/loop.h"

namespace tidemark::manager::testing {

using namespace std::chrono_literals;

inline constexpr std::string_view kBatchCpu = "kubernetes.io/batch-cpu";
inline constexpr std::string_view kMerge = "application/merge-patch+json";
inline constexpr std::string_view kNodeMetricsPath = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";
inline constexpr std::string_view kNodeSlosPath = "/apis/slo.koordinator.sh/v1alpha1/nodeslos";
inline constexpr std::string_view kConfigPath = "/api/v1/namespaces/koordinator-system/configmaps";

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A manager with its own client, as another process would have.
struct Replica {
  Replica(net::EventLoop& loop, net::HttpHandler handler, const base::Log& log, std::string identity,
          std::uint64_t seed, ManagerOptions options)
      : transport(loop, std::move(handler), identity),
        client(
            loop, transport, [] { return std::string(); }, {}, base::Random(seed)),
        election(loop, transport, [] { return std::string(); }, election_client_config(), base::Random(seed + 2)) {
    options.metrics_address = "0";
    options.lease.identity = std::move(identity);
    manager = std::move(*Manager::make(loop, client, election, log, metrics, base::Random(seed + 1), options));
    manager->start();
  }
  double metric(std::string_view name) {
    const std::string text = "\n" + metrics.text();
    const auto at = text.find(base::cat("\n", name, " "));
    return at == std::string::npos
               ? 0
               : *base::parse_double(text.substr(at + name.size() + 2, text.find('\n', at + 1) - at - name.size() - 2));
  }

  base::Registry metrics;
  kube::memory::LocalTransport transport;
  kube::Client client;
  kube::Client election;
  std::unique_ptr<Manager> manager;
};

class InMemoryCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    for (const char* kind : {"nodemetrics", "nodeslos"}) {
      const Json crd = *base::parse_yaml(
          read_file(base::testing::from_root(base::cat("deploy/crds/slo.koordinator.sh_", kind, ".yaml"))));
      must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    }
    must("POST", "/api/v1/namespaces", name_only("koordinator-system"));
    settings(Json::object({{"enable", true}}));
  }
  void TearDown() override { replicas.clear(); }

  static Json name_only(std::string_view name) {
    return Json::object({{"metadata", Json::object({{"name", Json(name)}})}});
  }

  net::HttpResponse call(std::string_view method, std::string_view target, const Json& body,
                         std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    if (!body.is_null()) {
      request.body = body.dump();
      request.headers.set("content-type", type);
    }
    auto response = net::testing::run_task(loop, clock, admin->fetch(std::move(request), 10s));
    return response ? std::move(*response) : net::HttpResponse{};
  }
  Json must(std::string_view method, std::string_view target, const Json& body,
            std::string_view type = "application/json") {
    const auto response = call(method, target, body, type);
    EXPECT_TRUE(response.status == 200 || response.status == 201) << target << " " << response.status << response.body;
    return *Json::parse(response.body);
  }

  void settings(const Json& colocation) { setting("colocation-config", colocation.dump()); }
  // A key of the settings; null takes it out.
  void setting(std::string_view key, const Json& text) {
    const Json data = Json::object({{key, text}});
    Json map = name_only("slo-controller-config");
    map["data"] = data;
    if (call("POST", kConfigPath, map).status == 409) {
      must("PATCH", base::cat(kConfigPath, "/slo-controller-config"), Json::object({{"data", data}}), kMerge);
    }
  }
  void node(std::string_view name, const Json& labels = Json::object()) {
    Json object = name_only(name);
    object["metadata"]["labels"] = labels;
    must("POST", "/api/v1/nodes", object);
    const Json amounts = Json::object({{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "110"}});
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         Json::object({{"status", Json::object({{"capacity", amounts}, {"allocatable", amounts}})}}), kMerge);
  }
  // What the agent reports: the system uses so many cores and so much memory, now.
  void metric(std::string_view name, std::string_view system_cores, std::string_view system_memory = "4Gi") {
    Json object = name_only(name);
    object["apiVersion"] = Json("slo.koordinator.sh/v1alpha1");
    object["kind"] = Json("NodeMetric");
    call("POST", kNodeMetricsPath, object);
    const Json used =
        Json::object({{"resources", Json::object({{"cpu", Json(system_cores)}, {"memory", Json(system_memory)}})}});
    must("PATCH", base::cat(kNodeMetricsPath, "/", name, "/status"),
         Json::object(
             {{"status", Json::object({{"updateTime", Json(base::format_rfc3339(clock.wall()))},
                                       {"nodeMetric", Json::object({{"nodeUsage", used}, {"systemUsage", used}})},
                                       {"podsMetric", Json::array()}})}}),
         kMerge);
  }

  Json read_node(std::string_view name) { return must("GET", base::cat("/api/v1/nodes/", name), nullptr); }
  std::string offered(std::string_view name) {
    return std::string(read_node(name).text_at("status", "allocatable", kBatchCpu));
  }
  std::string revision(std::string_view name) {
    return std::string(read_node(name).text_at("metadata", "resourceVersion"));
  }

  Replica& start(std::string identity = "one", bool elect = false, ManagerOptions options = {}) {
    options.leader_elect = elect;
    replicas.push_back(
        std::make_unique<Replica>(loop, for_managers(), log, std::move(identity), 100 + replicas.size(), options));
    run_for(1s);
    return *replicas.back();
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  // What managers find for so long. Watches that are under way go on to their end, some minutes later.
  enum class Answers { kAll, kNone, kReads };
  void outage(Answers answers, base::Duration time) {
    answers_ = answers;
    run_for(time);
    answers_ = Answers::kAll;
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
  std::vector<std::unique_ptr<Replica>> replicas;

 private:
  net::HttpHandler for_managers() {
    return [this, inner = server->handler()](net::HttpExchange& exchange) -> net::Task<void> {
      if (answers_ == Answers::kAll || (answers_ == Answers::kReads && exchange.head().method == "GET")) {
        co_return co_await inner(exchange);
      }
      if (answers_ == Answers::kNone) {
        exchange.respond(503, "application/json", R"({"kind":"Status","code":503,"reason":"ServiceUnavailable"})");
      } else {  // as while etcd has no room
        exchange.respond(500, "application/json",
                         R"({"kind":"Status","code":500,"message":"etcdserver: mvcc: database space exceeded"})");
      }
    };
  }

  Answers answers_ = Answers::kAll;
};

}  // namespace tidemark::manager::testing
