// Our client with every verb and sub-resource, on a real kube-apiserver and on the API server in memory:
// both accept its requests, and refusals return as the errors that callers use.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/actions.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"
#include "tests/faults/tool.h"

namespace tidemark::tests {
namespace {

using namespace std::chrono_literals;
using base::cat;
using base::Json;
using kube::PatchType;

constexpr base::Duration kLimit = 30s;
constexpr kube::Resource kBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};

struct MemoryServer {
  explicit MemoryServer(net::EventLoop& loop, const base::Log& log) {
    auto opened = kube::memory::Server::open(loop, log, {}, nullptr);
    TM_CHECK(opened.has_value(), "a server without a file opens");
    server = std::move(*opened);
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    kube::ClientConfig config;
    config.queries_per_second = 1000;
    client = std::make_unique<kube::Client>(loop, *transport, nullptr, config, base::Random(1));
  }

  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
};

class ClientVerbs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string_view("memory")) {
      memory_ = std::make_unique<MemoryServer>(loop_, log_);
      client_ = memory_->client.get();
    } else {
      const char* kubeconfig = std::getenv("TIDEMARK_TEST_KUBECONFIG");
      if (kubeconfig == nullptr) GTEST_SKIP() << "no real API server: TIDEMARK_TEST_KUBECONFIG is not set";
      ToolOptions options;
      options.kubeconfig = kubeconfig;
      options.queries_per_second = 1000;
      auto connected = connect_tool(loop_, base::Random(1), options);
      ASSERT_TRUE(connected) << connected.error().message;
      real_ = std::move(*connected);
      client_ = real_.client.get();
    }
    const Json made = must(create(kube::kNamespaces, R"({"metadata":{"generateName":"client-verbs-"}})"));
    ns_ = made.text_at("metadata", "name");
  }
  void TearDown() override {
    if (client_ == nullptr || ns_.empty()) return;
    EXPECT_TRUE(run(client_->remove(kube::kNamespaces, ns_, "", {}, kLimit)));
  }

  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop_, std::move(task));
  }
  kube::WriteOptions in_namespace(std::string_view subresource = "", bool dry_run = false) const {
    kube::WriteOptions options;
    options.ns = ns_;
    options.subresource = subresource;
    options.dry_run = dry_run;
    return options;
  }
  Result<std::string> create(const kube::Resource& resource, std::string body, bool dry_run = false) {
    auto options = in_namespace("", dry_run);
    if (!resource.namespaced) options.ns = {};
    return run(client_->create(resource, std::move(body), options, "", kLimit));
  }
  Result<std::string> patch(const kube::Resource& resource, std::string_view name, PatchType type, std::string body,
                            std::string_view subresource = "", bool dry_run = false) {
    return run(client_->patch(resource, name, type, std::move(body), in_namespace(subresource, dry_run), kLimit));
  }
  Result<std::string> get(const kube::Resource& resource, std::string_view name) {
    return run(client_->get(resource, ns_, name, kLimit));
  }
  Result<void> remove(const kube::Resource& resource, std::string_view name, std::string uid = "") {
    return run(client_->remove(resource, name, std::move(uid), in_namespace(), kLimit));
  }

  static Json must(const Result<std::string>& answer) {
    EXPECT_TRUE(answer) << answer.error().message;
    auto parsed = answer ? Json::parse(*answer) : Result<Json>(Json());
    return parsed ? std::move(*parsed) : Json();
  }
  template <class T>
  static void refused(const Result<T>& answer, ErrorKind kind, int code) {
    ASSERT_FALSE(answer) << "it was done";
    EXPECT_EQ(to_string(answer.error().kind), to_string(kind)) << answer.error().message;
    EXPECT_EQ(answer.error().code, code) << answer.error().message;
  }
  static std::string uid(const Json& object) { return std::string(object.text_at("metadata", "uid")); }
  static std::string revision(const Json& object) { return std::string(object.text_at("metadata", "resourceVersion")); }

  static std::string map(std::string_view name) {
    return cat(R"({"metadata":{"name":")", name, R"("},"data":{"v":"1"}})");
  }
  // A running and ready pod, as a kubelet reports it.
  Json running_pod(std::string_view name) {
    const Json made =
        must(create(kube::kPods, cat(R"({"metadata":{"name":")", name, R"(","labels":{"app":"x"}},)",
                                     R"("spec":{"containers":[{"name":"main","image":"example/main:1"}]}})")));
    must(patch(kube::kPods, name, PatchType::kStrategicMerge,
               R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})", "status"));
    return made;
  }

  const base::SystemClock clock_;
  const base::Log log_{clock_, {.write = [](std::string_view) {}}};
  net::EventLoop loop_{clock_};
  std::unique_ptr<MemoryServer> memory_;
  ToolClient real_;
  kube::Client* client_ = nullptr;
  std::string ns_;
};

