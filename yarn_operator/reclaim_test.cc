#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"
#include "yarn_operator/node_reclaim.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using model::Resources;
using testing::NodeId;
using namespace std::chrono_literals;

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr std::int64_t kNever = 0x7fffffff;
const NodeId kNm{"a", 1};
const std::string kMaster = "container_1_0001_01_000001", kOld = "container_1_0001_01_000002",
                  kNew = "container_1_0001_01_000003";

Resources reclaim_amount(std::int64_t cores, std::int64_t mib) {
  return {{cores * 1000}, {mib * kMi}};
}

TEST(MayKeepTest, AppliesToTheClassOfTheClusterAndToWorkWithoutClass) {
  const policy::sell::YarnTotalConfig config;
  const std::vector<model::Reclaim> asked{
      {"", reclaim_amount(1, 512), reclaim_amount(2, 1024), "TM-LEDGER-009"},
      {"transcode", reclaim_amount(1, 512), reclaim_amount(3, 256), "TM-LEDGER-009"}};
  EXPECT_EQ(may_keep(asked, "transcode", config)->memory_mib, 1280);
  EXPECT_EQ(may_keep(asked, "transcode", config)->vcores, 5);
  EXPECT_EQ(may_keep(asked, "spark", config)->memory_mib, 1024);
  EXPECT_EQ(may_keep(asked, "", config)->vcores, 2);
  EXPECT_FALSE(may_keep({asked[1]}, "spark", config));
  EXPECT_FALSE(may_keep({}, "spark", config));
}

