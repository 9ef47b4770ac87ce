// What each node, and the operator of YARN, may evict of its pool's hour: told, cut, extended and taken away.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "manager/testing/evictions.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::kConfigPath;
using testing::kMerge;
using testing::kStoredWithin;

class GrantsTest : public testing::EvictingCluster {
 protected:
  // `one_by_one`: an edit reaches one node a minute.
  void granting(int limit, bool one_by_one = false, std::string_view more = "") {
    Json map = name_only("tidemark-config");
    map["data"] = Json::object(
        {{"config.yaml", Json(cat("{schema: 1, mode: enforce, rollout: {",
                                  one_by_one ? "nodesPerMinute: 1, canarySoak: 0s, stopOnEvictions: {watched: false}"
                                             : "pace: at-once",
                                  "}, evictions: {perPoolHour: ", limit, ", grants: true}", more, "}"))}});
    if (call("POST", kConfigPath, map).status == 409) {
      must("PATCH", cat(kConfigPath, "/tidemark-config"), Json::object({{"data", map["data"]}}), kMerge);
    }
  }
  Json slo(std::string_view name) { return must("GET", cat(testing::kNodeSlosPath, "/", name), nullptr); }
  std::int64_t granted(std::string_view name) {
    const Json object = slo(name);
    const Json* found = object.at("spec", "extensions", "Object", "tidemark", "evictions", "perHour");
    return found == nullptr ? 0 : found->as_int();
  }
};

TEST_F(GrantsTest, PublishesTheGrantOfEachNodeOnce) {
  granting(40);
  auto& manager = start();
  run_for(5s);
  EXPECT_EQ(granted("n1"), 20);
  EXPECT_EQ(granted("n2"), 20);
  EXPECT_EQ(manager.metric("tidemark_pool_evictions_granted{pool=\"default\"}"), 40);
  const auto revision_of = [&] { return std::string(slo("n1").text_at("metadata", "resourceVersion")); };
  const std::string before = revision_of();
  run_for(10min);
  EXPECT_EQ(revision_of(), before) << "a grant holds until it is extended";

  node("n3");
  metric("n3", "4");
  run_for(2min);
  EXPECT_EQ(granted("n1"), 13) << "cut at once";
  EXPECT_EQ(granted("n3"), 0) << "what was cut may still be gone by";
  EXPECT_LE(manager.metric("tidemark_pool_evictions_granted{pool=\"default\"}"), 40);
  run_for(26h);
  EXPECT_EQ(granted("n3"), 13);
  EXPECT_EQ(granted("n1"), 13);
}

TEST_F(GrantsTest, SmallerLimitHoldsForThePoolDuringARollout) {
  granting(40, true);
  auto& manager = start();
  run_for(5s);
  ASSERT_EQ(granted("n1") + granted("n2"), 40);
  granting(10, true);
  run_for(20s);
  const auto behind = [&] { return manager.metric("tidemark_settings_nodes_behind"); };
  ASSERT_EQ(behind(), 1) << "the test looks while one node has the new limit and one has not";
  EXPECT_EQ(granted("n1"), 5);
  EXPECT_EQ(granted("n2"), 5) << "also where the node seen last has the old one";
  run_for(26h);
  ASSERT_EQ(behind(), 0);
  granting(40, true);
  run_for(20s);
  ASSERT_EQ(behind(), 1);
  EXPECT_EQ(granted("n1") + granted("n2"), 10) << "more only when every node may have it";
  run_for(5min);
  EXPECT_EQ(behind(), 0);
  EXPECT_EQ(granted("n1") + granted("n2"), 40);
}

// While an edit is on its way one node goes by it, and one does not yet.
class OnTheWayTest : public GrantsTest {
 protected:
  // Answers which node goes by the new settings.
  std::string half_rolled_out(testing::Replica& manager, std::string_view edit) {
    const auto hash = [&](std::string_view name) {
      return std::string(read_node(name).text_at("metadata", "annotations", model::kConfigHashAnnotation));
    };
    const std::string before = hash("n1");
    granting(40, true, edit);
    run_for(20s);
    EXPECT_EQ(manager.metric("tidemark_settings_nodes_behind"), 1);
    EXPECT_NE(hash("n1") == before, hash("n2") == before);
    return hash("n1") == before ? "n2" : "n1";
  }
};

TEST_F(OnTheWayTest, SpikeStopsANewPool) {
  granting(40, true);
  auto& manager = start();
  run_for(5s);
  const std::string moved = half_rolled_out(manager, ", pools: [{name: new, nodeSelector: {}}]");
  tells(moved, 30);
  run_for(6s);
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"new\"}"), 1);
  EXPECT_EQ(offered(moved), "0");
  EXPECT_EQ(condition(moved), "False EvictionSpike");
  EXPECT_EQ(offered(moved == "n1" ? "n2" : "n1"), "15200") << "the pool that it is in yet had none";
  run_for(2min);
  EXPECT_EQ(manager.metric("tidemark_settings_nodes_behind"), 0);
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"new\"}"), 1) << "nor is it forgotten";
}

