// The queue for the write budget, and growth that is not written; against the API server in memory, under simulated
// time.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

class LineTest : public testing::InMemoryCluster {
 protected:
  static constexpr int kNodes = 300, kLast = kNodes - 1;
  static std::string name(int i) { return base::cat("n", i); }

  // A manager, and nodes that offer 7200.
  void begin(const net::HttpHandler& handler) {
    for (int i = 0; i < kNodes; ++i) {
      node(name(i));
      metric(name(i), "12");
    }
    begin_manager(handler);
    run_for(30s);
    ASSERT_EQ(offered(name(kLast)), "7200");
  }
  void begin_manager(const net::HttpHandler& handler) {
    ManagerOptions options;
    options.leader_elect = false;
    options.queries_per_second = 30;  // as the client of a Replica
    options.query_burst = 50;
    replicas.push_back(std::make_unique<testing::Replica>(loop, handler, log, "one", 100, options));
  }
  int all_grow_and_the_last_is_cut(base::Duration meanwhile);
  int grown() {
    int count = 0;
    for (int i = 0; i < kNodes; ++i) count += offered(name(i)) == "17200" ? 1 : 0;
    return count;
  }
  std::int64_t offered_milli() { return *base::parse_int(offered("n1")); }
};

// The last of many that want to grow is cut instead, after `meanwhile`. Answers how many have grown by then.
int LineTest::all_grow_and_the_last_is_cut(base::Duration meanwhile) {
  for (int i = 0; i < kNodes; ++i) metric(name(i), "2");
  run_for(meanwhile);
  metric(name(kLast), "15");
  return grown();
}

TEST_F(LineTest, CutDoesNotWaitBehindGrowth) {
  begin(server->handler());
  all_grow_and_the_last_is_cut(100ms);
  run_for(1s);
  EXPECT_EQ(offered(name(kLast)), "4200");
  EXPECT_LT(grown(), kNodes / 2) << "the budget was not used up: the test proves nothing";
  run_for(15s);
  EXPECT_EQ(grown(), kNodes - 1);
}

// Places come faster than they are used up there.
TEST_F(LineTest, CutDoesNotWaitBehindGrowthOnASlowServer) {
  const net::HttpHandler inner = server->handler();
  bool is_slow = false;
  begin([&](net::HttpExchange& exchange) -> net::Task<void> {
    if (is_slow && exchange.head().method == "PATCH") co_await loop.sleep(500ms);
    co_await inner(exchange);
  });
  is_slow = true;
  EXPECT_LT(all_grow_and_the_last_is_cut(10s), kNodes / 2) << "the server was not slow: the test proves nothing";
  run_for(4s);
  EXPECT_EQ(offered(name(kLast)), "4200");
  run_for(1min);
  EXPECT_EQ(grown(), kNodes - 1);
}

// 3.2 of 32 cores a minute, and what two minutes give at most at once: after one minute no more than three give.
TEST_F(LineTest, LongRefusedGrowthComesInSteps) {
  constexpr std::int64_t kThreeMinutes = 9600;
  Json config = name_only("tidemark-config");
  config["data"] = Json::object({{"config.yaml", "{schema: 1, mode: enforce, profile: tidemark}"}});
  must("POST", testing::kConfigPath, config);
  node("n1");
  metric("n1", "17");
  bool refuses = false;
  const net::HttpHandler inner = server->handler();
  const net::HttpHandler handler = [&](net::HttpExchange& exchange) -> net::Task<void> {
    const bool status =
        exchange.head().method == "PATCH" && exchange.head().target.starts_with("/api/v1/nodes/n1/status");
    if (!refuses || !status) co_return co_await inner(exchange);
    exchange.respond(403, "application/json", R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})");
  };
  begin_manager(handler);
  const auto reports = [&](std::string_view cores) {  // of an agent that is seen to live
    metric("n1", cores);
    run_for(30s);
    metric("n1", base::cat(cores, "1"));
    run_for(30s);
  };
  reports("17.00");
  const std::int64_t before = offered_milli();
  ASSERT_LT(before, 2300);
  refuses = true;
  for (int minute = 0; minute < 10; ++minute) reports("2.00");
  ASSERT_EQ(offered_milli(), before);
  refuses = false;
  reports("2.00");
  EXPECT_GT(offered_milli(), before);
  EXPECT_LE(offered_milli(), before + kThreeMinutes);
  for (int minute = 0; minute < 10; ++minute) reports("2.00");
  EXPECT_GT(offered_milli(), 16'500) << "and goes on until it is there";
}

}  // namespace
}  // namespace tidemark::manager
