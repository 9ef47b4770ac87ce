// The operator between an in-memory API server and fake ResourceManagers that use the real wire format.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "hadoop/containers.h"
#include "hadoop/testing/rpc_server.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "model/names.h"
#include "net/http_server.h"
#include "net/testing/loop.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::yarn_operator::testing {

using namespace std::chrono_literals;
using hadoop::NodeId;
using hadoop::WireReader;
using hadoop::WireWriter;
using hadoop::testing::RpcServer;
using hadoop::testing::SeenCall;

inline constexpr std::string_view kMerge = "application/merge-patch+json";
inline constexpr std::string_view kOrigin = "node.koordinator.sh/originExtendedAllocatable";
inline constexpr std::string_view kThird = "node.koordinator.sh/thirdPartyAllocations";

// The machine's clock with a separate wall time.
class SkewedClock final : public base::Clock {
 public:
  base::Duration off{0};

  base::MonotonicTime monotonic() const override { return real_.monotonic(); }
  base::BootTime boot() const override { return real_.boot(); }
  base::WallTime wall() const override { return real_.wall() + off; }

 private:
  base::SystemClock real_;
};

// The part of a ResourceManager that the operator uses: it applies totals and reports nodes.
struct ResourceManagerTwin {
  struct Nm {
    std::int64_t memory = 8192, vcores = 8, used_memory = 0, used_vcores = 0, state = 2;
    bool ends_nobody = false;  // for any total
    int timeouts = 0;          // each update sets the timeout anew
    std::string label{};
  };
  struct Container {
    NodeId node;
    std::int64_t memory = 0, created = 0;
  };

  explicit ResourceManagerTwin(net::EventLoop& on) : loop(on), later(on) {
    const auto handler = [this](const SeenCall& call) { return answer(call); };
    client = std::make_unique<RpcServer>(loop, handler);
    admin = std::make_unique<RpcServer>(loop, handler);
  }

  RpcServer::Reply answer(const SeenCall& call) {
    if (away) return hadoop::Refusal{.exception = "org.apache.hadoop.ipc.RetriableException", .message = "away"};
    if (call.method == "getServiceStatus") {
      std::string status;
      WireWriter(status).number(1, static_cast<int>(standby ? hadoop::HaState::kStandby : hadoop::HaState::kActive));
      return status;
    }
    if (standby) return hadoop::Refusal{.exception = "org.apache.hadoop.ipc.StandbyException", .message = "not me"};
    if (call.method == "updateNodeResource") {
      ++updates;
      if (!refuses.empty()) return hadoop::Refusal{.exception = refuses, .message = "no"};
      if (unknown_for > 0 &&
          std::ranges::any_of(unknown, [&](const std::string& host) { return call.request.contains(host); })) {
        --unknown_for;
        return hadoop::Refusal{.exception = "org.apache.hadoop.yarn.exceptions.YarnException",
                               .message = "change resource on an unrecognized node"};
      }
      if (!drops) take(call.request);
      return "";
    }
    if (call.method == "getContainerReport") return report_of(call.request);
    if (call.method == "getQueueInfo") {
      std::string queue;
      WireWriter(queue).bytes(1, "root").message(10, [&](WireWriter& w) {
        w.number(10, waiting.memory_mib).number(14, waiting.vcores).number(17, waiting.containers);
      });
      if (used_share) {
        queue += '\x25';  // field 4, four fixed bytes
        const auto bits = std::bit_cast<std::uint32_t>(*used_share);
        for (int i = 0; i < 4; ++i) queue += static_cast<char>(bits >> (8 * i) & 0xff);
        WireWriter(queue).bytes(17, "CapacityScheduler");
      }
      std::string all;
      WireWriter(all).bytes(1, queue);
      return all;
    }
    if (listing_takes == base::Duration(0)) return listing();
    later.spawn([](ResourceManagerTwin& twin, SeenCall asked) -> net::Task<void> {
      co_await twin.loop.sleep(twin.listing_takes);
      twin.client->answer(asked, twin.listing());
    }(*this, call));
    return std::nullopt;
  }

