// A gateway between the API server in memory and a ResourceManager of its own. Both progress when the test says so.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/kubernetes_side.h"
#include "gateway/runs.h"
#include "gateway/sqlite_store.h"
#include "gateway/yarn_side.h"
#include "hadoop/application_client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/http_server.h"
#include "net/testing/loop.h"

namespace tidemark::gateway::testing {

using namespace std::chrono_literals;

// The REST API of a ResourceManager, as far as applications go. Each id runs once.
class ResourceManagerTwin {
 public:
  struct App {
    std::string state = "ACCEPTED";
    std::string final_status = "UNDEFINED";
    std::string diagnostics;
    std::vector<std::string> tags;
    Json body;
  };

  explicit ResourceManagerTwin(net::EventLoop& loop, const base::Log& log) {
    net::HttpServerConfig config;
    config.listen = "127.0.0.1:0";
    server_ = *net::HttpServer::listen(loop, log, std::move(config),
                                       [this](net::HttpExchange& exchange) { return handle(exchange); });
  }

  std::map<std::string, App> apps;
  int starts = 0;
  bool away = false;
  bool loses_replies = false;      // of submissions: it takes them and answers 500
  bool refuses_duplicate = false;  // as if it still took in the same id: it has it and answers 400

  hadoop::RmCluster cluster() const {
    hadoop::RmCluster out;
    out.members.push_back(
        {.id = "", .client = {}, .admin = {}, .web = *net::parse_url(base::cat("http://", server_->address()))});
    return out;
  }
  void run(const std::string& id) {
    apps.at(id).state = "RUNNING";
    ++starts;
  }
  void finish(const std::string& id, const std::string& state, const std::string& final_status,
              const std::string& diagnostics = "") {
    App& app = apps.at(id);
    app.state = state;
    app.final_status = final_status;
    app.diagnostics = diagnostics;
  }

 private:
  net::Task<void> handle(net::HttpExchange& exchange) {
    const auto target = *net::parse_target(exchange.head().target);
    const auto body = co_await exchange.body(1 << 20);
    const std::string& method = exchange.head().method;
    const std::string_view base = "/ws/v1/cluster/apps";
    const std::string rest = target.path.starts_with(base) ? target.path.substr(base.size()) : "";
    if (away) {
      exchange.respond(503, "text/plain", "away");
    } else if (target.path == "/ws/v1/cluster/scheduler") {
      exchange.respond(200, "application/json", full_queue());
    } else if (rest == "/new-application") {
      exchange.respond(200, "application/json",
                       base::cat(R"({"application-id":"application_1700000000000_)", 1000 + ++ids_, "\"}"));
    } else if (method == "POST") {
      submit(*Json::parse(*body));
      exchange.respond(loses_replies ? 500 : refuses_duplicate ? 400 : 202, "application/json", "");
    } else if (method == "PUT") {
      const auto at = apps.find(rest.substr(1, rest.rfind('/') - 1));
      if (at == apps.end()) {
        exchange.respond(404, "application/json", "{}");
        co_return;
      }
      App& app = at->second;
      if (app.state == "ACCEPTED" || app.state == "RUNNING") app.state = app.final_status = "KILLED";
      exchange.respond(202, "application/json", R"({"state":"KILLED"})");
    } else if (!rest.empty()) {
      const auto at = apps.find(rest.substr(1));
      if (at == apps.end()) {
        exchange.respond(404, "application/json", "{}");
      } else {
        exchange.respond(200, "application/json", Json::object({{"app", shown(*at)}}).dump());
      }
    } else {
      Json list = Json::array();
      for (const auto& each : apps) {
        const bool runs = each.second.state == "ACCEPTED" || each.second.state == "RUNNING";
        const bool tagged =
            std::ranges::find(each.second.tags, target.get("applicationTags")) != each.second.tags.end();
        if (runs && tagged) list.as_array().push_back(shown(each));
      }
      exchange.respond(200, "application/json", Json::object({{"apps", Json::object({{"app", list}})}}).dump());
    }
  }

