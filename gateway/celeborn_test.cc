#include "gateway/celeborn.h"

#include <gtest/gtest.h>

#include "gateway/testing/world.h"
#include "net/http_server.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kWorkers =
    R"({"workers":[{"host":"a","rpcPort":1},{"host":"b","rpcPort":1},{"host":"c","rpcPort":1}],)"
    R"("lostWorkers":[{"worker":{"host":"a","rpcPort":1},"timestamp":5}],"excludedWorkers":[{"host":"b","rpcPort":1}]})";

TEST(CelebornWorkers, LostAndExcludedOnesAreNotUsable) {
  EXPECT_EQ(parse_celeborn_workers(kWorkers)->usable, 1);
  EXPECT_EQ(parse_celeborn_workers(R"({"workers":[]})")->usable, 0);
  EXPECT_FALSE(parse_celeborn_workers("{}"));
}

class CelebornTest : public ::testing::Test, public testing::World {
 protected:
  CelebornTest() {
    net::HttpServerConfig config;
    config.listen = "127.0.0.1:0";
    master = *net::HttpServer::listen(loop, log, std::move(config), [this](net::HttpExchange& e) { return answer(e); });
    service = *Celeborn::make(loop, nullptr, log, {"m:9097", {base::cat("http://", master->address())}, "0.6.1", 2ms},
                              "3.5.9");
    service->start();
  }
  net::Task<void> answer(net::HttpExchange& exchange) {
    exchange.respond(away ? 503 : 200, "application/json", shown);
    co_return;
  }
  bool away = false;
  std::string shown = std::string(kWorkers);
  std::unique_ptr<net::HttpServer> master;
  std::unique_ptr<Celeborn> service;
};

TEST_F(CelebornTest, HealthDecidesWhetherAJobMayGoToKubernetes) {
  EXPECT_FALSE(service->cannot_run(testing::job()).empty()) << "before the first answer";
  EXPECT_TRUE(until([&] { return service->cannot_run(testing::job()).empty(); }));
  shown = R"({"workers":[]})";
  EXPECT_TRUE(until([&] { return service->cannot_run(testing::job()) == "Celeborn has no usable worker"; }));
  shown = kWorkers;
  EXPECT_TRUE(until([&] { return service->cannot_run(testing::job()).empty(); }));
}

TEST_F(CelebornTest, LocalShuffleIsRefused) {
  EXPECT_TRUE(until([&] { return service->cannot_run(testing::job()).empty(); }));
  const std::string why = service->cannot_run(testing::job({{"spark.shuffle.manager", "sort"}}));
  EXPECT_TRUE(why.contains("spark.shuffle.manager=sort")) << why;
}

TEST_F(CelebornTest, RunGoesToYarnWithoutAHealthyServiceAndToKubernetesWithSettings) {
  shown = R"({"workers":[]})";
  kubernetes->use(service.get());
  const auto to_yarn = run(runs->add(testing::job(), ""));
  ASSERT_TRUE(to_yarn);
  EXPECT_TRUE(reaches(to_yarn->record.id, policy::route::Phase::kSubmitted)) << lines;
  EXPECT_EQ(record(to_yarn->record.id).run.attempts.back().side, policy::route::Side::kYarn);
  shown = kWorkers;
  EXPECT_TRUE(until([&] { return service->cannot_run(testing::job()).empty(); }));
  const auto to_kubernetes = run(runs->add(testing::job(), ""));
  EXPECT_TRUE(reaches(to_kubernetes->record.id, policy::route::Phase::kSubmitted)) << lines;
  const auto config = run(client->list(
      kube::kConfigMaps, {},
      [](std::string_view page) -> Result<void> {
        EXPECT_TRUE(page.contains("spark.celeborn.master.endpoints=m\\\\:9097")) << page;
        return {};
      },
      [] {}, 10s));
  EXPECT_TRUE(config);
}

TEST(CelebornOptions, UnfitVersionsAreRefused) {
  base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Log log(clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}});
  EXPECT_FALSE(Celeborn::make(loop, nullptr, log, {"m:9097", {"http://m:9098"}, "0.5.4"}, "3.5.9"));
  EXPECT_FALSE(Celeborn::make(loop, nullptr, log, {"m:9097", {"http://m:9098"}, "0.6.0"}, "2.4.8"));
  EXPECT_FALSE(Celeborn::make(loop, nullptr, log, {"m:9097", {}, "0.6.0"}, "3.5.9"));
}

}  // namespace
}  // namespace tidemark::gateway