TEST_P(ClientVerbs, CreatesReadsPatchesAndRemoves) {
  const Json made = must(create(kube::kConfigMaps, map("a")));
  refused(create(kube::kConfigMaps, map("a")), ErrorKind::kAlreadyExists, 409);
  refused(create(kube::kConfigMaps, map("A_b")), ErrorKind::kInvalid, 422);
  EXPECT_EQ(must(get(kube::kConfigMaps, "a")), made);
  refused(get(kube::kConfigMaps, "b"), ErrorKind::kNotFound, 404);

  must(create(kube::kConfigMaps, map("dry"), true));
  refused(get(kube::kConfigMaps, "dry"), ErrorKind::kNotFound, 404);
  must(patch(kube::kConfigMaps, "a", PatchType::kMerge, R"({"data":{"v":"dry"}})", "", true));
  EXPECT_EQ(must(get(kube::kConfigMaps, "a")).text_at("data", "v"), "1");

  const Json merged = must(patch(kube::kConfigMaps, "a", PatchType::kMerge, R"({"data":{"v":"2","w":"3"}})"));
  EXPECT_EQ(merged.text_at("data", "v"), "2");
  const std::string stale = cat(R"({"metadata":{"resourceVersion":")", revision(made), R"("},"data":{"v":"stale"}})");
  refused(patch(kube::kConfigMaps, "a", PatchType::kMerge, stale), ErrorKind::kConflict, 409);
  const Json tested = must(patch(kube::kConfigMaps, "a", PatchType::kJson,
                                 R"([{"op":"test","path":"/data/v","value":"2"},{"op":"remove","path":"/data/w"}])"));
  EXPECT_EQ(tested.at("data", "w"), nullptr);
  refused(patch(kube::kConfigMaps, "a", PatchType::kJson, R"([{"op":"test","path":"/data/v","value":"9"}])"),
          ErrorKind::kInvalid, 422);
  refused(patch(kube::kConfigMaps, "b", PatchType::kMerge, R"({"data":{}})"), ErrorKind::kNotFound, 404);

  refused(remove(kube::kConfigMaps, "a", "00000000-0000-0000-0000-000000000000"), ErrorKind::kConflict, 409);
  EXPECT_EQ(uid(must(get(kube::kConfigMaps, "a"))), uid(made))
      << "a delete of another incarnation does not delete this one";
  EXPECT_TRUE(remove(kube::kConfigMaps, "a", uid(made)));
  refused(get(kube::kConfigMaps, "a"), ErrorKind::kNotFound, 404);
  refused(remove(kube::kConfigMaps, "a"), ErrorKind::kNotFound, 404);
}

TEST_P(ClientVerbs, ListsInPagesAndWatchesFromThere) {
  for (int i = 0; i < 5; ++i) must(create(kube::kConfigMaps, map(cat("m", i))));
  must(patch(kube::kConfigMaps, "m3", PatchType::kMerge, R"({"metadata":{"labels":{"l":"x"}}})"));
  std::vector<std::string> names;
  int pages = 0;
  const auto list = [&](kube::ListOptions options) {
    names.clear();
    pages = 0;
    options.ns = ns_;
    return run(client_->list(
        kube::kConfigMaps, options,
        [&](std::string_view page) -> Result<void> {
          ++pages;
          TM_TRY(const Json tree, Json::parse(page));
          for (const Json& item : tree.at("items")->as_array()) names.emplace_back(item.text_at("metadata", "name"));
          return {};
        },
        [&] { names.clear(); }, kLimit));
  };
  kube::ListOptions labelled;
  labelled.label_selector = "l=x";
  ASSERT_TRUE(list(labelled));
  EXPECT_EQ(names, std::vector<std::string>{"m3"});
  kube::ListOptions field;
  field.field_selector = "metadata.name=m4";
  ASSERT_TRUE(list(field));
  EXPECT_EQ(names, std::vector<std::string>{"m4"});
  kube::ListOptions paged;
  paged.page_size = 2;
  const auto at = list(paged);
  ASSERT_TRUE(at) << at.error().message;
  EXPECT_EQ(names, (std::vector<std::string>{"m0", "m1", "m2", "m3", "m4"}));
  EXPECT_EQ(pages, 3);

  kube::WatchOptions options;
  options.ns = ns_;
  options.resource_version = *at;
  auto stream = run(client_->watch(kube::kConfigMaps, options));
  ASSERT_TRUE(stream) << stream.error().message;
  must(create(kube::kConfigMaps, map("n")));
  must(patch(kube::kConfigMaps, "n", PatchType::kMerge, R"({"data":{"v":"2"}})"));
  ASSERT_TRUE(remove(kube::kConfigMaps, "n"));
  for (const kube::EventType wanted :
       {kube::EventType::kAdded, kube::EventType::kModified, kube::EventType::kDeleted}) {
    auto event = run((*stream)->next());
    ASSERT_TRUE(event && *event) << "the watch ended";
    EXPECT_EQ((*event)->type, wanted);
    const auto object = Json::parse((*event)->object);
    ASSERT_TRUE(object);
    EXPECT_EQ(object->text_at("metadata", "name"), "n");
  }
}

