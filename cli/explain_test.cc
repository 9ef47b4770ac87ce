// What an explanation says beside the terms of the formulas, with a manager beside it: which revision of the settings
// holds on the node, what evictions let it do, and which young pods count with what. Under simulated time.
#include "cli/explain.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/explain_config.h"
#include "manager/testing/cluster.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "operate/last_eviction.h"
#include "operate/testing/failing_transport.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;
using base::cat;
using manager::testing::kConfigPath;
using manager::testing::kMerge;

constexpr std::string_view kExplainPods = "/api/v1/namespaces/jobs/pods";

class ExplainTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    must("POST", "/api/v1/namespaces", name_only("jobs"));
    below = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "ann");
    between = std::make_unique<operate::testing::FailingTransport>(loop, *below);
    client = std::make_unique<kube::Client>(
        loop, *between, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    node("n1");
    metric("n1", "2");
  }
  void tidemark(std::string_view config) {
    const Json data = Json::object({{"config.yaml", Json(config)}});
    Json map = name_only("tidemark-config");
    map["data"] = data;
    if (call("POST", kConfigPath, map).status == 409) {
      must("PATCH", cat(kConfigPath, "/tidemark-config"), Json::object({{"data", data}}), kMerge);
    }
  }
  void pod(std::string_view name, Json labels, const Json& requests, Json owners = Json::array()) {
    Json object = name_only(name);
    object["metadata"]["labels"] = std::move(labels);
    object["metadata"]["ownerReferences"] = std::move(owners);
    object["spec"] =
        Json::object({{"nodeName", "n1"},
                      {"containers",
                       Json::array({Json::object(
                           {{"name", "c"}, {"image", "i"}, {"resources", Json::object({{"requests", requests}})}})})}});
    must("POST", kExplainPods, object);
    status(name, Json::object({{"phase", "Running"}, {"startTime", Json(base::format_rfc3339(clock.wall()))}}));
  }
  void batch(std::string_view name, std::string_view cores) {
    pod(name, Json::object({{"koordinator.sh/qosClass", "BE"}, {"koordinator.sh/priority-class", "koord-batch"}}),
        Json::object({{manager::testing::kBatchCpu, Json(cores)}, {"kubernetes.io/batch-memory", "1Gi"}}));
  }
  void status(std::string_view name, const Json& text) {
    must("PATCH", cat(kExplainPods, "/", name, "/status"), Json::object({{"status", text}}), kMerge);
  }
  // As the eviction API leaves it, until its kubelet is done with it.
  void evict(std::string_view name) {
    Json condition = Json::object({{"type", "DisruptionTarget"},
                                   {"status", "True"},
                                   {"reason", "EvictionByEvictionAPI"},
                                   {"lastTransitionTime", Json(base::format_rfc3339(clock.wall()))}});
    status(name, Json::object({{"conditions", Json::array({std::move(condition)})}}));
  }
  void gone(std::string_view name) { must("DELETE", cat(kExplainPods, "/", name, "?gracePeriodSeconds=0"), nullptr); }
  std::string text(std::string_view of, bool json = false, std::string_view journal = "") {
    ExplainOptions options;
    options.node = of;
    options.json = json;
    options.journal = journal;
    auto answer = net::testing::run_task(loop, clock, explain_node(loop, *client, options));
    return answer ? *answer : answer.error().message;
  }
  Json told(std::string_view of = "n1") { return Json::parse(text(of, true)).value_or(Json()); }
  static Json source(const Json& told, std::string_view begins) {
    for (const Json& each : told.member("sources")->as_array()) {
      if (each.text_at("object").starts_with(begins)) return each;
    }
    return {};
  }
  static std::int64_t offer(const Json& told) {
    return told.at("publish", manager::testing::kBatchCpu)->get_int().value_or(-1);
  }
  static bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

  std::unique_ptr<kube::memory::LocalTransport> below;
  std::unique_ptr<operate::testing::FailingTransport> between;
  std::unique_ptr<kube::Client> client;
};

