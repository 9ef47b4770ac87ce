#include "manager/capacity/capacity_due.h"

#include <gtest/gtest.h>

namespace tidemark::manager {
namespace {

using std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

// A report that gets old in half a second, and an offer that may grow later.
TEST(CapacityDueTest, LooksAgainWhenTheReportGetsOldEvenWithinASecond) {
  const base::WallTime now{seconds(1'800'000'000)};
  NodeDecision decision;
  decision.offer.strategy.enabled = true;
  decision.offer.strategy.values.update_time_threshold_s = 300;
  decision.offer.strategy.values.degrade_time_minutes = 15;
  decision.snapshot.metric.emplace().update_time = base::WallTime{now.since_epoch - minutes(15) - milliseconds(500)};
  decision.offer.again_after = seconds(10);
  EXPECT_EQ(look_again(decision, now), base::Duration(milliseconds(500)));
  decision.offer.again_after = base::Duration(0);
  EXPECT_EQ(look_again(decision, now), base::Duration(milliseconds(500)));
}

}  // namespace
}  // namespace tidemark::manager