TEST_F(OnTheWayTest, PoolThatOverReportsOnlyByNewSettingsFallsBack) {
  granting(40, true);
  auto& manager = start();
  run_for(5s);
  const std::string moved = half_rolled_out(manager, ", ledger: {kubernetes: {overReport: {cpuPercent: 150}}}");
  EXPECT_EQ(offered(moved), "22800");
  tells(moved, 2, 98);
  run_for(6s);
  EXPECT_EQ(offered(moved), "15200") << "2 of 100";
}

TEST_F(GrantsTest, NewLeaderReadsGrantsAndOffRemovesThem) {
  granting(40);
  start();
  run_for(5s);
  const std::string before = slo("n1").dump();
  replicas.clear();
  run_for(10min);
  start("two");
  run_for(3min);
  EXPECT_EQ(slo("n1").dump(), before) << "nothing to be said anew";
  Json map =
      Json::object({{"data", Json::object({{"config.yaml", "{schema: 1, mode: enforce, rollout: {pace: at-once}}"}})}});
  must("PATCH", cat(kConfigPath, "/tidemark-config"), map, kMerge);
  run_for(2min);
  EXPECT_EQ(slo("n1").at("spec", "extensions")->dump(),
            R"({"Object":{"tidemark":{"schema":1,"agent":{"modes":{"default":"enforce"}}}}})");
}

// The operator of a class-aware pool is one of those who share its hour.
class OperatorGrantTest : public GrantsTest {
 protected:
  void SetUp() override {
    GrantsTest::SetUp();
    granting(8, false, ", ledger: {mode: strict, classAware: true}");
  }
  std::string stored_grants() {
    const auto map = budgets();
    return map ? std::string(map->text_at("data", policy::evict::kBudgetsGrantsKey)) : "";
  }
  std::int64_t of_operator() {
    const auto grants = policy::evict::decode_grants(stored_grants());
    return grants && grants->contains("default") ? grants->at("default").now.per_hour : 0;
  }
  // As YARN's operator tells it.
  void gave_back(std::string_view name, std::int64_t containers) {
    ends_.push_back({clock.wall(), "spark", "", containers, 0});
    must("PATCH", cat("/api/v1/nodes/", name),
         Json::object(
             {{"metadata", Json::object({{"annotations", Json::object({{model::kYarnPreemptedAnnotation,
                                                                        Json(model::format_ended_tasks(ends_))}})}})}}),
         kMerge);
  }
  bool used_up() {
    const auto state = stored();
    return state.pool("default") != nullptr && state.pool("default")->exhausted;
  }
  std::vector<model::EndedTasks> ends_;
};

TEST_F(OperatorGrantTest, GrantIsPublishedAndKeptByTheNextLeader) {
  auto& manager = start();
  run_for(10s);
  EXPECT_EQ(of_operator(), 2);
  EXPECT_EQ(granted("n1") + granted("n2"), 6) << "the nodes share the rest";
  EXPECT_EQ(manager.metric("tidemark_pool_evictions_granted{pool=\"default\"}"), 8);
  const std::string before = stored_grants();
  replicas.clear();
  run_for(10min);
  start("two");
  run_for(3min);
  EXPECT_EQ(stored_grants(), before) << "nothing to be said anew";
  run_for(13h);
  EXPECT_NE(stored_grants(), before) << "extended";
  EXPECT_EQ(of_operator(), 2);
}

TEST_F(OperatorGrantTest, YarnReclaimUsesTheBudgetAndIsNoSpike) {
  auto& manager = start();
  run_for(10s);
  gave_back("n1", 7);
  run_for(10s);
  EXPECT_FALSE(used_up());
  tells("n2", 1);
  run_for(10s);
  EXPECT_TRUE(used_up()) << "seven of its operator, one of an agent";
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 0);
  run_for(kStoredWithin);
  EXPECT_EQ(day().evicted, 1) << "in no rate";
  // Another leader counts it once.
  replicas.clear();
  start("two");
  run_for(10s);
  EXPECT_TRUE(used_up());
  const auto book = *policy::evict::decode_counts(budgets()->text_at("data", "counts.json"));
  EXPECT_EQ(policy::evict::preempted_lately(book, "default", clock.wall()), 7);
  run_for(62min);
  EXPECT_FALSE(used_up());
}

TEST_F(GrantsTest, RemovesOnlyOurGrantsWithoutTidemarkConfig) {
  granting(40);
  start();
  run_for(5s);
  ASSERT_EQ(granted("n1"), 20);
  replicas.clear();
  // Extensions of another program, and of a later version of Tidemark on another node.
  const auto merge = [&](std::string_view node, std::string_view object) {
    must("PATCH", cat(testing::kNodeSlosPath, "/", node),
         *Json::parse(cat(R"({"spec":{"extensions":{"Object":)", object, "}}}")), kMerge);
  };
  merge("n1", R"({"other":{"a":1}})");
  merge("n2", R"({"tidemark":{"schema":9}})");
  for (const std::string_view name : {"/tidemark-config", "/tidemark-config-revisions"}) {
    EXPECT_EQ(call("DELETE", cat(kConfigPath, name), nullptr).status, 200);
  }
  start("two");
  run_for(10s);
  EXPECT_EQ(slo("n1").at("spec", "extensions")->dump(), R"({"Object":{"other":{"a":1}}})");
  EXPECT_EQ(slo("n2").at("spec", "extensions", "Object", "tidemark", "schema")->dump(), "9") << "not ours to judge";
}

}  // namespace
}  // namespace tidemark::manager