  // One queue, which is full.
  static std::string full_queue() {
    const Json leaf = Json::object({{"queueName", "default"},
                                    {"absoluteUsedCapacity", 100.0},
                                    {"absoluteMaxCapacity", 100.0},
                                    {"numPendingApplications", 2}});
    const Json info = Json::object({{"type", "capacityScheduler"},
                                    {"queueName", "root"},
                                    {"usedCapacity", 100.0},
                                    {"queues", Json::object({{"queue", Json::array({leaf})}})}});
    return Json::object({{"scheduler", Json::object({{"schedulerInfo", info}})}}).dump();
  }

  void submit(const Json& body) {
    const std::string id(body.text_at("application-id"));
    if (apps.contains(id)) return;
    App app;
    app.body = body;
    for (const Json& tag : body.at("application-tags", "tag")->as_array())
      app.tags.push_back(base::lower(tag.as_string()));
    apps[id] = std::move(app);
  }

  static Json shown(const std::pair<const std::string, App>& each) {
    return Json::object({{"id", each.first},
                         {"state", each.second.state},
                         {"finalStatus", each.second.final_status},
                         {"diagnostics", each.second.diagnostics},
                         {"applicationTags", base::join(each.second.tags, ",")}});
  }

  std::unique_ptr<net::HttpServer> server_;
  int ids_ = 0;
};

// Passes calls on; at a chosen write it stops for ever, as a killed process does: before the write, or after it.
class DyingStore final : public Store {
 public:
  DyingStore(net::EventLoop& loop, std::unique_ptr<Store> store) : loop_(loop), store_(std::move(store)) {}

  int writes_left = -1;  // < 0: it never stops
  bool writes_last = false;
  bool dead = false;

  const std::string& instance() const override { return store_->instance(); }
  bool no_more_kubernetes() const override { return store_->no_more_kubernetes(); }
  net::Task<Result<void>> set_no_more_kubernetes(bool value) override { return store_->set_no_more_kubernetes(value); }
  net::Task<Result<std::string>> text(std::string name) override { return store_->text(std::move(name)); }
  net::Task<Result<void>> set_text(std::string name, std::string value) override {
    return store_->set_text(std::move(name), std::move(value));
  }
  net::Task<Result<Added>> add(Record record) override { return store_->add(std::move(record)); }
  net::Task<Result<void>> put(const Record& record) override {
    const Record copy = record;
    const bool last = writes_left >= 0 && writes_left-- == 0;
    if (last && !writes_last) co_await die();
    auto answer = co_await store_->put(copy);
    if (last) co_await die();
    co_return answer;
  }
  net::Task<Result<void>> order_cancel(std::int64_t id) override { return store_->order_cancel(id); }
  net::Task<Result<std::optional<Record>>> find(std::int64_t id) override { return store_->find(id); }
  net::Task<Result<std::optional<Record>>> find_key(std::string key) override {
    return store_->find_key(std::move(key));
  }
  net::Task<Result<void>> drop_key(std::int64_t id) override { return store_->drop_key(id); }
  net::Task<Result<Page>> page(std::int64_t from, std::int64_t size, RunFilter filter) override {
    return store_->page(from, size, std::move(filter));
  }
  net::Task<Result<std::vector<Record>>> live() override { return store_->live(); }
  void share(StoreEvents events) override { store_->share(std::move(events)); }
  policy::route::QuotaUse use_elsewhere(std::string_view business) const override {
    return store_->use_elsewhere(business);
  }

 private:
  net::Task<void> die() {
    dead = true;
    net::Event never(loop_);
    co_await never.wait();
  }

  net::EventLoop& loop_;
  std::unique_ptr<Store> store_;
};

// Loses requests and answers of writes, in front of a working transport. A lost request may arrive later.
class LossyTransport final : public net::HttpTransport {
 public:
  LossyTransport(net::EventLoop& loop, net::HttpTransport& inner, base::Random random)
      : loop_(loop), inner_(inner), random_(random), scope_(loop) {}