class ExplainByJournalConcurrentTest : public ExplainTest {
 protected:
  void SetUp() override {
    ExplainTest::SetUp();
    std::string pattern = (std::filesystem::temp_directory_path() / "explain-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    ExplainTest::TearDown();
    std::filesystem::remove_all(folder);
  }
  std::string folder;
};

TEST_F(ExplainByJournalConcurrentTest, ManagerOutageIsNotNodeSilence) {
  tidemark("{schema: 1, mode: enforce, profile: tidemark, motion: {hold: 15m}, rollout: {pace: at-once}}");
  manager::ManagerOptions options;
  options.journal.directory = folder;
  auto& replica = start("one", false, options);
  metric("n1", "2");
  run_for(1min);
  ASSERT_EQ(offered("n1"), "17200");
  outage(Answers::kNone, 25min);
  run_for(1min);
  ASSERT_EQ(offered("n1"), "17200") << "no report could be seen for longer than an offer is held";
  net::testing::run_task(loop, replica.manager->drain());
  const std::string seen = text("n1", false, folder);
  EXPECT_TRUE(says(seen, "what only a manager remembers is by its journal: one at ")) << seen;
  constexpr std::string_view kFor = "since then no report could come for ";
  const auto begins = seen.find(kFor);
  ASSERT_NE(begins, std::string::npos) << seen;
  const auto words = seen.substr(begins + kFor.size());
  const auto unheard = base::parse_go_duration(words.substr(0, words.find(':')));
  ASSERT_TRUE(unheard) << words;
  EXPECT_GE(*unheard, 15min) << "a watch that was under way went on for some minutes";
  EXPECT_LE(*unheard, 26min);
  EXPECT_TRUE(says(seen, "that is no silence of the node")) << seen;
  EXPECT_FALSE(says(seen, "TM-MOTION-009")) << "it does not go down: " << seen;
}

// 32 cores, the line at 60 %: 19.2, of which the system uses 2. A pod that stays holds 3.
TEST_F(ExplainTest, ExplainsNodeThatBacksOff) {
  tidemark("{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {backOff: 2m}}");
  batch("stays", "3000");
  batch("victim", "1000");
  start();
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_TRUE(says(text("n1"), "no eviction of this node is known")) << text("n1");
  EXPECT_TRUE(says(text("n1"), "only the manager's journal has it: give --journal-dir"))
      << "an honest answer to what cannot be seen";

  evict("victim");
  run_for(20s);
  EXPECT_EQ(offered("n1"), "4k") << "what the pods hold, as the one that is evicted still does";
  Json seen = told();
  EXPECT_EQ(offer(seen), 4000);
  EXPECT_EQ(seen.text_at("offer", "backsOff", "reason", "id"), "TM-BUDGET-017");
  EXPECT_EQ(seen.text_at("evictions", "last", "toldBy").substr(0, 4), "Pod ") << "it tells as long as it is there";

  gone("victim");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "3k");
  seen = told();
  EXPECT_EQ(offer(seen), 3000);
  EXPECT_EQ(seen.text_at("evictions", "last", "toldBy").substr(0, 14), "Event default/");
  EXPECT_EQ(seen.at("evictions", "last", "secondsAgo")->get_int().value_or(0), 30);
  EXPECT_EQ(seen.at("evictions", "last", "backsOffSeconds")->get_int().value_or(0), 90);
  EXPECT_EQ(source(seen, "Event default/").at("ageSeconds")->get_int().value_or(0), 30);
  EXPECT_TRUE(text("n1").starts_with("node n1: offers batch-cpu 3000m and ")) << text("n1");
  EXPECT_TRUE(says(text("n1"), "17200m")) << "what the formula gives is told too";
  EXPECT_TRUE(says(text("n1"), "work of Kubernetes on this node was evicted 30s ago (Event default/n1.")) << text("n1");
  EXPECT_TRUE(says(text("n1"), "  kubernetes lost work: backs off for another 1m30s\n")) << text("n1");
  EXPECT_TRUE(says(text("n1"), "backs off for another 1m30s")) << text("n1");