  std::string listing() const {
    std::string all;
    for (const auto& [id, nm] : nodes) {
      WireWriter(all).message(1, [&](WireWriter& report) {
        report.message(1, [&](WireWriter& w) { w.bytes(1, id.host).number(2, id.port); });
        report.message(4, [&](WireWriter& w) { w.number(1, nm.used_memory).number(2, nm.used_vcores); });
        report.message(5, [&](WireWriter& w) { w.number(1, nm.memory).number(2, nm.vcores); });
        const auto here = std::ranges::count_if(containers, [&](const auto& each) { return each.second.node == id; });
        if (here > 0) report.number(6, here);
        report.number(7, nm.state);
        if (!nm.label.empty()) report.bytes(10, nm.label);
      });
    }
    return all;
  }

  RpcServer::Reply report_of(std::string_view request) const {
    for (const auto& [name, container] : containers) {
      if (hadoop::encode_get_container_report(*hadoop::parse_container_id(name)) != request) continue;
      if (denies)
        return hadoop::Refusal{.exception = "org.apache.hadoop.security.AccessControlException", .message = "no"};
      std::string out;
      WireWriter(out).message(1, [&](WireWriter& report) {
        report.message(2, [&](WireWriter& given) { given.number(1, container.memory).number(2, 1); })
            .message(3, [&](WireWriter& on) { on.bytes(1, container.node.host).number(2, container.node.port); })
            .number(10, 2);
      });
      return out;
    }
    return hadoop::Refusal{.exception = "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException",
                           .message = "it doesn't exist in RM"};
  }

  // Ends the newest containers until the rest fits.
  void preempt(const NodeId& id) {
    Nm& nm = nodes.at(id);
    if (nm.ends_nobody) return;
    while (nm.used_memory > nm.memory) {
      auto newest = containers.end();
      for (auto each = containers.begin(); each != containers.end(); ++each) {
        const bool newer = newest == containers.end() || each->second.created > newest->second.created;
        if (each->second.node == id && newer) newest = each;
      }
      if (newest == containers.end()) return;
      nm.used_memory -= newest->second.memory;
      --nm.used_vcores;
      preempted.push_back(newest->first);
      containers.erase(newest);
    }
  }
  net::Task<void> preempt_later(NodeId id, int timeout, base::Duration after) {
    co_await loop.sleep(after);
    if (nodes.contains(id) && nodes.at(id).timeouts == timeout) preempt(id);
  }
  void run(const std::string& name, const NodeId& on, std::int64_t memory) {
    containers[name] = {on, memory, static_cast<std::int64_t>(containers.size())};
    nodes.at(on).used_memory += memory;
    ++nodes.at(on).used_vcores;
  }

  std::ptrdiff_t asked(std::string_view method) const {
    return std::ranges::count(client->calls(), method, &SeenCall::method);
  }

  // RUNNING, UNHEALTHY or DECOMMISSIONING.
  bool active(const NodeId& id) const {
    const std::int64_t state = nodes.contains(id) ? nodes.at(id).state : 0;
    return state == 2 || state == 3 || state == 7;
  }
  void take(std::string_view request) {
    WireReader entries(request);
    while (const auto entry = entries.next()) {
      NodeId id;
      Nm told;
      WireReader parts(entry->text());
      while (const auto part = parts.next()) {
        WireReader fields(part->text());
        while (const auto field = fields.next()) {
          if (part->number == 1 && field->number == 1) id.host = field->text();
          if (part->number == 1 && field->number == 2) id.port = field->integer32();
          if (part->number == 2 && field->number == 2) overcommit = field->integer32();
          if (part->number != 2 || field->number != 1) continue;
          WireReader total(field->text());
          while (const auto amount = total.next()) {
            if (amount->number == 1) told.memory = amount->integer();
            if (amount->number == 2) told.vcores = amount->integer();
          }
        }
      }
      if (!active(id)) {
        refused = id.host;
        return;
      }
      nodes.at(id).memory = told.memory;
      nodes.at(id).vcores = told.vcores;
      told_totals.push_back({told.memory, told.vcores, overcommit});
      const int timeout = ++nodes.at(id).timeouts;
      if (overcommit == 0) preempt(id);
      if (overcommit > 0) later.spawn(preempt_later(id, timeout, std::chrono::milliseconds(overcommit)));
      ++updated_nodes;
    }
  }

