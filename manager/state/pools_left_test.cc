// When nodes that are left to another writer speak for their pool, and what becomes of the others; by a running manager
// against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kBatchCpu;

class PoolsLeftTest : public testing::InMemoryCluster {
 protected:
  // Another manager says so many milli-cores; null takes them away.
  void overwrite(std::string_view name, const Json& cpu) {
    const Json amounts = Json::object({{kBatchCpu, cpu}});
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status?fieldManager=koord-manager"),
         Json::object({{"status", Json::object({{"capacity", amounts}, {"allocatable", amounts}})}}), testing::kMerge);
  }
  void fight_over(std::initializer_list<std::string_view> names) {
    for (int i = 0; i < 3; ++i) {
      for (const auto name : names) overwrite(name, Json(base::cat(5001 + i)));
      run_for(2s);
    }
  }
  void fleet(std::initializer_list<std::string_view> names) {
    for (const auto name : names) {
      node(name);
      metric(name, "2");
    }
  }
  std::string why(std::string_view name) {
    const Json read = read_node(name);
    const Json* conditions = read.at("status", "conditions");
    if (conditions == nullptr) return "";
    for (const Json& each : conditions->as_array()) {
      if (each.text_at("type") == model::kStateCondition) return std::string(each.text_at("message"));
    }
    return "";
  }
  double contested() { return replicas.back()->metric(R"(tidemark_manager_contested_nodes{pool="default"})"); }
};

TEST_F(PoolsLeftTest, OtherNodesOfThePoolAreOnlyCut) {
  fleet({"n1", "n2", "n3", "n4"});
  start();
  fight_over({"n1", "n2", "n3"});
  ASSERT_EQ(contested(), 3);
  ASSERT_EQ(offered("n4"), "17200");
  metric("n4", "12");
  run_for(5s);
  EXPECT_EQ(offered("n4"), "7200") << "online work has come, whoever else writes elsewhere";
  EXPECT_TRUE(why("n4").contains("the others are only cut")) << why("n4");
  metric("n4", "2");
  run_for(8min);
  EXPECT_EQ(contested(), 3) << "a cut that stands is no fight";
  EXPECT_EQ(offered("n4"), "7200");
}

TEST_F(PoolsLeftTest, DoesNotRepeatAnOverwrittenCut) {
  fleet({"n1", "n2", "n3", "n4"});
  start();
  fight_over({"n1", "n2", "n3"});
  metric("n4", "12");
  run_for(5s);
  ASSERT_EQ(offered("n4"), "7200");
  overwrite("n4", Json("16001"));
  run_for(5s);
  EXPECT_EQ(offered("n4"), "16001");
  EXPECT_EQ(contested(), 4) << "it is left to the other writer itself";
  metric("n4", "13");
  run_for(5s);
  EXPECT_EQ(offered("n4"), "16001");
}

TEST_F(PoolsLeftTest, ThreeNodesOfALargePoolDoNotStandForIt) {
  for (int i = 0; i < 300; ++i) node(base::cat("other", i));
  fleet({"n1", "n2", "n3", "n4", "n5"});
  start();
  run_for(1min);
  ASSERT_EQ(offered("n4"), "17200");
  fight_over({"n1", "n2", "n3"});
  ASSERT_EQ(contested(), 3);
  metric("n4", "12");
  run_for(5s);
  metric("n4", "2");
  run_for(5s);
  EXPECT_EQ(offered("n4"), "17200") << "it is sold as ever";
  fight_over({"n4"});
  ASSERT_EQ(contested(), 4);
  metric("n5", "12");
  run_for(5s);
  metric("n5", "2");
  run_for(5s);
  EXPECT_EQ(offered("n5"), "7200") << "four of 305 are more than one in a hundred";
}

// Koordinator's manager does so where its own co-location is off: to give the numbers back each time would be a war.
TEST_F(PoolsLeftTest, RepeatedRemovalOfAmountsIsASecondWriter) {
  fleet({"n1"});
  start();
  for (int i = 0; i < 2; ++i) {
    overwrite("n1", nullptr);
    run_for(5s);
    EXPECT_EQ(offered("n1"), "17200") << "an accident is repaired";
  }
  overwrite("n1", nullptr);
  run_for(1min);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_EQ(contested(), 1);
}

}  // namespace
}  // namespace tidemark::manager