  std::uint64_t lost_percent = 0;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    if (request.method == "GET" || random_.next() % 100 >= lost_percent) {
      co_return co_await inner_.fetch(std::move(request), limit);
    }
    switch (random_.next() % 3) {
      case 0:
        break;
      case 1:
        (void)co_await inner_.fetch(std::move(request), limit);
        break;
      default:
        scope_.spawn(deliver(std::move(request), std::chrono::milliseconds(random_.next() % 60), limit));
    }
    co_return fail(ErrorKind::kUnavailable, "lost");
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    return inner_.open(std::move(request), limit);
  }

 private:
  net::Task<void> deliver(net::HttpRequest request, base::Duration after, base::Duration limit) {
    co_await loop_.sleep(after);
    (void)co_await inner_.fetch(std::move(request), limit);
  }

  net::EventLoop& loop_;
  net::HttpTransport& inner_;
  base::Random random_;
  net::Scope scope_;
};

struct Answer {
  int status = 0;
  Json body;
  net::Headers headers;
};

class World {
 public:
  // One request at a door.
  template <class Door>
  Answer ask(Door& door, std::string method, std::string target, std::string body, std::string key = "") {
    kube::memory::LocalTransport transport_of_door(
        loop, [&door](net::HttpExchange& exchange) { return door.handle(exchange); }, "");
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!key.empty()) request.headers.add("Idempotency-Key", key);
    const auto response = run(transport_of_door.fetch(std::move(request), 10s));
    EXPECT_TRUE(response);
    if (!response) return {};
    return {response->status, *Json::parse(response->body), response->headers};
  }

  World() {
    char made[] = "/tmp/tidemark-gateway-XXXXXX";
    folder = mkdtemp(made);
    kube::memory::ServerConfig config;
    config.priority_classes = {{"koord-batch", 5500}};
    server = *kube::memory::Server::open(loop, log, config, nullptr);
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    lossy = std::make_unique<LossyTransport>(loop, *transport, base::Random(4));
    client = client_over(*transport);
    rm = std::make_unique<ResourceManagerTwin>(loop, log);
    options.look_interval = 2ms;
    options.retry_first = 2ms;
    options.retry_max = 5ms;
    begin();
  }
  ~World() {
    end();
    rm.reset();
    std::filesystem::remove_all(folder);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::unique_ptr<kube::Client> client_over(net::HttpTransport& over) {
    kube::ClientConfig fast;
    fast.queries_per_second = 10'000;
    fast.burst = 10'000;
    return std::make_unique<kube::Client>(loop, over, [] { return std::string(); }, fast, base::Random(1));
  }

  // Starts the gateway on the same directory, as the next process does.
  void begin() {
    store = std::make_unique<DyingStore>(loop, *open_sqlite_store(loop, folder + "/runs.db", 7));
    metrics = std::make_unique<base::Registry>();
    runs = std::make_unique<Runs>(loop, *store, log, base::Random(2), options);
    const auto is_live = [this](std::int64_t run, std::int64_t attempt) { return runs->is_live(run, attempt); };
    const auto on_change = [this](std::int64_t run) { runs->wake(run); };
    KubernetesOptions kubernetes_options;
    kubernetes_options.master = "https://127.0.0.1:6443";
    gateway_client = client_over(*lossy);
    kubernetes = std::make_unique<KubernetesSide>(loop, *gateway_client, log, *metrics, base::Random(3),
                                                  kubernetes_options, SideOwner{store->instance(), is_live, on_change});
    YarnOptions yarn_options;
    yarn_options.spark_jars = "local:/opt/spark/jars/*";
    yarn_options.poll = 5ms;
    yarn = std::make_unique<YarnSide>(
        loop, hadoop::make_application_client(loop, nullptr, rm->cluster(), "tester", base::Random(4)),
        hadoop::ContainerLogs(loop, nullptr, "tester", {}), hadoop::HdfsAccess(), log, yarn_options,
        SideOwner{store->instance(), is_live, on_change});
    runs->use({kubernetes.get(), yarn.get()});
    ASSERT_TRUE(run(runs->resume()));
    kubernetes->start();
    yarn->start();
  }
  // As kill -9: nothing is finished.
  void end() {
    runs.reset();
    kubernetes.reset();
    yarn.reset();
    store.reset();
    gateway_client.reset();
  }

  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task));
  }
  template <class Condition>
  bool until(Condition condition, base::Duration guard = 20s) {
    return net::testing::run_real_until(loop, std::move(condition), guard);
  }

  Record record(std::int64_t id) { return **run(runs->find(id)); }
  bool reaches(std::int64_t id, policy::route::Phase phase) {
    return until([&] { return record(id).run.phase == phase; });
  }

  // The driver pods that exist.
  std::vector<Json> pods() {
    std::vector<Json> out;
    kube::ListOptions all;
    all.label_selector = "spark-role=driver";
    const auto listed = run(client->list(
        kube::kPods, all,
        [&out](std::string_view page) -> Result<void> {
          TM_TRY(const Json list, Json::parse(page));
          for (const Json& item : list.at("items")->as_array()) out.push_back(item);
          return {};
        },
        [] {}, 10s));
    EXPECT_TRUE(listed) << (listed ? "" : listed.error().message);
    return out;
  }
  bool exists(const kube::Resource& kind, const std::string& name) {
    return run(client->get(kind, "default", name, 10s)).has_value();
  }
  // As a scheduler does.
  bool bind(const std::string& pod) {
    kube::WriteOptions in;
    in.ns = "default";
    in.subresource = "binding";
    const auto done = run(client->create(kube::kPods,
                                         base::cat(R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")", pod,
                                                   R"("},"target":{"apiVersion":"v1","kind":"Node","name":"n"}})"),
                                         in, pod, 10s));
    return done.has_value();
  }
  // As a kubelet reports it.
  void set_status(const std::string& pod, const std::string& status) {
    kube::WriteOptions in;
    in.ns = "default";
    in.subresource = "status";
    const auto done =
        run(client->patch(kube::kPods, pod, kube::PatchType::kMerge, base::cat(R"({"status":)", status, "}"), in, 10s));
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
  }
  void start_driver(const std::string& pod) {
    pods_started.insert(pod);
    set_status(pod,
               R"({"phase":"Running","containerStatuses":[{"name":"spark-kubernetes-driver","image":"i","imageID":"",)"
               R"("ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]})");
  }
  void end_driver(const std::string& pod, int code, const std::string& more = "") {
    set_status(pod,
               base::cat(R"({"phase":")", code == 0 ? "Succeeded" : "Failed", R"(",)", more,
                         R"("containerStatuses":[{"name":"spark-kubernetes-driver","image":"i","imageID":"","ready":)"
                         R"(false,"restartCount":0,"state":{"terminated":{"exitCode":)",
                         code, R"(,"reason":"Error"}}}]})"));
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  std::string lines;  // of the log
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::string folder;
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<LossyTransport> lossy;  // of the gateway
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::Client> gateway_client;
  std::unique_ptr<ResourceManagerTwin> rm;
  std::set<std::string> pods_started;
  RunsOptions options;
  std::unique_ptr<base::Registry> metrics;
  std::unique_ptr<DyingStore> store;
  std::unique_ptr<KubernetesSide> kubernetes;
  std::unique_ptr<YarnSide> yarn;
  std::unique_ptr<Runs> runs;
};

// A job that both sides can run.
inline SparkJob job(std::map<std::string, std::string> conf = {}) {
  SparkJob out;
  out.file = "local:///opt/spark/examples.jar";
  out.class_name = "org.apache.spark.examples.SparkPi";
  out.args = {"10"};
  out.user = "ann";
  out.conf = std::move(conf);
  out.conf["spark.kubernetes.container.image"] = "spark:3.5";
  return *checked(std::move(out));
}

}  // namespace tidemark::gateway::testing
