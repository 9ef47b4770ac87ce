// Quantiles of the API server's answers, of the last minutes alone.
#include "console/request_times.h"

#include <gtest/gtest.h>

#include "kube/client_metrics.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;

const base::WallTime kStart{std::chrono::hours(24 * 365 * 56)};

TEST(RequestTimesTest, QuantilesAreOfTheLastTenMinutes) {
  base::Registry metrics;
  RequestTimes times;
  EXPECT_FALSE(times.found(metrics));
  base::Histogram& get = kube::request_seconds(metrics, "get");
  times.look(metrics, kStart);
  for (int i = 0; i < 98; ++i) get.observe(0.02);
  for (int i = 0; i < 2; ++i) get.observe(0.4);
  auto found = times.found(metrics);
  ASSERT_EQ(found->verbs.size(), 1u) << "verbs without requests are left out";
  EXPECT_EQ(found->verbs[0].requests, 100);
  EXPECT_EQ(found->verbs[0].p50_ms, 25);
  EXPECT_EQ(found->verbs[0].p99_ms, 500);
  for (int minute = 1; minute <= 11; ++minute) times.look(metrics, kStart + minute * 60s);
  found = times.found(metrics);
  EXPECT_EQ(found->since, kStart + 60s);
  EXPECT_TRUE(found->verbs.empty());
  get.observe(100);
  found = times.found(metrics);
  ASSERT_EQ(found->verbs.size(), 1u);
  EXPECT_FALSE(found->verbs[0].p50_ms) << "longer than the largest bound";
}

}  // namespace
}  // namespace tidemark::console