TEST(MayKeepTest, KeepsAllOfAResourceThatIsNotRequested) {
  policy::sell::YarnTotalConfig config;
  config.vcore = {600};
  const auto keep = may_keep({{"spark", {{1}, {0}}, {{1799}, {kMi}}, "TM-LEDGER-009"}}, "spark", config);
  EXPECT_EQ(keep->memory_mib, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(keep->vcores, 2) << "whole vcores";
  const auto other = may_keep({{"spark", {{0}, {1}}, {{1799}, {3 * kMi - 1}}, "TM-LEDGER-009"}}, "spark", config);
  EXPECT_EQ(other->memory_mib, 2);
  EXPECT_EQ(other->vcores, std::numeric_limits<std::int32_t>::max());
}

class ReclaimTest : public testing::OperatorWorld {
 protected:
  void SetUp() override {
    OperatorWorld::SetUp();
    work_class = "transcode";
    manager().nodes = {{kNm, {}}};
    node("n1", "a:1", origin("4k", "4Gi"));
    manager().run(kMaster, kNm, 256);
    manager().run(kOld, kNm, 512);
    manager().run(kNew, kNm, 512);
  }
  // What the manager writes, in one patch.
  void ask(Resources keep, std::string_view of = "transcode", std::int64_t generation = 5,
           Resources give = reclaim_amount(1, 512), std::string_view why = "TM-LEDGER-009") {
    const Resources offered = reclaim_amount(2, 768);
    const model::YarnOffer offer{generation, offered, offered, {{std::string(of), give, keep, std::string(why)}}};
    patch("n1", annotations(Json::object({{model::kYarnOfferAnnotation, Json(model::format_yarn_offer(offer))}})));
  }
  // The manager's grants; 0: the operator has none.
  void grant(std::int64_t per_hour, bool used_up = false) {
    policy::evict::BudgetState state;
    state.pools.emplace_back();
    state.pools.back().pool = "default";
    state.pools.back().exhausted = used_up;
    policy::evict::OperatorGrants grants;
    if (per_hour > 0) grants["default"] = {{per_hour, clock.wall() + 24h}, std::nullopt};
    const Json data =
        Json::object({{std::string(model::kBudgetsStateKey), Json(policy::evict::encode_budgets(state))},
                      {std::string(policy::evict::kBudgetsGrantsKey), Json(policy::evict::encode_grants(grants))}});
    if (std::exchange(granted_, true)) {
      must("PATCH", base::cat(kMaps, "/", model::kBudgetsName), Json::object({{"data", data}}), testing::kMerge);
      return;
    }
    must("POST", "/api/v1/namespaces", Json::object({{"metadata", Json::object({{"name", "koordinator-system"}})}}));
    must("POST", kMaps,
         Json::object({{"metadata", Json::object({{"name", Json(model::kBudgetsName)}})}, {"data", data}}));
  }
  static constexpr std::string_view kMaps = "/api/v1/namespaces/koordinator-system/configmaps";
  bool granted_ = false;
  std::int64_t told_preempted() {
    const auto told = model::parse_ended_tasks(annotation("n1", model::kYarnPreemptedAnnotation));
    std::int64_t sum = 0;
    for (const auto& each : told.value_or(std::vector<model::EndedTasks>())) sum += each.evicted;
    return sum;
  }
  bool waits(int nodes) {
    const std::string line = base::cat("tidemark_yarn_operator_reclaims_waiting_nodes ", nodes, "\n");
    return until([&] { return metrics.text().contains(line); });
  }
  bool preempted(const std::vector<std::string>& wanted) {
    return until([&] { return manager().preempted == wanted; });
  }
  void nobody_ends() {
    EXPECT_TRUE(total(kNm, 768, 2));
    pass(500ms);
    EXPECT_TRUE(manager().preempted.empty());
    EXPECT_EQ(manager().overcommit, kNever);
  }
};

TEST_F(ReclaimTest, EndsTheNewestUntilTheKeptAmountIsLeft) {
  ask(reclaim_amount(2, 768));
  begin();
  EXPECT_TRUE(preempted({kNew}));
  EXPECT_TRUE(total(kNm, 768, 2));
  pass(500ms);
  EXPECT_EQ(manager().preempted, std::vector{kNew}) << "the kept amount stays in all further passes";
  EXPECT_EQ(manager().told_totals.back()[2], kNever) << "the next total ends no container";
  EXPECT_TRUE(std::ranges::any_of(audit, [](const model::AuditLine& line) { return line.reason == "TM-YARN-018"; }));
  EXPECT_NE(metrics.text().find("tidemark_yarn_operator_reclaimed_nodes_total 1"), std::string::npos);
  EXPECT_NE(metrics.text().find("tidemark_yarn_operator_drained_nodes_total 0"), std::string::npos);
  // Repeated with another offer, and obeyed: ends no further container.
  ask(reclaim_amount(2, 768), "transcode", 6, reclaim_amount(0, 0));
  pass(500ms);
  EXPECT_EQ(manager().preempted, std::vector{kNew});
}

TEST_F(ReclaimTest, TakesTheSameShareOfMemoryIfOnlyCpuIsShort) {
  ask(reclaim_amount(1, 4096), "transcode", 5, reclaim_amount(2, 0));
  begin();
  EXPECT_TRUE(preempted({kNew, kOld}));
  EXPECT_TRUE(total(kNm, 768, 2));
}

TEST_F(ReclaimTest, AppliesAnOrderWithoutClassToAllWork) {
  grant(3);
  work_class = "spark";
  ask(reclaim_amount(0, 0), "");
  begin();
  EXPECT_TRUE(preempted({kNew, kOld, kMaster}));
}

TEST_F(ReclaimTest, IgnoresAnOrderForAnotherClass) {
  ask(reclaim_amount(0, 0), "spark");
  begin();
  nobody_ends();
}

TEST_F(ReclaimTest, IgnoresOrdersIfOffersAreIgnored) {
  options.totals.rounding = policy::sell::YarnRounding::kPeer;
  ask(reclaim_amount(0, 0));
  begin();
  EXPECT_TRUE(total(kNm, 4295, 4));
  pass(500ms);
  EXPECT_TRUE(manager().preempted.empty());
}

TEST_F(ReclaimTest, EndsNothingInObserveMode) {
  options.mode = "observe";
  ask(reclaim_amount(0, 0));
  begin();
  pass(700ms);
  EXPECT_TRUE(manager().preempted.empty());
  EXPECT_EQ(manager().updates, 0);
}

TEST_F(ReclaimTest, EndsNothingOnANodeThatIsOnlyObserved) {
  settings("schema: 1\nmode: {yarn: observe}\nclasses:\n- {name: transcode, order: 1}\n");
  ask(reclaim_amount(0, 0));
  begin();
  pass(700ms);
  EXPECT_TRUE(manager().preempted.empty());
}

TEST_F(ReclaimTest, RetriesAfterTheResourceManagerDroppedIt) {
  manager().drops = true;
  ask(reclaim_amount(2, 768));
  begin();
  EXPECT_TRUE(until([&] { return manager().updates > 0; }));
  manager().drops = false;
  EXPECT_TRUE(preempted({kNew}));
  EXPECT_NE(metrics.text().find("tidemark_yarn_operator_reclaimed_nodes_total 1"), std::string::npos);
}

// Otherwise its ResourceManager would start new work that must be returned at once.
TEST_F(ReclaimTest, SendsZeroIfTheClassOfTheClusterIsOff) {
  const std::string marks =
      R"({"schema":1,"generation":7,"state":"on","node":{"generation":7,"orders":[{"wish":"off","only":["class=transcode"],)"
      R"("by":"me","why":"a test","since":"2026-11-21T10:00:34Z","drainUntil":"2026-11-21T10:00:34Z"}]}})";
  ask(reclaim_amount(0, 0), "transcode", 5, reclaim_amount(1, 512),
      "TM-STATE-027");  // an order: not bounded by an hour
  patch("n1", annotations(Json::object({{model::kStateDetailAnnotation, Json(marks)}})));
  begin();
  EXPECT_TRUE(preempted({kNew, kOld, kMaster}));
  EXPECT_TRUE(total(kNm, 0, 0));
}

// ---- the hour of the pool ----

TEST_F(ReclaimTest, EndsTwoContainersANodeAndHourWithoutAGrantAndPublishesIt) {
  ask(reclaim_amount(0, 0));
  begin();
  EXPECT_TRUE(preempted({kNew, kOld}));
  EXPECT_TRUE(until([&] { return told_preempted() == 2; }));
  EXPECT_TRUE(waits(1)) << "for the third container";
  // Another order and a restarted operator: the same hour.
  running.reset();
  ask(reclaim_amount(0, 0), "transcode", 6);
  begin();
  EXPECT_TRUE(waits(1));
  pass(500ms);
  EXPECT_EQ(manager().preempted, (std::vector{kNew, kOld}));
  const auto says = [&](std::string_view what) {
    return std::ranges::any_of(said, [&](const std::string& line) { return line.contains(what); });
  };
  EXPECT_TRUE(says("the hour of its pool is used up"));
  EXPECT_TRUE(says("TM-EVICT-012"));
  grant(3);
  EXPECT_TRUE(preempted({kNew, kOld, kMaster})) << "a grant counts earlier evictions";
  EXPECT_TRUE(until([&] { return told_preempted() == 3; }));
  EXPECT_TRUE(waits(0));
}

TEST_F(ReclaimTest, WaitsWhileThePoolHasUsedUpItsHour) {
  grant(10, true);
  ask(reclaim_amount(2, 768));
  begin();
  EXPECT_TRUE(waits(1));
  pass(500ms);
  EXPECT_TRUE(manager().preempted.empty());
  EXPECT_EQ(annotation("n1", model::kYarnPreemptedAnnotation), "");
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& line) { return line.contains("TM-BUDGET-009"); }));
  grant(10);
  EXPECT_TRUE(preempted({kNew}));
}

TEST_F(ReclaimTest, EndsOneContainerWithAGrantOfOne) {
  grant(1);
  ask(reclaim_amount(0, 0));
  begin();
  EXPECT_TRUE(preempted({kNew}));
  EXPECT_TRUE(waits(1));
  pass(500ms);
  EXPECT_EQ(manager().preempted, std::vector{kNew});
  EXPECT_EQ(told_preempted(), 1);
}

}  // namespace
}  // namespace tidemark::yarn_operator