  run_for(91s);
  metric("n1", "2");
  run_for(1s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(offer(told()), 17200) << text("n1");
  EXPECT_TRUE(says(text("n1"), "more than the 2m0s that it backs off")) << text("n1");
}

// YARN's containers are no pods: the node's agent tells of them on the Node. The event that the manager writes of it is
// not taken for another eviction.
TEST_F(ExplainTest, ReadsYarnEvictionFromNode) {
  tidemark("{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {backOff: 2m}}");
  batch("stays", "3000");
  start();
  EXPECT_EQ(offered("n1"), "17200");
  const std::string ended = model::format_ended_tasks({{clock.wall(), "", "yarn/application_1_0001", 1, 0}});
  must("PATCH", "/api/v1/nodes/n1",
       Json::object({{"metadata",
                      Json::object({{"annotations", Json::object({{model::kEndedTasksAnnotation, Json(ended)}})}})}}),
       kMerge);
  run_for(20s);
  EXPECT_EQ(offered("n1"), "3k");
  const Json seen = told();
  EXPECT_EQ(offer(seen), 3000) << text("n1");
  EXPECT_EQ(seen.text_at("offer", "backsOff", "reason", "id"), "TM-BUDGET-017");
  EXPECT_EQ(seen.text_at("evictions", "last", "toldBy"), "Node n1");
  EXPECT_EQ(seen.text_at("evictions", "last", "side"), "yarn");
  EXPECT_EQ(seen.at("offer", "backsOff", "secondsLeft")->dump(), R"({"yarn":100})");
  EXPECT_EQ(seen.at("evictions", "last", "secondsAgo")->get_int().value_or(0), 20);
}

// Events have times in seconds, agents in milliseconds, and the clock of a node may be ahead: the side of an evicted
// task comes from the event, not from times.
TEST_F(ExplainTest, ReadsEvictedSideFromEvents) {
  tidemark("{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {backOff: 2m}}");
  batch("stays", "3000");
  start();
  run_for(700ms);
  const auto ended_at = clock.wall() + base::Duration(2s);
  must("PATCH", "/api/v1/nodes/n1",
       Json::object(
           {{"metadata", Json::object({{"annotations",
                                        Json::object({{model::kEndedTasksAnnotation,
                                                       Json(model::format_ended_tasks(
                                                           {{ended_at, "", "yarn/application_1_0001", 1, 0}}))}})}})}}),
       kMerge);
  run_for(20s);
  const auto found = [&] {
    kube::Interner interner;
    const Json object = must("GET", "/api/v1/nodes/n1", nullptr);
    const auto node = kube::decode_node(object.dump(), manager::node_fields(), interner).value();
    return net::testing::run_task(loop, clock, operate::last_eviction(*client, node, {}, clock.wall(), 10s));
  };
  operate::LastEviction last = found();
  EXPECT_FALSE(last.kubernetes) << last.kubernetes->object;
  ASSERT_TRUE(last.yarn);

  batch("victim", "1000");
  run_for(10s);
  evict("victim");
  run_for(1s);
  gone("victim");
  run_for(10s);
  must("PATCH", "/api/v1/nodes/n1",
       Json::object(
           {{"metadata", Json::object({{"annotations", Json::object({{model::kEndedTasksAnnotation, Json()}})}})}}),
       kMerge);
  last = found();
  ASSERT_TRUE(last.kubernetes);
  EXPECT_TRUE(last.kubernetes->object.starts_with("Event ")) << last.kubernetes->object;
  ASSERT_TRUE(last.yarn) << "the annotation is gone, its event is there";
  EXPECT_TRUE(last.yarn->object.starts_with("Event ")) << last.yarn->object;
  EXPECT_NE(last.yarn->object, last.kubernetes->object);
}

TEST_F(ExplainTest, UnreadableEventsAreOnlyANote) {
  tidemark("{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {backOff: 2m}}");
  start();
  between->refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (request.target.find("/events") == std::string::npos) return std::nullopt;
    return Error{ErrorKind::kDenied, "events are forbidden", 0, 0};
  };
  const std::string shown = text("n1");
  EXPECT_TRUE(says(shown, "17200m")) << shown;
  EXPECT_TRUE(says(shown, "so an eviction whose pod is gone is not seen: ")) << shown;
}

