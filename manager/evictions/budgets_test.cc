// Evictions on a cluster in memory under simulated time: counted, stored, told, and what they stop. What a step decides
// is tested in policy/evict/budget.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "manager/testing/evictions.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::kConfigPath;
using testing::kMerge;
using testing::kPods;
using testing::kStoredWithin;

class BudgetsTest : public testing::EvictingCluster {};

TEST_F(BudgetsTest, CountsTasksByCause) {
  tidemark(", classes: [{name: spark, order: 1}]");
  auto& manager = start();
  for (const char* name : {"done", "pressed", "evicted", "preempted", "drained", "lost", "online", "runs"}) pod(name);
  pod("on-n2", "n2");
  must("PATCH", cat(kPods, "/done"), *Json::parse(R"({"metadata":{"labels":{"tidemark.io/class":"spark"}}})"), kMerge);
  must("PATCH", cat(kPods, "/pressed"), *Json::parse(R"({"metadata":{"labels":{"tidemark.io/class":"nobody"}}})"),
       kMerge);
  must("PATCH", cat(kPods, "/online"),
       *Json::parse(
           R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LS","koordinator.sh/priority-class":"koord-prod"}}})"),
       kMerge);
  finishes("done");
  kubelet_evicts("pressed");
  kubelet_evicts("online");
  api_evicts("evicted");
  run_for(1s);
  // Its kubelet ends it: not counted a second time.
  status("evicted", R"({"phase":"Failed"})");
  status("preempted",
         R"({"conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}]})");
  status("lost",
         R"({"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC"}]})");
  must("PATCH", "/api/v1/nodes/n2", *Json::parse(R"({"spec":{"unschedulable":true}})"), kMerge);
  run_for(1s);
  api_evicts("on-n2");
  run_for(1s);
  EXPECT_EQ(counted(manager, "finished", "spark"), 1);
  EXPECT_EQ(counted(manager, "kubelet", "other"), 1);
  EXPECT_EQ(counted(manager, "kubelet"), 1) << "an online pod that also requests batch is a task by what it requests";
  EXPECT_EQ(counted(manager, "api"), 1);
  EXPECT_EQ(counted(manager, "preempted"), 1);
  EXPECT_EQ(counted(manager, "node"), 1);
  EXPECT_EQ(counted(manager, "drained"), 1);
}

// As a kubelet leaves a pod one of whose containers the kernel ended.
TEST_F(BudgetsTest, CountsOomKillsApartAndInNoRate) {
  tidemark();
  auto& manager = start();
  for (int i = 0; i < 6; ++i) {
    pod(cat("starved-", i), "n1", "1000", cat("job-", i));
    status(cat("starved-", i),
           R"({"phase":"Failed","containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,)"
           R"("restartCount":0,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]})");
  }
  pod("done");
  finishes("done");
  run_for(11min);
  EXPECT_EQ(counted(manager, "oom"), 6);
  EXPECT_EQ(counted(manager, "finished"), 1);
  EXPECT_EQ(day(), (policy::evict::Ended{0, 1}));
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 0);
}

TEST_F(BudgetsTest, SpikeCapsThePoolAtSoldAndRecovers) {
  tidemark();
  auto& manager = start();
  pod("stays", "n1", "3000");
  run_for(1s);
  const std::string before = offered("n1");
  EXPECT_NE(before, "3k");
  EXPECT_EQ(condition("n1"), "");
  spike();
  EXPECT_EQ(offered("n1"), "3k");
  EXPECT_EQ(offered("n2"), "0") << "nothing is sold there any more";
  EXPECT_EQ(condition("n1"), "False EvictionSpike");
  EXPECT_EQ(manager.metric("tidemark_pool_breaker_phase{pool=\"default\"}"), 1);
  ASSERT_EQ(stored().pools.size(), 1U);
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kOpen);
  EXPECT_EQ(day(), (policy::evict::Ended{4, 0}));

  pod("another", "n1", "1000");  // bound before its scheduler heard of it
  run_for(2s);
  EXPECT_EQ(offered("n1"), "4k") << "what is bound is sold";

  // Time passes; reports go on coming.
  for (int i = 0; i < 11; ++i) {
    run_for(1min);
    for (const char* name : {"n1", "n2"}) metric(name, "4");
  }
  run_for(10s);
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kProbation);
  EXPECT_EQ(offered("n1"), before);
  EXPECT_EQ(condition("n1"), "True On");
  for (int i = 0; i < 11; ++i) {
    run_for(1min);
    for (const char* name : {"n1", "n2"}) metric(name, "4");
  }
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kClosed);
}

