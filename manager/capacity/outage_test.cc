// The API server is away for longer than an offer is held without reports; against the one in memory, under simulated
// time.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/json.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

class OutageTest : public testing::InMemoryCluster {
 protected:
  // A node that offers 17200 of its 32 cores; it grew by 3200 a minute.
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json config = name_only("tidemark-config");
    config["data"] = Json::object({{"config.yaml",
                                    "{schema: 1, mode: enforce, profile: tidemark, motion: {deadBandPermille: 0, "
                                    "hold: 30m, decayStep: 5m, decaySteps: 2}}"}});
    must("POST", testing::kConfigPath, config);
    node("n1");
    begin_manager();
    for (int report = 0; report < 14; ++report) {
      metric("n1", "2");
      run_for(30s);
    }
    ASSERT_EQ(offered("n1"), "17200");
  }
  void begin_manager() {
    ManagerOptions options;
    options.leader_elect = false;
    const net::HttpHandler inner = server->handler();
    const net::HttpHandler handler = [this, inner](net::HttpExchange& exchange) -> net::Task<void> {
      if (!away_) co_return co_await inner(exchange);
      exchange.respond(503, "application/json", R"({"kind":"Status","code":503,"reason":"ServiceUnavailable"})");
    };
    replicas.push_back(std::make_unique<testing::Replica>(loop, handler, log, "one", 100, options));
  }
  // Watches that are under way go on to their end, some minutes later.
  void be_away(base::Duration time) {
    away_ = true;
    run_for(time);
    away_ = false;
  }

 private:
  bool away_ = false;
};

TEST_F(OutageTest, WhatANodeOffersStandsWhenTheServerComesBack) {
  be_away(2h);
  run_for(10min);
  EXPECT_EQ(offered("n1"), "17200") << "no node was silent: nobody could be heard";
  metric("n1", "3");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "16200") << "and its next report counts as any other";
}

TEST_F(OutageTest, ANodeThatIsSilentAfterItGoesDownFromThere) {
  be_away(2h);
  run_for(10min);
  ASSERT_EQ(offered("n1"), "17200");
  run_for(40min);
  EXPECT_EQ(offered("n1"), "0");
}

}  // namespace
}  // namespace tidemark::manager
