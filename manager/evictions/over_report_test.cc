// While too many tasks of a pool are evicted it tells no more than there is: Evictions that flow, on a cluster in
// memory.
#include <gtest/gtest.h>

#include "base/text.h"
#include "manager/testing/evictions.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::EvictingCluster;
using testing::kConfigPath;

class OverReportTest : public EvictingCluster {
 protected:
  void over_reporting(std::string_view kubernetes) {
    Json map = name_only("tidemark-config");
    map["data"] = Json::object(
        {{"config.yaml", Json(cat("{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {breaker: {watched: "
                                  "false}}, ledger: {kubernetes: ",
                                  kubernetes, "}}"))}});
    must("POST", kConfigPath, map);
  }
  void evict_one() {
    const std::string name = cat("victim-", victims_++);
    pod(name, "n2", "1000", name);
    kubelet_evicts(name);
    run_for(6s);
  }
  void minutes_pass(int minutes) {
    for (int i = 0; i < minutes; ++i) {
      run_for(1min);
      for (const char* name : {"n1", "n2"}) metric(name, "4");
    }
    run_for(6s);
  }
  // 15.2 cores are real, and 1.5 times that is offered.
  void falls_back_and_returns() {
    auto& manager = start();
    const auto given_up = [&] { return manager.metric("tidemark_pool_over_report_given_up{pool=\"default\"}"); };
    tells("n1", 0, 198);
    evict_one();
    evict_one();
    EXPECT_EQ(offered("n1"), "22800") << "2 of 200 are not more than 1 %";
    EXPECT_EQ(given_up(), 0);
    evict_one();
    EXPECT_EQ(offered("n1"), "15200") << "3 of 201 are";
    EXPECT_EQ(given_up(), 1);
    tells("n1", 0, 300);
    run_for(6s);
    minutes_pass(65);
    EXPECT_EQ(offered("n1"), "15200") << "3 of 501: no more, and not calm";
    tells("n1", 0, 200);
    minutes_pass(58);
    EXPECT_EQ(offered("n1"), "15200") << "3 of 701 are less than 0.5 %, for not quite an hour";
    minutes_pass(3);
    EXPECT_EQ(offered("n1"), "22800");
    EXPECT_EQ(given_up(), 0);
  }
  int victims_ = 0;
};

TEST_F(OverReportTest, StopsAboveOnePercentEvictionsAndReturnsAfterACalmHour) {
  over_reporting("{overReport: {cpuPercent: 150}}");
  falls_back_and_returns();
}

TEST_F(OverReportTest, OverReportOfACalendarEntryStopsToo) {
  over_reporting("{overReport: {entries: [{cpuPercent: 150}]}}");
  falls_back_and_returns();
}

}  // namespace
}  // namespace tidemark::manager