TEST_F(BudgetsTest, RestartAndNewLeaderContinueFromStoredState) {
  tidemark();
  start();
  pod("stays", "n1", "3000");
  pod("ends", "n1", "1000");
  spike();
  EXPECT_EQ(offered("n1"), "4k");
  replicas.clear();
  finishes("ends");
  run_for(5s);
  auto& next = start("two");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "3k") << "still stopped, from the first decision on";
  EXPECT_EQ(next.metric("tidemark_tasks_ended_total{class=\"unnamed\",pool=\"default\",reason=\"kubelet\"}"), 0)
      << "what was counted is not counted again";
  run_for(11min);
  EXPECT_EQ(day().evicted, 4);
}

// A sum or maximum over replicas must not contain values of a former leader.
TEST_F(BudgetsTest, FormerLeaderExportsNoBudgets) {
  tidemark();
  auto& former = start("one", true);
  run_for(5s);
  spike();
  const auto shown = [&] {
    return std::pair(former.metric("tidemark_pool_breaker_phase{pool=\"default\"}"),
                     former.metric("tidemark_eviction_rate_ratio{class=\"unnamed\",pool=\"default\"}"));
  };
  ASSERT_EQ(shown(), std::pair(1.0, 1.0)) << "open, and all four that ended were evicted";
  must("PATCH", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager",
       *Json::parse(R"({"spec":{"holderIdentity":"another","leaseTransitions":9}})"), kMerge);
  run_for(8s);  // one look more; the other one does not keep the lease up
  ASSERT_EQ(former.metric("tidemark_leader"), 0);
  EXPECT_EQ(shown(), std::pair(0.0, 0.0));
}

TEST_F(BudgetsTest, ResumeRequestLetsThePoolSellAgain) {
  tidemark();
  start();
  spike();
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kOpen);
  const std::string request = policy::evict::encode_resume({"somebody-1", "default", "found it", clock.wall()});
  must("PATCH", cat(kConfigPath, "/", model::kBudgetsName),
       Json::object({{"data", Json::object({{"request.json", Json(request)}})}}), kMerge);
  run_for(1s);
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kProbation);
  EXPECT_EQ(stored().request, "somebody-1");
  EXPECT_NE(offered("n2"), "0");
}

TEST_F(BudgetsTest, EvictionsOfTheHourSurviveARestart) {
  Json map = name_only("tidemark-config");
  map["data"] = Json::object(
      {{"config.yaml", "{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {perPoolHour: 3}}"}});
  must("POST", kConfigPath, map);
  start();
  const auto lose = [&](std::string_view name) {
    pod(name);
    api_evicts(name);
    run_for(1s);
    must("DELETE", cat(kPods, "/", name), nullptr);  // it cannot be counted again
    run_for(1min);
  };
  lose("t-0");
  lose("t-1");
  ASSERT_FALSE(stored().pools[0].exhausted);
  replicas.clear();
  start("two");
  run_for(10s);
  EXPECT_FALSE(stored().pools[0].exhausted);
  lose("t-2");
  EXPECT_TRUE(stored().pools[0].exhausted) << "two before, one after";
  replicas.clear();
  start("three");
  run_for(10s);
  EXPECT_TRUE(stored().pools[0].exhausted);
  run_for(1h);
  EXPECT_FALSE(stored().pools[0].exhausted);
}

// A pool without a limit loses tasks all the time; the one with a limit loses one.
TEST_F(BudgetsTest, WritesCountsOnlyOnChange) {
  Json map = name_only("tidemark-config");
  map["data"] =
      Json::object({{"config.yaml",
                     "{schema: 1, mode: enforce, rollout: {pace: at-once}, pools: [{name: limited, evictions: "
                     "{perPoolHour: 30}, nodeSelector: {matchLabels: {pool: limited}}}]}"}});
  must("POST", kConfigPath, map);
  must("PATCH", "/api/v1/nodes/n2", *Json::parse(R"({"metadata":{"labels":{"pool":"limited"}}})"), kMerge);
  start();
  int writes = 0;
  std::string last;
  const auto pass = [&](base::Duration time) {
    for (base::Duration done{0}; done < time; done += 10s) {
      run_for(10s);
      const auto now = budgets();
      const std::string counts(now ? now->text_at("data", "counts.json") : std::string_view());
      writes += counts == last ? 0 : 1;
      last = counts;
    }
  };
  const auto lose = [&](std::string_view name, std::string_view on) {
    pod(name, on);
    kubelet_evicts(name);
  };
  lose("t-0", "n2");
  pass(1min);
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(day("limited").evicted, 1);
  pass(3h);
  EXPECT_EQ(writes, 1) << "nothing was counted, and the hour of what was is over";
  for (int i = 0; i < 20; ++i) {
    lose(base::cat("other-", i), "n1");
    pass(1min);
  }
  EXPECT_LE(writes, 4) << "of a pool without a limit every ten minutes is enough";
  EXPECT_GE(writes, 2);
  const int before = writes;
  lose("t-1", "n2");
  pass(1min);
  EXPECT_EQ(writes, before + 1);
  EXPECT_EQ(day("limited").evicted, 2);
}

