// How the manager tells a node's agent, in the NodeSLO, what of it observes and what enforces, and the classes of
// offline work: by the whole manager, against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "manager/testing/cluster.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using testing::kMerge;
using testing::kNodeSlosPath;

class AgentWordTest : public testing::InMemoryCluster {
 protected:
  static constexpr std::string_view kStepByStep =
      "rollout: {nodesPerMinute: 1, canarySoak: 0s, stopOnEvictions: {watched: false}}\n";
  static constexpr std::string_view kAtOnce = "rollout: {pace: at-once}\n";

  void config(std::string_view text) {
    Json map = name_only(std::string(model::kTidemarkConfigName));
    map["data"] = Json::object({{model::kTidemarkConfigKey, Json(base::cat("schema: 1\n", text))}});
    if (call("POST", testing::kConfigPath, map).status == 409) {
      must("PATCH", base::cat(testing::kConfigPath, "/", model::kTidemarkConfigName),
           Json::object({{"data", map["data"]}}), kMerge);
    }
    run_for(1s);
  }
  void forget_config() {
    for (const std::string_view name : {model::kTidemarkConfigName, model::kRevisionsName}) {
      EXPECT_EQ(call("DELETE", base::cat(testing::kConfigPath, "/", name), nullptr).status, 200);
    }
  }
  Json slo(std::string_view node) { return must("GET", base::cat(kNodeSlosPath, "/", node), nullptr); }
  std::string slo_revision(std::string_view node) {
    return std::string(slo(node).text_at("metadata", "resourceVersion"));
  }
  void patch(std::string_view path, std::string_view name, std::string_view merge) {
    must("PATCH", base::cat(path, "/", name), *Json::parse(merge), kMerge);
    run_for(1s);
  }
  void patch_node(std::string_view name, std::string_view merge) { patch("/api/v1/nodes", name, merge); }
  std::string ours(std::string_view node) {
    const Json found = slo(node);
    const Json* told = found.at("spec", "extensions", "Object", "tidemark");
    return told == nullptr ? "" : told->dump();
  }
  std::string word(std::string_view node) {
    const Json found = slo(node);
    const Json* told = found.at("spec", "extensions", "Object", "tidemark", "agent");
    return told == nullptr ? "" : told->dump();
  }
};

constexpr std::string_view kAllEnforced = R"({"modes":{"default":"enforce"}})";

TEST_F(AgentWordTest, PublishesModesOfThePoolAndClasses) {
  node("n1", Json::object({{"pool", "a"}}));
  node("n2");
  config(base::cat(kAtOnce, R"(mode: enforce
classes:
- {name: spark, order: 30, restartCost: 2m}
- {name: transcode, order: 10, checkpointing: true, cpuWeight: 50}
pools:
- name: a
  nodeSelector: {matchLabels: {pool: a}}
  mode: {agent: {default: observe, cpuSuppress: enforce}}
)"));
  start();
  const std::string classes =
      R"("classes":[{"name":"transcode","order":10,"cpuWeight":50,"restartCostSeconds":0,"checkpointing":true},)"
      R"({"name":"spark","order":30,"cpuWeight":100,"restartCostSeconds":120,"checkpointing":false}])";
  EXPECT_EQ(word("n1"), base::cat(R"({"modes":{"default":"observe","cpuSuppress":"enforce"},)", classes, "}"));
  EXPECT_EQ(word("n2"), base::cat(R"({"modes":{"default":"enforce"},)", classes, "}"));

  // Another pool has other settings; extensions of another program stay, and a foreign write to ours is repaired.
  patch_node("n1", R"({"metadata":{"labels":{"pool":null}}})");
  EXPECT_EQ(word("n1"), word("n2"));
  patch(kNodeSlosPath, "n1",
        R"({"spec":{"extensions":{"Object":{"mine":1,"tidemark":{"agent":{"modes":{"default":"off"}}}}}}})");
  EXPECT_EQ(word("n1"), word("n2"));
  EXPECT_EQ(*slo("n1").at("spec", "extensions", "Object", "mine"), Json(1));

  const std::string before = slo_revision("n2");
  run_for(10min);
  replicas.clear();
  start("two");
  run_for(10min);
  EXPECT_EQ(slo_revision("n2"), before) << "nothing is written twice";
}

TEST_F(AgentWordTest, EditReachesNodesInSteps) {
  for (const char* name : {"n1", "n2", "n3"}) node(name);
  config(base::cat(kStepByStep, "mode: enforce\n"));
  start();
  const auto observing = [&] {
    int nodes = 0;
    for (const char* name : {"n1", "n2", "n3"}) {
      const bool observes = word(name) == R"({"modes":{"default":"observe"}})";
      EXPECT_TRUE(observes || word(name) == kAllEnforced) << word(name);
      nodes += observes ? 1 : 0;
    }
    return nodes;
  };
  ASSERT_EQ(observing(), 0);
  config(base::cat(kStepByStep, "mode: {agent: observe}\n"));
  int most = 0;
  for (int i = 0; i < 60 && most < 3; ++i) {
    run_for(5s);
    const int now = observing();
    EXPECT_LE(now, most + 1) << "one node a minute";
    most = now;
  }
  EXPECT_EQ(most, 3);
}

TEST_F(AgentWordTest, PublishesNothingIfNodeSlosAreObserved) {
  node("n1");
  config(base::cat(kAtOnce, "mode: enforce\n"));
  start();
  ASSERT_EQ(word("n1"), kAllEnforced);
  config(base::cat(kAtOnce, "mode: {nodeSlo: observe, agent: observe}\n"));
  run_for(1min);
  EXPECT_EQ(word("n1"), kAllEnforced);
  config(base::cat(kAtOnce, "mode: {agent: observe}\n"));
  EXPECT_EQ(word("n1"), R"({"modes":{"default":"observe"}})");
}

TEST_F(AgentWordTest, IsRemovedWithTheSettings) {
  node("n1");
  node("n2");
  config(base::cat(kAtOnce, "mode: {agent: observe}\n"));
  start();
  const std::string told = ours("n1");
  ASSERT_EQ(told, R"({"schema":1,"agent":{"modes":{"default":"observe"}}})");
  patch_node("n2", R"({"metadata":{"annotations":{"tidemark.io/settings":"schema: 1"}}})");
  ASSERT_NE(ours("n2"), told);
  // Deleted: the last good settings hold, with all that they hold back.
  EXPECT_EQ(call("DELETE", base::cat(testing::kConfigPath, "/", model::kTidemarkConfigName), nullptr).status, 200);
  run_for(1min);
  EXPECT_EQ(ours("n1"), told);
  config(base::cat(kAtOnce, "mode: {agent: observe}\n"));

  // Never heard of: a stand-in for the peer's manager tells nothing, and leaves the node its own settings.
  replicas.clear();
  forget_config();
  start("two");
  EXPECT_EQ(slo("n1").at("spec", "extensions")->dump(), R"({"Object":{}})");
  EXPECT_EQ(ours("n2"), R"({"schema":1,"settings":{"schema":1,"nodeSlo":{}}})");
  patch(kNodeSlosPath, "n1", R"({"spec":{"extensions":{"Object":{"tidemark":{"schema":1,"agent":{"modes":[]}}}}}})");
  EXPECT_EQ(ours("n1"), "") << "nor one that cannot be read: an agent would go by it at its next start";
}

}  // namespace
}  // namespace tidemark::manager
