#include "policy/sell/nodemetric.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tidemark::policy::sell {
namespace {

using model::Label;
using model::Reason;

// Contract 3.1: 300 s, 60 s, 5m/10m/30m, usageWithoutPageCache.
constexpr std::string_view kDefaults =
    R"({"metricCollectPolicy":{"aggregateDurationSeconds":300,"reportIntervalSeconds":60,)"
    R"("nodeAggregatePolicy":{"durations":["5m0s","10m0s","30m0s"]},)"
    R"("nodeMemoryCollectPolicy":"usageWithoutPageCache"}})";

CollectPlan plan(std::string_view text, std::string pool = "", std::optional<std::string_view> annotation = {}) {
  const auto config = parse_colocation_config(text);
  EXPECT_TRUE(config.has_value()) << text;
  const std::array labels{Label{"pool", std::move(pool)}};
  return collect_policy(strategy_for(*config, labels, annotation));
}

TEST(Collect, FollowsTheStrategy) {
  const auto found = plan(R"({"enable":true,"metricAggregateDurationSeconds":120,"metricReportIntervalSeconds":30,
      "metricAggregatePolicy":{"durations":["1m","1h30m"]},"metricMemoryCollectPolicy":"usageWithPageCache"})");
  EXPECT_EQ(found.reason, Reason::kCollectFromStrategy);
  EXPECT_EQ(collect_spec_json(found.policy),
            R"({"metricCollectPolicy":{"aggregateDurationSeconds":120,"reportIntervalSeconds":30,)"
            R"("nodeAggregatePolicy":{"durations":["1m0s","1h30m0s"]},)"
            R"("nodeMemoryCollectPolicy":"usageWithPageCache"}})");
}

// Contract 5.8: on a disabled strategy the defaults, so that nodes keep reporting. Contract 4.1: the node's own switch
// counts.
TEST(Collect, UsesDefaultsIfOffForTheNode) {
  const auto off = plan(R"({"metricReportIntervalSeconds":30})");
  EXPECT_EQ(off.reason, Reason::kCollectDisabled);
  EXPECT_EQ(collect_spec_json(off.policy), kDefaults);

  constexpr std::string_view kPools = R"({"metricReportIntervalSeconds":30,"nodeConfigs":[
      {"nodeSelector":{"matchLabels":{"pool":"on"}},"enable":true}]})";
  EXPECT_EQ(plan(kPools, "on").policy.report_interval_s, 30);
  EXPECT_EQ(plan(kPools, "other").policy.report_interval_s, 60);
  EXPECT_EQ(plan(kPools, "on", R"({"enable":false})").reason, Reason::kCollectDisabled);
}

// Contract 5.8: an invalid strategy means the defaults. Only an annotation can be invalid: its ranges are not checked.
TEST(Collect, ANodeWhoseOwnSettingsAreOutOfRangeReportsByTheDefaults) {
  const auto invalid =
      plan(R"({"enable":true,"metricReportIntervalSeconds":30})", "", R"({"metricReportIntervalSeconds":0})");
  EXPECT_EQ(invalid.reason, Reason::kCollectInvalid);
  EXPECT_EQ(invalid.problem, "metricReportIntervalSeconds: must be at least 1, found 0");
  EXPECT_EQ(collect_spec_json(invalid.policy), kDefaults);
  EXPECT_EQ(plan(R"({"enable":true})", "", R"({"metricReportIntervalSeconds":10})").policy.report_interval_s, 10);
}

}  // namespace
}  // namespace tidemark::policy::sell
