// Numbers equal to the peer's, to the unit: 24 nodes that its manager judged on a real API server.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/json.h"
#include "model/annotations.h"
#include "model/names.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/sell/testing/golden_node.h"

namespace tidemark::policy::sell {
namespace {

using testing::as_written;

const base::WallTime kGoldenNow{std::chrono::hours(24 * 365 * 56)};

model::NodeSnapshot snapshot_of(const Json& node) {
  model::NodeSnapshot snapshot = testing::golden_node(node);
  snapshot.name = node.text_at("node");
  for (const Json& item : node.at("pods")->as_array()) snapshot.pods.push_back(testing::golden_pod("default", item));
  const std::chrono::seconds age(*node.at("metricAgeSeconds")->get_int());
  snapshot.metric = testing::golden_metric(*node.at("nodeMetricStatus"), kGoldenNow + -age);
  return snapshot;
}

// By amount, because a quantity may be written in several ways ("12k" is "12000").
void expect_amount(const std::string& ours, std::string_view theirs, const std::string& what) {
  if (ours.empty() || theirs.empty()) {
    EXPECT_EQ(ours, theirs) << what;
    return;
  }
  EXPECT_EQ(model::Quantity::parse(ours)->canonical(), model::Quantity::parse(theirs)->canonical()) << what;
  EXPECT_EQ(*model::Quantity::parse(ours), *model::Quantity::parse(theirs)) << what;
}

TEST(Golden, MatchesKoordinatorOnEveryNode) {
  const Json cases = testing::golden_overcommit("cases.json");
  const Json expected = testing::golden_overcommit("expected.json");
  const auto config = parse_colocation_config(cases.at("colocation-config")->dump());
  ASSERT_TRUE(config.has_value());
  ASSERT_EQ(cases.at("cases")->as_array().size(), 24U);

  for (const Json& node : cases.at("cases")->as_array()) {
    const model::NodeSnapshot snapshot = snapshot_of(node);
    const auto strategy = strategy_for(*config, testing::golden_labels(node),
                                       testing::golden_annotation(node, model::kColocationStrategyAnnotation));

    const auto plan = overcommit(snapshot, strategy, kGoldenNow);

    const Json* allocatable = expected.at(snapshot.name, "allocatable");
    ASSERT_NE(allocatable, nullptr) << snapshot.name;
    expect_amount(as_written(plan.publish.batch_cpu), allocatable->text_at(model::kBatchCpu),
                  snapshot.name + " batch-cpu");
    expect_amount(as_written(plan.publish.batch_memory), allocatable->text_at(model::kBatchMemory),
                  snapshot.name + " batch-memory");
    expect_amount(as_written(plan.publish.mid_cpu), allocatable->text_at(model::kMidCpu), snapshot.name + " mid-cpu");
    expect_amount(as_written(plan.publish.mid_memory), allocatable->text_at(model::kMidMemory),
                  snapshot.name + " mid-memory");

    ASSERT_TRUE(plan.origin.has_value()) << snapshot.name;
    EXPECT_EQ(*Json::parse(model::format_origin(*plan.origin))->at("resources"), *expected.at(snapshot.name, "origin"))
        << snapshot.name;
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