TEST_F(ExplainTest, ShowsEvictionBudgetWithSource) {
  tidemark(
      "{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {breaker: {atLeast: 4, ratePercent: 10, "
      "coolDown: 10m}}}");
  start();
  for (int i = 0; i < 4; ++i) {
    batch(cat("victim-", i), "1000");
    status(cat("victim-", i), Json::object({{"phase", "Failed"}, {"reason", "Evicted"}}));
  }
  run_for(66s);
  EXPECT_EQ(offered("n1"), "0");
  const Json seen = told();
  EXPECT_EQ(offer(seen), 0);
  EXPECT_EQ(seen.text_at("evictions", "breaker", "phase"), "open");
  EXPECT_TRUE(seen.at("evictions", "stopped")->as_bool());
  const Json budgets = source(seen, "ConfigMap koordinator-system/tidemark-budgets");
  EXPECT_FALSE(budgets.text_at("revision").empty());
  EXPECT_GE(budgets.at("ageSeconds")->get_int().value_or(-1), 0);
  EXPECT_TRUE(says(text("n1"), "evictions of the pool: sells nothing new since ")) << text("n1");
}

TEST_F(ExplainTest, ShowsRevisionOfNodeWithReason) {
  node("n2", Json::object({{"pool", "first"}}));
  metric("n2", "2");
  tidemark(
      "{schema: 1, mode: enforce, rollout: {nodesPerMinute: 60, canarySoak: 1h}, pools: [{name: first, canary: true, "
      "nodeSelector: {matchLabels: {pool: first}}}]}");
  start();
  EXPECT_EQ(told("n1").text_at("revision", "here"), "everywhere") << text("n1");
  settings(Json::object({{"enable", true}, {"cpuReclaimThresholdPercent", 50}}));
  run_for(30s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(offered("n2"), "14k") << "half of 32 without the 2 of the system";

  const Json kept = told("n1");
  const Json reached = told("n2");
  EXPECT_EQ(offer(kept), 17200);
  EXPECT_EQ(offer(reached), 14000);
  EXPECT_EQ(kept.text_at("revision", "here"), "kept");
  EXPECT_EQ(reached.text_at("revision", "here"), "reached");
  EXPECT_FALSE(kept.at("revision", "canary")->as_bool());
  EXPECT_TRUE(reached.at("revision", "canary")->as_bool());
  EXPECT_EQ(kept.text_at("revision", "name").substr(0, 3), "1 (");
  EXPECT_EQ(kept.text_at("revision", "rollingOut", "name").substr(0, 3), "2 (");
  EXPECT_EQ(kept.text_at("revision", "rollingOut", "phase"), "soak");
  const Json revisions = source(reached, "ConfigMap koordinator-system/tidemark-config-revisions");
  EXPECT_FALSE(revisions.text_at("revision").empty());
  EXPECT_GE(revisions.at("ageSeconds")->get_int().value_or(-1), 25);
  EXPECT_TRUE(says(text("n1"), "still in force here while 2 (")) << text("n1");
  EXPECT_TRUE(says(text("n2"), "pool first, which gets new settings first")) << text("n2");
  EXPECT_TRUE(says(text("n2"), "has reached this node; it is being rolled out: ")) << text("n2");
}

// The manager then only cuts offers, and the command cannot know whether the pool may sell.
TEST_F(ExplainTest, UnknownEvictionRecordIsReportedAsUnknown) {
  tidemark("{schema: 1, mode: enforce, rollout: {pace: at-once}}");
  start();
  EXPECT_TRUE(says(text("n1"), "evictions of the pool: sells as its settings say\n")) << text("n1");
  const Json newer = Json::object({{"state.json", Json(R"({"schema":2,"pools":{"default":"open"}})")}});
  must("PATCH", cat(kConfigPath, "/", model::kBudgetsName), Json::object({{"data", newer}}), kMerge);
  run_for(10s);
  const std::string told_now = text("n1");
  EXPECT_TRUE(says(told_now, "evictions of the pool: a newer version counts them")) << told_now;
  EXPECT_FALSE(says(told_now, "sells as its settings say")) << told_now;
  EXPECT_FALSE(told().at("evictions", "known")->as_bool());
  metric("n1", "1");
  EXPECT_EQ(offer(told()), 17200) << "and the offer that it shows does not grow with what is free";
}

TEST_F(ExplainTest, NotesSettingsWithoutEffectInConfig) {
  setting("cpu-burst-config", R"({"clusterStrategy":{"policy":"cpuBurstOnly"}})");
  ExplainOptions options;
  options.node = "n1";
  const auto answer = net::testing::run_task(loop, clock, explain_config(loop, *client, options));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(says(*answer, "note: set, without effect with Tidemark's agent: cpuBurstStrategy")) << *answer;
}

// The NodeSLO is stale, because no manager runs here.
TEST_F(ExplainTest, NotesExpiredRaisedLineInConfig) {
  const auto end = base::format_rfc3339(clock.wall() + 1h);
  Json object = name_only("n1");
  object["apiVersion"] = "slo.koordinator.sh/v1alpha1";
  object["kind"] = "NodeSLO";
  object["spec"] = *Json::parse(
      cat(R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":85},"extensions":{"Object":{)",
          R"("tidemark":{"schema":1,"lines":[{"from":")", end, R"(","cpuSuppressThresholdPercent":65}]}}}})"));
  must("POST", manager::testing::kNodeSlosPath, object);
  const auto config = [&] {
    ExplainOptions options;
    options.node = "n1";
    auto answer = net::testing::run_task(loop, clock, explain_config(loop, *client, options));
    return answer ? *answer : answer.error().message;
  };
  EXPECT_FALSE(says(config(), "raised lines of its NodeSLO")) << config();
  clock.advance(1h);
  EXPECT_TRUE(says(config(), cat("its agent holds the lower ones until one does: cpuSuppressThresholdPercent 85 % -> ",
                                 "65 %, since ", end)))
      << config();
}

// What is not worked out from other terms is some object's, and no source names a term that is not there.
TEST_F(ExplainTest, EachTermHasItsSource) {
  start();
  const Json seen = told();
  std::set<std::string, std::less<>> sourced, there;
  for (const Json& each : seen.member("sources")->as_array()) {
    for (const Json& term : each.member("terms")->as_array()) sourced.insert(std::string(term.as_string()));
  }
  const std::set<std::string_view> worked_out{"reserved",     "reservedBy", "left",        "origin", "originBy",
                                              "thirdPartyBy", "base",       "unallocated", "reason", "published"};
  for (const auto& [name, part] : seen.as_object()) {
    there.insert(std::string(name));
    if (!name.starts_with("kubernetes.io/")) continue;
    for (const auto& [term, amount] : part.as_object()) {
      there.insert(std::string(term));
      EXPECT_TRUE(sourced.contains(term) || worked_out.contains(term)) << term << " of " << name << " has no source";
    }
  }
  EXPECT_GT(there.size(), 30U);
  for (const char* part :
       {"zones", "normalization", "amplification", "state", "pool", "settings", "revision", "evictions", "offer"}) {
    EXPECT_TRUE(sourced.contains(part)) << part << " has no source";
  }
  for (const auto& term : sourced) EXPECT_TRUE(there.contains(term)) << term << " is not there";
}

TEST_F(ExplainTest, NamesHistoryOfYoungPod) {
  tidemark("{schema: 1, mode: enforce, rollout: {pace: at-once}, profile: tidemark, warmUp: 10m}");
  start();
  const auto web = [this](std::string_view name) {
    Json owner = Json::object(
        {{"apiVersion", "apps/v1"}, {"kind", "StatefulSet"}, {"name", "web"}, {"uid", "1"}, {"controller", true}});
    pod(name, Json::object({{"koordinator.sh/qosClass", "LS"}, {"koordinator.sh/priority-class", "koord-prod"}}),
        Json::object({{"cpu", "8"}, {"memory", "8Gi"}}), Json::array({std::move(owner)}));
  };
  const auto report = [this](std::string_view name) {
    const auto uses = [](std::string_view cores, std::string_view memory) {
      return Json::object({{"resources", Json::object({{"cpu", Json(cores)}, {"memory", Json(memory)}})}});
    };
    Json of_pod = Json::object({{"name", Json(name)},
                                {"namespace", "jobs"},
                                {"priority", "koord-prod"},
                                {"qos", "LS"},
                                {"podUsage", uses("3", "1Gi")}});
    must("PATCH", cat(manager::testing::kNodeMetricsPath, "/n1/status"),
         Json::object({{"status", Json::object({{"updateTime", Json(base::format_rfc3339(clock.wall()))},
                                                {"nodeMetric", Json::object({{"nodeUsage", uses("5", "5Gi")},
                                                                             {"systemUsage", uses("2", "4Gi")}})},
                                                {"podsMetric", Json::array({std::move(of_pod)})}})}}),
         kMerge);
  };
  web("web-0");
  Json young = told();
  ASSERT_EQ(young.member("youngPods")->as_array().size(), 1U);
  EXPECT_EQ(young.member("youngPods")->as_array()[0].text_at("reason", "id"), "TM-SAFE-010");
  EXPECT_TRUE(says(text("n1"), "jobs/web-0: 1000 ‰ of its ramp left, requests 8000m and ")) << text("n1");
  EXPECT_TRUE(says(text("n1"), "no history of jobs/StatefulSet/web at this hour")) << text("n1");

  for (int minute = 0; minute < 60 * 25; ++minute) {
    report("web-0");
    run_for(1min);
  }
  EXPECT_TRUE(told().member("youngPods")->as_array().empty()) << "it is warm";
  web("web-1");
  run_for(5min);
  young = told();
  ASSERT_EQ(young.member("youngPods")->as_array().size(), 1U) << text("n1");
  const Json& one = young.member("youngPods")->as_array()[0];
  EXPECT_EQ(one.text_at("pod"), "jobs/web-1") << text("n1");
  EXPECT_EQ(one.text_at("workload"), "jobs/StatefulSet/web");
  EXPECT_EQ(one.at("leftPermille")->get_int().value_or(0), 500);
  EXPECT_EQ(one.text_at("reason", "id"), "TM-SAFE-010") << "it counts with its request as long as it is not measured";
  EXPECT_EQ(young.member("safeguards")->as_array().back().text_at("id"), "TM-SAFE-010") << "and the formula says so";
  EXPECT_TRUE(says(text("n1"), "not reported yet: ")) << text("n1");
  const std::int64_t expected = one.at("expected", "cpu")->get_int().value_or(0);
  EXPECT_TRUE(3000 <= expected && expected <= 3200) << expected << ": a twentieth of what it used at most";
  const Json history = source(young, one.text_at("profile"));
  ASSERT_TRUE(history.is_object()) << text("n1");
  EXPECT_TRUE(history.text_at("object").starts_with("ConfigMap koordinator-system/tidemark-history-profiles-"));
  EXPECT_FALSE(history.text_at("revision").empty());
  EXPECT_TRUE(says(std::string(history.text_at("gives")), "jobs/StatefulSet/web"));

  report("web-1");
  const Json seen = told();
  EXPECT_EQ(seen.member("youngPods")->as_array()[0].text_at("reason", "id"), "TM-SAFE-011") << text("n1");
  EXPECT_EQ(seen.member("safeguards")->as_array().back().text_at("id"), "TM-SAFE-011");
}

}  // namespace
}  // namespace tidemark::cli