  net::EventLoop& loop;
  std::map<NodeId, Nm> nodes;
  base::Duration listing_takes{0};
  std::map<std::string, Container> containers;
  std::vector<std::string> preempted;
  std::vector<std::array<std::int64_t, 3>> told_totals;  // memory, vcores, timeout
  bool denies = false;                                   // requests about containers
  hadoop::QueueWaiting waiting;
  std::optional<float> used_share;  // of the root queue of a CapacityScheduler
  bool away = false;
  bool standby = false;
  std::string refuses;               // rejects updates with this exception
  bool drops = false;                // answers but does not apply updates
  std::vector<std::string> unknown;  // hosts that are listed, and left: an update with one of them is refused whole
  int unknown_for = std::numeric_limits<int>::max();  // so many updates
  std::string refused;                                // host for which the rest of an update was not applied
  int updates = 0, updated_nodes = 0;
  std::int32_t overcommit = 0;
  std::unique_ptr<RpcServer> client;
  std::unique_ptr<RpcServer> admin;
  net::Scope later;
};

class OperatorWorld : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    transport = std::make_unique<kube::memory::LocalTransport>(
        loop,
        [this, serve = server->handler()](net::HttpExchange& exchange) -> net::Task<void> {
          if (patches_refused && exchange.head().method == "PATCH") {
            exchange.respond(503, "text/plain", "not now");
          } else {
            co_await serve(exchange);
          }
        },
        "operator");
    let_answers_go_ahead(budget);
    client = std::make_unique<kube::Client>(loop, *transport, [] { return std::string(); }, budget, base::Random(1));
    options.metrics_address = "0";
    options.leader_elect = false;
    options.poll = 200ms;
    options.lost_hold = 600ms;
    options.preemption_grace = 0s;
  }

  void begin() {
    std::vector<YarnCluster> clusters;
    for (const auto& [id, twin] : managers) {
      YarnCluster& made = clusters.emplace_back();
      made.id = id;
      made.work_class = work_class;
      made.class_place = "/conf/yarn-site.xml";
      made.managers.members = {{"", twin->client->address(), twin->admin->address()}};
    }
    auto made = YarnOperator::make(
        loop, {*client, *client, workers, [this](model::AuditLine line) { audit.push_back(std::move(line)); }, "me"},
        std::move(clusters), log, metrics, base::Random(2), options);
    ASSERT_TRUE(made) << made.error().message;
    running = std::move(*made);
    running->start();
  }
  ResourceManagerTwin& manager(std::string_view cluster = kDefaultCluster) {
    auto& twin = managers[std::string(cluster)];
    if (!twin) twin = std::make_unique<ResourceManagerTwin>(loop);
    return *twin;
  }

  Json must(std::string_view method, std::string_view target, const Json& body,
            std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    if (!body.is_null()) {
      request.body = body.dump();
      request.headers.set("content-type", type);
    }
    auto response = net::testing::run_task(loop, admin->fetch(std::move(request), 10s));
    EXPECT_TRUE(response && (response->status == 200 || response->status == 201)) << target;
    return response ? *Json::parse(response->body) : Json();
  }
  static Json annotations(const Json& texts) {
    return Json::object({{"metadata", Json::object({{"annotations", texts}})}});
  }
  static Json origin(std::string_view cpu, std::string_view memory) {
    return Json(base::cat(R"({"resources":{"kubernetes.io/batch-cpu":")", cpu, R"(","kubernetes.io/batch-memory":")",
                          memory, R"("}})"));
  }
  // Ready, with a NodeManager in its annotation.
  void node(std::string_view name, std::string_view nm, const Json& amounts, std::string_view book = "") {
    Json object = annotations(Json::object({{"yarn.hadoop.apache.org/node-id", Json(nm)}, {kOrigin, amounts}}));
    if (!book.empty()) object["metadata"]["annotations"][model::kYarnBookAnnotation] = Json(book);
    object["metadata"]["name"] = Json(name);
    must("POST", "/api/v1/nodes", object);
    const Json ready = Json::object({{"type", "Ready"}, {"status", "True"}});
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         Json::object({{"status", Json::object({{"conditions", Json::array({ready})}})}}), kMerge);
  }
  void patch(std::string_view name, const Json& body) {
    must("PATCH", base::cat("/api/v1/nodes/", name), body, kMerge);
  }
  void pod(std::string_view name, std::string_view on, std::string_view cpu, std::string_view memory) {
    const Json requests =
        Json::object({{"kubernetes.io/batch-cpu", Json(cpu)}, {"kubernetes.io/batch-memory", Json(memory)}});
    must("POST", "/api/v1/namespaces/default/pods",
         Json::object(
             {{"metadata", Json::object({{"name", Json(name)}})},
              {"spec", Json::object({{"nodeName", Json(on)},
                                     {"containers", Json::array({Json::object(
                                                        {{"name", "c"},
                                                         {"image", "i"},
                                                         {"resources", Json::object({{"requests", requests},
                                                                                     {"limits", requests}})}})})}})}}));
  }
  void settings(std::string_view text) {
    must("POST", "/api/v1/namespaces", Json::object({{"metadata", Json::object({{"name", "koordinator-system"}})}}));
    must("POST", "/api/v1/namespaces/koordinator-system/configmaps",
         Json::object({{"metadata", Json::object({{"name", model::kTidemarkConfigName}})},
                       {"data", Json::object({{model::kTidemarkConfigKey, Json(text)}})}}));
  }
  std::string annotation(std::string_view name, std::string_view key) {
    const Json node = must("GET", base::cat("/api/v1/nodes/", name), Json());
    const Json* text = node.at("metadata", "annotations", key);
    return text == nullptr ? "" : text->as_string();
  }
  std::string third(std::string_view name) { return annotation(name, kThird); }
  static std::string held(std::string_view cpu, std::string_view memory) {
    return base::cat(R"({"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":{)",
                     R"("kubernetes.io/batch-cpu":")", cpu, R"(","kubernetes.io/batch-memory":")", memory, R"("}}]})");
  }
  template <class Condition>
  bool until(Condition&& condition) {
    return net::testing::run_real_until(loop, condition, 20s);
  }
  bool total(const NodeId& id, std::int64_t memory, std::int64_t vcores, std::string_view cluster = kDefaultCluster) {
    return until([&] {
      const auto& nm = manager(cluster).nodes.at(id);
      return nm.memory == memory && nm.vcores == vcores;
    });
  }
  bool third_is(std::string_view name, const std::string& text) { return annotation_is(name, kThird, text); }
  bool annotation_is(std::string_view name, std::string_view key, const std::string& text) {
    for (int i = 0; i < 500; ++i) {
      if (annotation(name, key) == text) return true;
      pass(10ms);
    }
    ADD_FAILURE() << key << " of " << name << " is " << annotation(name, key) << ", wanted " << text;
    return false;
  }
  void pass(base::Duration time) {
    static_cast<void>(net::testing::run_task(loop, [](net::EventLoop& on, base::Duration d) -> net::Task<bool> {
      co_await on.sleep(d);
      co_return true;
    }(loop, time)));
  }

  SkewedClock clock;
  net::EventLoop loop{clock};
  std::vector<std::string> said;
  base::Log log{clock, {base::LogLevel::kInfo, base::LogFormat::kText, [this](std::string_view line) {
                          said.emplace_back(line);
                        }}};
  base::Registry metrics;
  net::WorkerPool workers{1, 4};
  std::vector<model::AuditLine> audit;
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::map<std::string, std::unique_ptr<ResourceManagerTwin>> managers;
  kube::ClientConfig budget{.queries_per_second = 1000, .burst = 1000};  // of the operator, including urgent writes
  bool patches_refused = false;                                          // of the operator
  std::string work_class;                                                // of all clusters
  OperatorOptions options;
  std::unique_ptr<YarnOperator> running;
};

}  // namespace tidemark::yarn_operator::testing