TEST_F(BudgetsTest, HandlesTwoConcurrentRequests) {
  tidemark();
  start();
  spike();
  const auto ask = [&](std::string_view id, std::string_view pool) {
    return std::pair(policy::evict::resume_key(id),
                     Json(policy::evict::encode_resume({std::string(id), std::string(pool), "", clock.wall()})));
  };
  const auto first = ask("ann", "default");
  const auto second = ask("bob", "another");
  must("PATCH", cat(kConfigPath, "/", model::kBudgetsName),
       Json::object({{"data", Json::object({{first.first, first.second},
                                            {second.first, second.second},
                                            {"request.json", second.second}})}}),
       kMerge);
  run_for(1s);
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kProbation) << "the one who asked first";
  const Json map = must("GET", cat(kConfigPath, "/", model::kBudgetsName), nullptr);
  for (const auto& key : {first.first, second.first, std::string("request.json")}) {
    EXPECT_EQ(map.member("data")->member(key), nullptr) << key;
  }
}

TEST_F(BudgetsTest, NamesAJobThatIsEvictedOften) {
  tidemark();
  start();
  for (int i = 0; i < 3; ++i) {
    pod(cat("t-", i), "n1", "1000", "greedy");
    api_evicts(cat("t-", i));
  }
  run_for(40s);
  ASSERT_EQ(stored().pools.size(), 1U);
  EXPECT_EQ(stored().pools[0].jobs, (std::vector<std::string>{"jobs/greedy"}));
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kClosed);
}

TEST_F(BudgetsTest, DoesNothingWithoutTidemarkConfig) {
  start();
  pod("stays", "n1", "3000");
  run_for(1s);
  const std::string before = offered("n2");
  spike();
  EXPECT_EQ(budgets(), std::nullopt);
  EXPECT_EQ(must("GET", cat(testing::kNodeSlosPath, "/n1"), nullptr).at("spec", "extensions")->dump(),
            R"({"Object":{}})");
  EXPECT_EQ(offered("n2"), before);
}

// YARN's operator reads it there: the same limit that the agents of a pool have.
TEST_F(BudgetsTest, StoresTheHourlyLimitOfANodeWithoutAGrant) {
  tidemark(", profile: tidemark, pools: [{name: theirs, nodeSelector: {matchLabels: {a: b}}, profile: koordinator}]");
  start();
  run_for(1s);
  EXPECT_EQ(stored().pool("default")->node_per_hour, model::kNodeEvictionsPerHour);
  EXPECT_EQ(stored().pool("theirs")->node_per_hour, model::kEvictionsPerHourMax);
}

TEST_F(BudgetsTest, ReplacesAnUnreadableStore) {
  tidemark();
  Json map = name_only(model::kBudgetsName);
  map["data"] = Json::object({{"state.json", "{"}, {"counts.json", R"({"schema":"one"})"}, {"request.json", "[]"}});
  must("POST", kConfigPath, map);
  start();
  spike();
  EXPECT_EQ(stored().pools[0].breaker.phase, policy::evict::BreakerPhase::kOpen);
}

// Its breaker may be open: what it says is neither taken for nothing nor written over.
TEST_F(BudgetsTest, KeepsTheStoreOfANewerVersionAndOnlyCutsOffers) {
  tidemark();
  start();
  pod("stays", "n1", "3000");
  run_for(10s);
  const std::string before = offered("n1");
  replicas.clear();
  const std::string newer = R"({"schema":2,"pools":{"default":"open"}})";
  const Json data = Json::object({{"data", Json::object({{"state.json", Json(newer)}})}});
  must("PATCH", cat(kConfigPath, "/", model::kBudgetsName), data, kMerge);
  auto& manager = start("two");
  run_for(15min);  // counts would be stored by then
  const auto kept = [&] { return std::string(budgets()->text_at("data", "state.json")); };
  EXPECT_EQ(kept(), newer);
  EXPECT_EQ(manager.metric("tidemark_budgets_held"), 1);
  const Json events = must("GET", "/api/v1/namespaces/koordinator-system/events", nullptr);
  EXPECT_EQ(std::ranges::count_if(events.at("items")->as_array(),
                                  [](const Json& each) { return each.text_at("reason") == "EvictionsNotRead"; }),
            1);
  metric("n1", "6");
  run_for(2s);
  const std::string cut = offered("n1");
  EXPECT_NE(cut, before);
  metric("n1", "4");
  run_for(2s);
  EXPECT_EQ(offered("n1"), cut) << "nothing grows";

  must("PATCH", cat(kConfigPath, "/", model::kBudgetsName),
       Json::object({{"data", Json::object({{"state.json", Json()}})}}), kMerge);
  run_for(10s);
  EXPECT_EQ(offered("n1"), before);
  EXPECT_EQ(manager.metric("tidemark_budgets_held"), 0);
  EXPECT_EQ(stored().pools.size(), 1U);
}

}  // namespace
}  // namespace tidemark::manager
