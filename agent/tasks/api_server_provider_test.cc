#include "agent/tasks/api_server_provider.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/testing/node.h"
#include "base/json.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPodsPath = "/api/v1/namespaces/default/pods";

// Refuses every request while closed, and breaks open watches.
class Gate final : public net::HttpTransport {
 public:
  explicit Gate(net::HttpTransport& behind) : behind_(behind) {}
  bool closed = false;
  bool forgetful = false;  // the next watch fails because its revision is too old

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    if (closed) co_return fail(ErrorKind::kUnavailable, "connection refused");
    co_return co_await behind_.fetch(std::move(request), limit);
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    if (closed) co_return fail(ErrorKind::kUnavailable, "connection refused");
    if (std::exchange(forgetful, false)) co_return fail(ErrorKind::kGone, "too old resource version");
    auto stream = co_await behind_.open(std::move(request), limit);
    if (!stream) co_return stream;
    co_return std::make_unique<Stream>(*this, *std::move(stream));
  }

 private:
  class Stream final : public net::HttpStream {
   public:
    Stream(Gate& gate, std::unique_ptr<net::HttpStream> behind) : gate_(gate), behind_(std::move(behind)) {}
    const net::HttpResponseHead& head() const override { return behind_->head(); }
    net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
      auto piece = co_await behind_->read(limit);
      if (gate_.closed) co_return fail(ErrorKind::kUnavailable, "connection reset");
      co_return piece;
    }

   private:
    Gate& gate_;
    std::unique_ptr<net::HttpStream> behind_;
  };

  net::HttpTransport& behind_;
};

struct ApiServerProviderTest : testing::NodeTest {
  ApiServerProviderTest() {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    gate = std::make_unique<Gate>(*admin);
    client = std::make_unique<kube::Client>(
        loop, *gate, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
    make_levels();
  }
  ~ApiServerProviderTest() override { scope.clear(); }

  void begin() {
    ApiServerProviderConfig config;
    config.node_name = "n1";
    provider = std::make_unique<ApiServerProvider>(
        kube::InformerParts{loop, *client, *client, log, metrics, base::Random(2)}, *groups, config);
    scope.spawn(groups->run());
    scope.spawn(provider->run());
    run_for(100ms);
  }
  // Answers the uid.
  std::string create(std::string_view name, std::string_view node, std::string_view meta = "") {
    net::HttpRequest request;
    request.method = "POST";
    request.target = kPodsPath;
    request.headers.add("content-type", "application/json");
    request.body = base::cat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name, R"(")", meta,
                             R"(},"spec":{"nodeName":")", node, R"(","containers":[{"name":"c","image":"i"}]}})");
    auto response = net::testing::run_task(loop, clock, admin->fetch(std::move(request), 10s));
    if (!response || response->status != 201) {
      ADD_FAILURE() << (response ? response->body : response.error().message);
      return {};
    }
    run_for(100ms);
    return std::string(Json::parse(response->body)->text_at("metadata", "uid"));
  }
  void remove_pod(std::string_view name) {
    net::HttpRequest request;
    request.method = "DELETE";
    request.target = base::cat(kPodsPath, "/", name, "?gracePeriodSeconds=0");
    const auto response = net::testing::run_task(loop, clock, admin->fetch(std::move(request), 10s));
    ASSERT_TRUE(response && response->status == 200);
    run_for(100ms);
  }
  std::string names() {
    std::vector<std::string> found;
    for (const TaskPointer& task : provider->provided().tasks) found.push_back(task->name);
    std::ranges::sort(found);
    return base::join(found, " ");
  }

  base::Registry metrics;
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<ApiServerProvider> provider;
};

