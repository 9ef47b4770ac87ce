#include "policy/route/quota.h"

#include <gtest/gtest.h>

namespace tidemark::policy::route {
namespace {

TEST(Quota, WithoutALimitEveryRunPasses) {
  EXPECT_EQ(limit_at_door({}, {.running = 1000, .queued = 1000, .cores = 1000}, 1000), QuotaLimit::kNone);
  EXPECT_EQ(limit_at_start({}, {.running = 1000, .queued = 1000, .cores = 1000}, 1000), QuotaLimit::kNone);
}

TEST(Quota, AFullQueueRefusesAtTheDoor) {
  const Quota quota{.running = 1, .queued = 2, .cores = {}};
  EXPECT_EQ(limit_at_door(quota, {.running = 9, .queued = 1}, 1), QuotaLimit::kNone);
  EXPECT_EQ(limit_at_door(quota, {.running = 0, .queued = 2}, 1), QuotaLimit::kQueued);
}

TEST(Quota, ARunThatNeverFitsIsRefusedAtTheDoor) {
  const Quota quota{.running = {}, .queued = {}, .cores = 10};
  EXPECT_EQ(limit_at_door(quota, {.running = 5, .queued = 5, .cores = 10}, 10), QuotaLimit::kNone);
  EXPECT_EQ(limit_at_door(quota, {}, 11), QuotaLimit::kCores);
}

TEST(Quota, RunsAndCoresMakeARunWait) {
  const Quota quota{.running = 3, .queued = {}, .cores = 10};
  EXPECT_EQ(limit_at_start(quota, {.running = 2, .queued = 0, .cores = 6}, 4), QuotaLimit::kNone);
  EXPECT_EQ(limit_at_start(quota, {.running = 2, .queued = 0, .cores = 7}, 4), QuotaLimit::kCores);
  EXPECT_EQ(limit_at_start(quota, {.running = 3, .queued = 0, .cores = 0}, 4), QuotaLimit::kRunning);
}

}  // namespace
}  // namespace tidemark::policy::route