TEST_P(ClientVerbs, PatchesStatusApartFromSpec) {
  running_pod("p");
  const Json pod = must(patch(kube::kPods, "p", PatchType::kStrategicMerge,
                              R"({"metadata":{"labels":{"more":"y"}},"status":{"phase":"Failed"},)"
                              R"("spec":{"containers":[{"name":"main","image":"example/main:2"}]}})"));
  EXPECT_EQ(pod.text_at("status", "phase"), "Running") << "a patch of the pod does not change its status";
  EXPECT_EQ(pod.at("spec", "containers")->as_array()[0].text_at("image"), "example/main:2");
  EXPECT_EQ(pod.text_at("metadata", "labels", "app"), "x");
  const Json after = must(patch(kube::kPods, "p", PatchType::kMerge, R"({"status":{"message":"m"}})", "status"));
  EXPECT_EQ(after.text_at("status", "message"), "m");
  EXPECT_TRUE(run(kube::evict_pod(*client_, ns_, "p", {.grace_period_s = 0}, kLimit)));
}

TEST_P(ClientVerbs, BindsAPodOnce) {
  const Json pod = running_pod("p");
  refused(run(kube::bind_pod(*client_, ns_, "p", "00000000-0000-0000-0000-000000000000", "n1", kLimit)),
          ErrorKind::kConflict, 409);
  const auto bound = run(kube::bind_pod(*client_, ns_, "p", uid(pod), "n1", kLimit));
  EXPECT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(must(get(kube::kPods, "p")).text_at("spec", "nodeName"), "n1");
  refused(run(kube::bind_pod(*client_, ns_, "p", uid(pod), "n2", kLimit)), ErrorKind::kConflict, 409);
  EXPECT_EQ(must(get(kube::kPods, "p")).text_at("spec", "nodeName"), "n1");
  refused(run(kube::bind_pod(*client_, ns_, "gone", "", "n1", kLimit)), ErrorKind::kNotFound, 404);
  EXPECT_TRUE(run(kube::evict_pod(*client_, ns_, "p", {.grace_period_s = 0}, kLimit)));
}

TEST_P(ClientVerbs, EvictsAsTheDisruptionBudgetAllows) {
  const Json pod = running_pod("p");
  must(create(kBudgets,
              R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}})"));
  const auto allow = [&](int disruptions) {
    must(patch(kBudgets, "b", PatchType::kMerge,
               cat(R"({"status":{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2,)",
                   R"("disruptionsAllowed":)", disruptions, "}}"),
               "status"));
  };
  allow(0);
  refused(run(kube::evict_pod(*client_, ns_, "p", {.grace_period_s = 0, .uid = uid(pod)}, kLimit)),
          ErrorKind::kExhausted, 429);
  EXPECT_EQ(must(get(kube::kPods, "p")).at("metadata", "deletionTimestamp"), nullptr)
      << "the refused eviction happened";
  allow(1);
  EXPECT_TRUE(
      run(kube::evict_pod(*client_, ns_, "p", {.grace_period_s = 0, .uid = uid(pod), .dry_run = true}, kLimit)));
  EXPECT_EQ(uid(must(get(kube::kPods, "p"))), uid(pod));
  const auto evicted = run(kube::evict_pod(*client_, ns_, "p", {.grace_period_s = 0, .uid = uid(pod)}, kLimit));
  EXPECT_TRUE(evicted) << evicted.error().message;
  refused(get(kube::kPods, "p"), ErrorKind::kNotFound, 404);
  const Json budget = must(get(kBudgets, "b"));
  EXPECT_EQ(budget.at("status", "disruptionsAllowed")->as_int(), 0);
  EXPECT_NE(budget.at("status", "disruptedPods", "p"), nullptr);
  refused(run(kube::evict_pod(*client_, ns_, "p", {}, kLimit)), ErrorKind::kNotFound, 404);
}

INSTANTIATE_TEST_SUITE_P(Servers, ClientVerbs, ::testing::Values("real", "memory"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tidemark::tests
