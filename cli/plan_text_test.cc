// The comparison of two sets of settings: the largest change first, sums by pool, and at most the given number of
// lines.
#include "cli/plan_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "operate/plan_json.h"

namespace tidemark::cli {
namespace {

using operate::NodeChange;
using operate::SettingsPlan;

constexpr std::size_t kShown = 20;

SettingsPlan plan_of(std::vector<NodeChange> nodes) {
  SettingsPlan plan;
  plan.nodes = std::move(nodes);
  return plan;
}

NodeChange change(const std::string& node, const std::string& pool, std::int64_t before, std::int64_t after) {
  NodeChange out;
  out.node = node;
  out.before = {before, std::int64_t{4} << 30, 0, 0, model::Reason::kPublished, pool, false};
  out.after = {after, std::int64_t{4} << 30, 0, 0, model::Reason::kPublished, pool, false};
  out.end = out.after;
  return out;
}

TEST(PlanText, ListsLargestChangeFirstAndSumsUnchangedNodes) {
  auto plan = plan_of({change("a", "x", 1000, 1500), change("b", "x", 9000, 2000), change("c", "y", 700, 700)});
  plan.notes = {"a note"};
  EXPECT_EQ(plan_text(plan, kShown),
            "b (x): batch 9.0 -> 2.0 cores, 4.0 GiB [TM-NODE-001]\n"
            "a (x): batch 1.0 -> 1.5 cores, 4.0 GiB [TM-NODE-001]\n"
            "pool x: 2 of 2 nodes change; batch 10.0 -> 3.5 cores, 8.0 GiB; mid 0.0 cores, 0.0 GiB\n"
            "pool y: 0 of 1 nodes change; batch 0.7 cores, 4.0 GiB; mid 0.0 cores, 0.0 GiB\n"
            "all: 2 of 3 nodes change; batch 10.7 -> 4.2 cores, 12.0 GiB; mid 0.0 cores, 0.0 GiB\n"
            "note: a note\n");
}

TEST(PlanText, TenThousandNodesAreAFewLines) {
  std::vector<NodeChange> nodes;
  for (int i = 0; i < 10'000; ++i) nodes.push_back(change(base::cat("n", i), i % 2 == 0 ? "even" : "odd", 1000, 2000));
  const Json told = plan_json(plan_of(std::move(nodes)), kShown);
  EXPECT_EQ(told.at("nodes")->as_array().size(), 20u);
  EXPECT_EQ(told.at("left_off")->as_int(), 9980);
  EXPECT_EQ(told.at("pools", "odd", "after", "batchCpuMilli")->as_int(), 10'000'000);
  EXPECT_EQ(told.at("all", "changed")->as_int(), 10'000);
}

TEST(PlanText, NodesThatAreOffAreCounted) {
  auto off = change("a", "x", 0, 0);
  off.before.off = off.after.off = off.end.off = true;
  off.before.reason = off.after.reason = off.end.reason = model::Reason::kStateOff;
  EXPECT_EQ(plan_text(plan_of({off, change("b", "x", 1000, 2000)}), kShown),
            "b (x): batch 1.0 -> 2.0 cores, 4.0 GiB [TM-NODE-001]\n"
            "pool x: 1 of 2 nodes change; batch 1.0 -> 2.0 cores, 8.0 GiB; mid 0.0 cores, 0.0 GiB; 1 off\n"
            "all: 1 of 2 nodes change; batch 1.0 -> 2.0 cores, 8.0 GiB; mid 0.0 cores, 0.0 GiB; 1 off\n");
  EXPECT_EQ(plan_json(plan_of({off}), kShown).at("pools", "x", "off")->as_int(), 1);
}

TEST(PlanText, ShowsNextStepAndEndOfStepwiseGrowth) {
  auto node = change("a", "x", 1000, 2000);
  node.end.batch_cpu = 8000;
  auto later = change("b", "x", 1000, 1000);  // nothing yet, and much in the end
  later.end.batch_cpu = 9000;
  EXPECT_EQ(plan_text(plan_of({node, later}), kShown),
            "b (x): batch 1.0 -> 1.0 -> 9.0 cores, 4.0 GiB [TM-NODE-001]\n"
            "a (x): batch 1.0 -> 2.0 -> 8.0 cores, 4.0 GiB [TM-NODE-001]\n"
            "pool x: 2 of 2 nodes change; batch 2.0 -> 3.0 -> 17.0 cores, 8.0 GiB; mid 0.0 cores, 0.0 GiB\n"
            "all: 2 of 2 nodes change; batch 2.0 -> 3.0 -> 17.0 cores, 8.0 GiB; mid 0.0 cores, 0.0 GiB\n");
  EXPECT_EQ(plan_json(plan_of({node}), kShown).at("all", "end", "batchCpuMilli")->as_int(), 8000);
}

TEST(PlanText, CountsNodeSloChange) {
  auto node = change("a", "x", 1000, 1000);
  node.slo_parts = {"resource-threshold-config"};
  EXPECT_NE(plan_text(plan_of({node}), kShown).find("NodeSLO: resource-threshold-config"), std::string::npos);
  policy::settings::SloSpec before;
  policy::settings::SloSpec after;
  EXPECT_TRUE(operate::changed_parts(before, after).empty());
  after.ours = R"({"schema":1,"agent":{"modes":{"default":"observe"}}})";
  EXPECT_EQ(operate::changed_parts(before, after), std::vector<std::string>{"agent"});
}

}  // namespace
}  // namespace tidemark::cli
