// A console on an API server in memory, over real sockets, and a browser that asks it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/testing/source_dir.h"
#include "base/text.h"
#include "base/yaml.h"
#include "console/console.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/connection.h"
#include "net/http_client.h"
#include "net/testing/endpoint.h"
#include "net/testing/loop.h"

namespace tidemark::console::testing {

inline constexpr std::string_view kMerge = "application/merge-patch+json";
inline constexpr std::string_view kMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";
inline constexpr std::string_view kMaps = "/api/v1/namespaces/koordinator-system/configmaps";
inline constexpr std::string_view kJobs = "/api/v1/namespaces/jobs/pods";

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ConsoleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    const Json crd =
        *base::parse_yaml(read_file(base::testing::from_root("deploy/crds/slo.koordinator.sh_nodemetrics.yaml")));
    must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    must("POST", "/api/v1/namespaces", name_only("koordinator-system"));
    must("POST", "/api/v1/namespaces", name_only("jobs"));
  }
  void TearDown() override {
    browser.reset();
    console.reset();
  }

  static Json name_only(std::string_view name) {
    return Json::object({{"metadata", Json::object({{"name", Json(name)}})}});
  }
  net::HttpResponse call(std::string_view method, std::string_view target, const Json& body,
                         std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    if (!body.is_null()) request.body = body.dump();
    request.headers.set("content-type", type);
    auto answer = net::testing::run_task(loop, admin->fetch(std::move(request), std::chrono::seconds(10)));
    return answer ? std::move(*answer) : net::HttpResponse{};
  }
  void must(std::string_view method, std::string_view target, const Json& body,
            std::string_view type = "application/json") {
    const auto answer = call(method, target, body, type);
    EXPECT_TRUE(answer.status == 200 || answer.status == 201) << target << " " << answer.status << answer.body;
  }
  void node(std::string_view name, Json labels = Json::object(), std::string_view batch = "8000") {
    Json object = name_only(name);
    object["metadata"]["labels"] = std::move(labels);
    must("POST", "/api/v1/nodes", object);
    const Json capacity = Json::object({{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "110"}});
    Json allocatable = capacity;
    allocatable["kubernetes.io/batch-cpu"] = Json(batch);
    allocatable["kubernetes.io/batch-memory"] = Json("16Gi");
    const Json ready = Json::array({Json::object({{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}})});
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         Json::object(
             {{"status", Json::object({{"capacity", capacity}, {"allocatable", allocatable}, {"conditions", ready}})}}),
         kMerge);
  }
  // The node uses 10 cores, 4 of them by an offline pod.
  void report(std::string_view name, std::string_view offline_pod) {
    Json object = name_only(name);
    object["apiVersion"] = Json("slo.koordinator.sh/v1alpha1");
    object["kind"] = Json("NodeMetric");
    call("POST", kMetrics, object);
    const auto used = [](std::string_view cpu, std::string_view memory) {
      return Json::object({{"resources", Json::object({{"cpu", Json(cpu)}, {"memory", Json(memory)}})}});
    };
    const Json pods = Json::array({Json::object({{"namespace", "jobs"},
                                                 {"name", Json(offline_pod)},
                                                 {"qosClass", "BE"},
                                                 {"priority", "koord-batch"},
                                                 {"podUsage", used("4", "8Gi")}})});
    must("PATCH", base::cat(kMetrics, "/", name, "/status"),
         Json::object({{"status", Json::object({{"updateTime", Json(base::format_rfc3339(clock.wall()))},
                                                {"nodeMetric", Json::object({{"nodeUsage", used("10", "40Gi")},
                                                                             {"systemUsage", used("1", "2Gi")}})},
                                                {"podsMetric", pods}})}}),
         kMerge);
  }
  void task(std::string_view name, std::string_view on, std::string_view phase = "Running") {
    Json object = name_only(name);
    object["metadata"]["labels"] = Json::object({{"koordinator.sh/qosClass", "BE"}, {"tidemark.io/class", "spark"}});
    Json container = Json::object({{"name", "c"}, {"image", "i"}});
    container["resources"] = Json::object(
        {{"requests", Json::object({{"kubernetes.io/batch-cpu", "5000"}, {"kubernetes.io/batch-memory", "8Gi"}})}});
    object["spec"] = Json::object({{"containers", Json::array({std::move(container)})}});
    if (!on.empty()) object["spec"]["nodeName"] = Json(on);
    must("POST", kJobs, object);
    must("PATCH", base::cat(kJobs, "/", name, "/status"),
         Json::object({{"status", Json::object({{"phase", Json(phase)}})}}), kMerge);
  }
  void map(std::string_view name, std::string_view key, std::string_view text) {
    Json object = name_only(name);
    object["data"] = Json::object({{key, Json(text)}});
    must("POST", kMaps, object);
  }

  Result<void> start(std::string listen = "127.0.0.1:0") {
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "console");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test", .read_only = true},
        base::Random(1));
    ConsoleOptions options;
    options.listen = std::move(listen);
    options.cluster = "a test";
    options.past_of_pods = past_of_pods;
    TM_TRY(console, Console::make(loop, *client, log, metrics, base::Random(2), std::move(options)));
    console->start();
    net::HttpClientConfig config;
    config.url = *net::parse_url(console->url());
    browser = std::make_unique<net::HttpClient>(loop, nullptr, std::move(config));
    return {};
  }

  net::HttpResponse get(std::string_view target, net::Headers headers = {}, std::string_view method = "GET") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    auto answer = net::testing::run_task(loop, browser->fetch(std::move(request), std::chrono::seconds(30)));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? std::move(*answer) : net::HttpResponse{};
  }
  // The answer to these bytes, at least its head.
  std::string raw(std::string_view bytes) {
    auto connected = net::testing::run_task(
        loop, net::connect(loop, nullptr, *net::parse_url(console->url()), nullptr, std::chrono::seconds(10)));
    if (!connected) return connected.error().message;
    net::testing::Endpoint endpoint(std::move(*connected));
    endpoint.connection->write(bytes);
    net::testing::run_real_until(
        loop, [&] { return endpoint.ends > 0 || endpoint.got.find("\r\n\r\n") != std::string::npos; });
    return endpoint.got;
  }
  Json read(std::string_view target) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body).value_or(Json());
  }
  // Until the document meets the condition: the view is computed once a second.
  template <class Condition>
  Json read_until(std::string_view target, Condition&& condition) {
    Json found;
    for (int i = 0; i < 40; ++i) {
      found = read(target);
      if (condition(found)) return found;
      net::testing::run_task(loop, wait(std::chrono::milliseconds(250)));
    }
    ADD_FAILURE() << target << ": " << found.dump();
    return found;
  }
  net::Task<void> wait(base::Duration time) { co_await loop.sleep(time); }
  static std::int64_t number(const Json& value, auto... path) {
    const Json* found = value.at(path...);
    return found == nullptr ? -1 : found->get_int().value_or(-1);
  }
  static const Json& column(const Json& nodes, std::string_view name, std::size_t row) {
    return nodes.at("columns", name)->as_array().at(row);
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin, transport;
  std::unique_ptr<kube::Client> client;
  PastOfPods past_of_pods;  // before start()
  std::unique_ptr<Console> console;
  std::unique_ptr<net::HttpClient> browser;
};

}  // namespace tidemark::console::testing
