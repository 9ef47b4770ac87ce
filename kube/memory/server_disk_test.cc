// The server with its file of objects: the loop and the worker that writes, on real threads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/text.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"
#include "net/worker.h"

namespace tidemark::kube::memory {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr int kClients = 8;
constexpr int kWritesEach = 25;

class ServerDiskConcurrentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "tidemark-disk-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    start();
  }
  void TearDown() override {
    transport_.reset();
    server_.reset();
    workers_.reset();
    std::filesystem::remove_all(folder_);
  }
  void start() {
    transport_.reset();
    server_.reset();
    workers_ = std::make_unique<net::WorkerPool>(1, 4);
    ServerConfig config;
    config.data_file = folder_ + "/objects.db";
    auto opened =
        Server::open(loop_, base::Log(clock_, {.write = [](std::string_view) {}}), std::move(config), workers_.get());
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    transport_ = std::make_unique<LocalTransport>(loop_, server_->handler(), "test");
  }
  net::Task<int> send(std::string method, std::string target, std::string body) {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.set("content-type", "application/json");
    auto answer = co_await transport_->fetch(std::move(request), 60s);
    co_return answer ? answer->status : -1;
  }
  net::Task<void> write_many(int client) {
    for (int i = 0; i < kWritesEach; ++i) {
      std::string body = cat(R"({"metadata":{"name":"m-)", client, "-", i, R"("}})");
      const int status = co_await send("POST", kMaps, std::move(body));
      if (status == 201) ++made_;
    }
  }
  std::string folder_;
  base::SystemClock clock_;
  net::EventLoop loop_{clock_};
  std::unique_ptr<net::WorkerPool> workers_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<LocalTransport> transport_;
  int made_ = 0;
};

TEST_F(ServerDiskConcurrentTest, ConcurrentWritesSurviveARestart) {
  {
    net::Scope scope(loop_);
    for (int client = 0; client < kClients; ++client) scope.spawn(write_many(client));
    ASSERT_TRUE(net::testing::run_real_until(loop_, [&] { return scope.running() == 0; }, 5min));
  }
  EXPECT_EQ(made_, kClients * kWritesEach);
  start();
  for (int client = 0; client < kClients; ++client)
    for (int i = 0; i < kWritesEach; ++i)
      ASSERT_EQ(net::testing::run_task(loop_, send("GET", cat(kMaps, "/m-", client, "-", i), "")), 200);
}

TEST_F(ServerDiskConcurrentTest, MayEndDuringAWriteOfTheWorker) {
  for (int life = 0; life < 20; ++life) {
    {
      net::Scope scope(loop_);
      for (int client = 0; client < kClients; ++client)
        scope.spawn([](net::Task<int> task) -> net::Task<void> {
          co_await task;
        }(send("POST", kMaps, cat(R"({"metadata":{"name":"l-)", life, "-", client, R"("}})"))));
      loop_.run_ready();
    }  // the clients are gone, the batch is with the worker
    start();
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_EQ(net::testing::run_task(loop_, send("POST", kMaps, R"({"metadata":{"name":"last"}})")), 201);
}

}  // namespace
}  // namespace tidemark::kube::memory
