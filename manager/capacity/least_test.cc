// What a node's offer decays toward, learned by a running manager and kept over a restart; under simulated time.
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kConfigPath;

class LeastTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", R"({"schema":1,"mode":"enforce","rollout":{"pace":"at-once"},
      "profile":"tidemark","motion":{"slewPermillePerMinute":1000}})"}});
    must("POST", kConfigPath, map);
    node("n1");
  }
  // One report a minute.
  void report_for(std::string_view cores, base::Duration time) {
    for (base::Duration done{0}; done < time; done += 1min) {
      metric("n1", cores);
      run_for(1min);
    }
  }
  std::int64_t offered_milli() { return base::parse_int(offered("n1")).value_or(-1); }
};

// Time begins at midnight. From one to two the system uses 8 cores at most: 11.2 of the 19.2 under the line are left.
TEST_F(LeastTest, WithoutReportsAnOfferGoesDownToWhatTheNodeCouldGiveAtThatHour) {
  start();
  report_for("2", 60min);
  report_for("8", 2min);
  report_for("2", 60min);
  replicas.clear();
  start("two");
  report_for("2", 23h - 1min);  // until one in the night again, with the hours that a day has learned
  ASSERT_GT(offered_milli(), 15'000);
  run_for(50min);  // the agent is silent: past the hold and the steps, far from being forgotten
  EXPECT_GE(offered_milli(), 11'000) << "not to nothing";
  EXPECT_LE(offered_milli(), 11'200);
  run_for(24h);
  EXPECT_LE(offered_milli(), 0) << "forgotten in the end";
}

TEST_F(LeastTest, OfAnHourThatIsNotKnownAnOfferGoesDownToNothing) {
  start();
  report_for("2", 30min);
  ASSERT_GT(offered_milli(), 15'000);
  run_for(50min);
  EXPECT_LE(offered_milli(), 0);
}

}  // namespace
}  // namespace tidemark::manager
