// The API server answers no request, or accepts no write, for longer than an offer is held without reports; against the
// one in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "manager/capacity/no_reports.h"
#include "manager/testing/cluster.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

class OutageTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json config = name_only("tidemark-config");
    config["data"] = Json::object({{"config.yaml",
                                    "{schema: 1, mode: enforce, profile: tidemark, motion: {deadBandPermille: 0, "
                                    "hold: 30m, decayStep: 5m, decaySteps: 2}}"}});
    must("POST", testing::kConfigPath, config);
    node("n1");
  }
  // A node that offers 17200 of its 32 cores; it grew by 3200 a minute.
  void begin(bool elect) {
    start("one", elect);
    for (int report = 0; report < 14; ++report) {
      metric("n1", "2");
      run_for(30s);
    }
    ASSERT_EQ(offered("n1"), "17200");
  }
};

TEST_F(OutageTest, OffersStayUnchangedAfterAnApiOutage) {
  begin(false);
  outage(Answers::kNone, 2h);
  run_for(10min);
  EXPECT_EQ(offered("n1"), "17200") << "no node was silent: none could be heard";
  metric("n1", "3");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "16200") << "and its next report counts as any other";
}

TEST_F(OutageTest, NodeThatStaysSilentDecaysFromTheEndOfTheOutage) {
  begin(false);
  outage(Answers::kNone, 2h);
  run_for(10min);
  ASSERT_EQ(offered("n1"), "17200");
  run_for(40min);
  EXPECT_EQ(offered("n1"), "0");
}

TEST_F(OutageTest, ServerWithoutWritesCannotReceiveReports) {
  begin(true);
  outage(Answers::kReads, 2h);
  run_for(10min);
  EXPECT_EQ(offered("n1"), "17200") << "our lease was not taken either";
  metric("n1", "3");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "16200");
  run_for(50min);
  EXPECT_EQ(offered("n1"), "0") << "silent when it could have reported";
}

TEST_F(OutageTest, OutageWithBothSignsCountsOnce) {
  begin(true);
  outage(Answers::kNone, 25min);
  ASSERT_EQ(offered("n1"), "17200");
  run_for(34min);
  EXPECT_NE(offered("n1"), "17200") << "it was silent for longer than 30 minutes in which it could be heard";
}

class NoReportsTest : public ::testing::Test {
 protected:
  kube::Unheard look(base::Duration now, kube::Unheard reads, kube::Unheard lease) {
    return signs.look(base::MonotonicTime{now}, reads, lease);
  }
  NoReports signs;
};

TEST_F(NoReportsTest, LongerOfTwoSignsCounts) {
  EXPECT_EQ(look(0s, {}, {}).total, 0s);
  EXPECT_EQ(look(1min, {}, {20s, true}).total, 20s) << "the lease is noticed first";
  auto both = look(4min, {3min, true}, {2min, true});
  EXPECT_EQ(both.total, 3min);
  EXPECT_TRUE(both.lasts);
  EXPECT_EQ(look(6min, {3min, false}, {4min, true}).total, 4min);
  both = look(7min, {3min, false}, {5min, false});
  EXPECT_EQ(both.total, 5min);
  EXPECT_FALSE(both.lasts);
  EXPECT_EQ(look(11min, {3min, false}, {5min, false}).total, 5min);
  EXPECT_EQ(look(12min, {4min, true}, {5min, false}).total, 6min) << "another one";
}

TEST_F(NoReportsTest, OutageWithConsecutiveSignsCountsOnce) {
  look(0s, {}, {});
  EXPECT_EQ(look(1min, {}, {1min, true}).total, 1min);
  EXPECT_EQ(look(70s, {}, {1min, false}).total, 1min);
  EXPECT_EQ(look(90s, {90s, true}, {1min, false}).total, 90s) << "the watch was cut off as well, and is noticed now";
}

TEST_F(NoReportsTest, UnrenewedLeaseIsNoSignWhileReportsArrive) {
  look(0s, {}, {});
  EXPECT_EQ(look(1min, {}, {1min, true}).total, 1min);
  for (auto now = 70s; now < 10min; now += 10s) {
    signs.came();
    const auto seen = look(now, {}, {now, true});
    EXPECT_EQ(seen.total, 1min);
    EXPECT_FALSE(seen.lasts);
  }
  EXPECT_EQ(look(11min, {}, {11min, true}).total, 1min + 70s) << "and one again when none comes any more";
}

}  // namespace
}  // namespace tidemark::manager
