// Ends of YARN's containers, as agents tell them on their nodes: counted once each, and what they stop.
#include <gtest/gtest.h>

#include "base/text.h"
#include "manager/testing/evictions.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::kConfigPath;
using testing::kMerge;

class YarnEndsTest : public testing::EvictingCluster {};

TEST_F(YarnEndsTest, CountsEachYarnTaskReportOnce) {
  tidemark(", classes: [{name: spark, order: 1}]");
  auto& manager = start();
  run_for(1s);
  tells("n1", 0, 12);
  run_for(1min);
  tells("n1", 1, 0, "yarn/application_1_0001");
  run_for(1s);
  metric("n1", "5");  // the node changes, what it tells does not
  must("PATCH", "/api/v1/nodes/n1", *Json::parse(R"({"metadata":{"labels":{"rack":"b"}}})"), kMerge);
  run_for(1s);
  EXPECT_EQ(counted(manager, "finished", "spark"), 12);
  EXPECT_EQ(counted(manager, "agent", "spark"), 1);
  run_for(11min);
  EXPECT_EQ(day(), (policy::evict::Ended{1, 12}));
  const auto map = budgets();
  const auto book = *policy::evict::decode_counts(map->text_at("data", "counts.json"));
  EXPECT_TRUE(book.jobs.contains({"default", "yarn/application_1_0001"}));
  EXPECT_EQ(policy::evict::of_day(book, "default", "spark", clock.wall()), (policy::evict::Ended{1, 12}));

  // Without a manager one more end is reported: one of three entries is new to the next leader.
  replicas.clear();
  run_for(10s);
  tells("n1", 1);
  run_for(10s);
  auto& next = start("two");
  run_for(11min);
  EXPECT_EQ(counted(next, "finished", "spark"), 0);
  EXPECT_EQ(counted(next, "agent", "spark"), 1);
  EXPECT_EQ(day(), (policy::evict::Ended{2, 12}));
}

TEST_F(YarnEndsTest, SpikeOfYarnEvictionsStopsThePool) {
  tidemark();
  auto& manager = start();
  pod("stays", "n1", "3000");
  run_for(1s);
  tells("n2", 3, 7);
  run_for(6s);
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 0) << "three of ten";
  tells("n1", 1, 90);
  run_for(6s);
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 0)
      << "4 of 101: what finished is counted as well";
  tells("n1", 8);
  run_for(6s);
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 1) << "12 of 109";
  EXPECT_EQ(stored().pools[0].breaker.seen, (policy::evict::Ended{12, 97}));
  EXPECT_EQ(offered("n1"), "3k");
}

TEST_F(YarnEndsTest, OrderedYarnEvictionsAreNoSpike) {
  tidemark(", classes: [{name: spark, order: 1}]");
  auto& manager = start();
  run_for(1s);
  must("PATCH", "/api/v1/nodes/n2", *Json::parse(R"({"spec":{"unschedulable":true}})"), kMerge);
  run_for(1s);
  tells("n2", 20);
  run_for(6s);
  EXPECT_EQ(counted(manager, "drained", "spark"), 20);
  EXPECT_EQ(counted(manager, "agent", "spark"), 0);
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 0);
}

TEST_F(YarnEndsTest, NodeBacksOffAfterAYarnEviction) {
  Json map = name_only("tidemark-config");
  map["data"] = Json::object(
      {{"config.yaml", "{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {backOff: 40s}}"}});
  must("POST", kConfigPath, map);
  start();
  pod("stays", "n1", "3000");
  run_for(1s);
  const std::string before = offered("n1");
  EXPECT_NE(before, "3k");
  tells("n1", 0, 5);
  run_for(2s);
  EXPECT_EQ(offered("n1"), before) << "what finished is no reason";
  tells("n1", 1);
  run_for(2s);
  EXPECT_EQ(offered("n1"), "3k");
  EXPECT_EQ(offered("n2"), before) << "only that node";
  run_for(20s);
  replicas.clear();
  start("two");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "3k") << "who leads next goes on";
  run_for(20s);
  EXPECT_EQ(offered("n1"), before);
}

TEST_F(YarnEndsTest, SkipsUnreadableAgentReports) {
  tidemark();
  auto& manager = start();
  run_for(1s);
  must("PATCH", "/api/v1/nodes/n1",
       *Json::parse(R"({"metadata":{"annotations":{"tidemark.io/ended-tasks":"{\"schema\":1,\"ends\":[{}]}"}}})"),
       kMerge);
  run_for(6s);
  EXPECT_EQ(manager.metric("tidemark_ended_tasks_unread_total"), 1);
  tells("n1", 2);
  run_for(1s);
  EXPECT_EQ(counted(manager, "agent", "other"), 2);
}

}  // namespace
}  // namespace tidemark::manager