TEST_F(ApiServerProviderTest, FollowsThePodsOfThisNode) {
  create("here", "n1");
  create("elsewhere", "n2");
  begin();
  EXPECT_EQ(provider->provided().state, ProviderState::kCurrent);
  EXPECT_EQ(names(), "here");
  EXPECT_EQ(provider->provided().tasks.at(0)->provider, model::TaskProviderKind::kApiServer);
  const std::string uid = create("later", "n1");
  EXPECT_EQ(names(), "here later");
  EXPECT_EQ(provider->provided().tasks.size(), 2u);
  remove_pod("here");
  ASSERT_EQ(names(), "later");
  EXPECT_EQ(provider->provided().tasks[0]->identity.task, uid);
}

TEST_F(ApiServerProviderTest, ANodeWithoutPodsHasNone) {
  begin();
  EXPECT_EQ(provider->provided().state, ProviderState::kCurrent);
  EXPECT_EQ(names(), "");
}

TEST_F(ApiServerProviderTest, PodsHaveTheirGroups) {
  begin();
  const std::string uid = create("a", "n1");
  EXPECT_EQ(provider->provided().tasks.at(0)->path, "");
  make(base::cat("besteffort/pod", uid, "/c1"));
  run_for(0s);
  EXPECT_EQ(provider->provided().tasks.at(0)->path, base::cat("kubepods/besteffort/pod", uid));
}

// Its group is named after the pod that it mirrors.
TEST_F(ApiServerProviderTest, AMirrorHasTheGroupOfItsStaticPod) {
  make("burstable/podfeed");
  begin();
  create("static-n1", "n1",
         R"(,"annotations":{"kubernetes.io/config.hash":"feed","kubernetes.io/config.mirror":"feed"})");
  EXPECT_EQ(provider->provided().tasks.at(0)->path, "kubepods/burstable/podfeed");
  EXPECT_TRUE(provider->provided().tasks.at(0)->fixed);
}

TEST_F(ApiServerProviderTest, HoldsLastPodsWithoutApiServer) {
  create("a", "n1");
  begin();
  const auto change = provider->provided().change;
  gate->closed = true;
  run_for(4min);
  EXPECT_EQ(provider->provided().state, ProviderState::kCurrent);
  EXPECT_EQ(provider->provided().change, change);
  run_for(8min);  // the watch that was open may be silent for two
  EXPECT_EQ(provider->provided().state, ProviderState::kHeld);
  EXPECT_EQ(names(), "a");
  gate->closed = false;
  run_for(1min);
  EXPECT_EQ(provider->provided().state, ProviderState::kCurrent);
}

// Whose word it is that a pod is gone: a watch tells of a deletion, a list out of an old cache may lack what runs.
TEST_F(ApiServerProviderTest, DeletedPodIsGoneEvenWithGroup) {
  const std::string uid = create("a", "n1");
  make(base::cat("besteffort/pod", uid));
  begin();
  ASSERT_EQ(names(), "a");
  remove_pod("a");
  EXPECT_EQ(names(), "");
}

TEST_F(ApiServerProviderTest, UnlistedPodStaysAWhileWithItsGroup) {
  const std::string uid = create("a", "n1");
  create("without-a-group", "n1");
  make(base::cat("besteffort/pod", uid));
  begin();
  ASSERT_EQ(names(), "a without-a-group");
  gate->closed = true;
  run_for(3min);  // until the watch that was open is broken
  remove_pod("a");
  remove_pod("without-a-group");
  gate->forgetful = true;
  gate->closed = false;
  run_for(1min);
  EXPECT_EQ(names(), "a");
  EXPECT_EQ(provider->provided().unconfirmed, 1u);
  run_for(kUnconfirmedFor);
  EXPECT_EQ(names(), "");
}

TEST_F(ApiServerProviderTest, NothingIsKnownBeforeFirstList) {
  gate->closed = true;
  begin();
  run_for(10min);
  EXPECT_EQ(provider->provided().state, ProviderState::kWaiting);
  gate->closed = false;
  create("a", "n1");
  run_for(1min);
  EXPECT_EQ(names(), "a");
}

}  // namespace
}  // namespace tidemark::agent
