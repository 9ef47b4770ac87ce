// What people ordered, obeyed by a running manager; against the API server in memory, under simulated time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "kube/convert.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/state/contests.h"
#include "manager/state/mark_write.h"
#include "manager/state/other_writer.h"
#include "manager/testing/cluster.h"
#include "model/generation.h"
#include "model/names.h"
#include "policy/state/desired.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

using testing::kBatchCpu;
using testing::kConfigPath;
using testing::kMerge;
using testing::kNodeMetricsPath;
using testing::kNodeSlosPath;
using testing::Replica;

constexpr std::string_view kOrigin = "node.koordinator.sh/originExtendedAllocatable";
constexpr std::string_view kJsonPatch = "application/json-patch+json";

class StateTest : public testing::InMemoryCluster {
 protected:
  static policy::state::StateCommand off(std::string why = "a test") {
    policy::state::StateCommand command;
    command.wish = policy::state::Wish::kOff;
    command.by = "ann@ops";
    command.why = std::move(why);
    return command;
  }
  static policy::state::StateCommand as(policy::state::Wish wish) {
    auto command = off();
    command.wish = wish;
    return command;
  }

  // What `tidemark off|on|observe node` writes.
  void order(std::string_view name, const policy::state::StateCommand& command) {
    const std::string bytes = read_node(name).dump();
    kube::Interner interner;
    const auto node = *kube::decode_node(bytes, node_fields(), interner);
    const auto exact = *exact_mark(bytes);
    const auto marks = read_marks(exact).marks;
    const auto generation = model::next_generation(marks.generation, clock.wall());
    const auto ordered = policy::state::command_node(marks, command, generation, clock.wall());
    ASSERT_EQ(ordered.effect, policy::state::CommandEffect::kSet);
    const bool stops = command.wish == policy::state::Wish::kOff;
    const auto write = mark_write(exact, ordered.marks, clock.wall(), stops ? &node : nullptr);
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status"), *Json::parse(write.body), kJsonPatch);
  }
  void order_cluster(const policy::state::StateCommand& command) {
    const auto commanded = *policy::state::command_desired({}, "", command, clock.wall());
    Json map = name_only("tidemark-state");
    map["data"] = Json::object({{"state.json", Json(policy::state::format_desired(commanded.desired))}});
    must("POST", kConfigPath, map);
  }
  void tidemark_config(const Json& config) {
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", Json(config.dump())}});
    must("POST", kConfigPath, map);
  }
  std::string condition(std::string_view name, std::string_view field) {
    const Json node_json = read_node(name);
    const Json* conditions = node_json.at("status", "conditions");
    if (conditions == nullptr) return "";
    for (const Json& each : conditions->as_array()) {
      if (each.text_at("type") == model::kStateCondition) return std::string(each.text_at(field));
    }
    return "";
  }
  std::string label(std::string_view name) {
    return std::string(read_node(name).text_at("metadata", "labels", model::kStateLabel));
  }
  std::string origin(std::string_view name) {
    return std::string(read_node(name).text_at("metadata", "annotations", kOrigin));
  }
  void overwrite(std::string_view name, std::string_view cpu) {
    const Json amounts = Json::object({{kBatchCpu, Json(cpu)}});
    must("PATCH", base::cat("/api/v1/nodes/", name, "/status?fieldManager=koord-manager"),
         Json::object({{"status", Json::object({{"capacity", amounts}, {"allocatable", amounts}})}}), kMerge);
  }
};

TEST_F(StateTest, OffNodeStaysUnsold) {
  node("n1");
  node("n2");
  metric("n1", "2");
  metric("n2", "2");
  start();
  ASSERT_EQ(offered("n1"), "17200");
  EXPECT_EQ(condition("n1", "status"), "") << "no order: nothing to say";
  order("n1", off());
  run_for(1s);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_EQ(condition("n1", "status"), "False");
  EXPECT_EQ(condition("n1", "reason"), "Off");
  EXPECT_EQ(condition("n1", "message"), "off: nothing is sold. ordered for this node by ann@ops: a test");
  for (int i = 0; i < 20; ++i) {
    metric("n1", i % 2 == 0 ? "1" : "8");
    run_for(1min);
    ASSERT_EQ(offered("n1"), "") << "minute " << i;
  }
  EXPECT_EQ(offered("n2"), "") << "its metric is too old by now";
  metric("n1", "2");
  order("n1", as(policy::state::Wish::kOn));
  run_for(2s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(condition("n1", "status"), "True");
  EXPECT_EQ(condition("n1", "reason"), "On");
}

TEST_F(StateTest, DrainsOnlyOneClassAndReturnsItsShare) {
  node("n1");
  metric("n1", "2");
  const auto pod = [&](std::string_view name, std::string_view work_class, std::string_view batch_cpu) {
    Json object = name_only(name);
    const Json amounts =
        Json::object({{"kubernetes.io/batch-cpu", Json(batch_cpu)}, {"kubernetes.io/batch-memory", "1Gi"}});
    object["metadata"]["labels"] =
        Json::object({{"koordinator.sh/qosClass", "BE"}, {"tidemark.io/class", Json(work_class)}});
    object["spec"] = Json::object(
        {{"nodeName", "n1"},
         {"containers",
          Json::array({Json::object({{"name", "c"},
                                     {"image", "i"},
                                     {"resources", Json::object({{"requests", amounts}, {"limits", amounts}})}})})}});
    must("POST", "/api/v1/namespaces/default/pods", object);
  };
  const auto told = [&] {
    const Json object = must("GET", base::cat(kNodeSlosPath, "/n1"), nullptr);
    const Json* found = object.at("spec", "extensions", "Object", "tidemark", "reclaim", "classes");
    return found == nullptr || found->as_array().empty() ? Json() : found->as_array().at(0);
  };
  Json map = name_only("tidemark-config");
  map["data"] = Json::object(
      {{"config.yaml", "schema: 1\nmode: enforce\nclasses: [{name: transcode, order: 1}, {name: spark, order: 3}]"}});
  must("POST", testing::kConfigPath, map);
  pod("t1", "transcode", "4000");
  pod("t2", "transcode", "2000");
  pod("s1", "spark", "2000");
  start();
  run_for(5s);
  ASSERT_EQ(offered("n1"), "17200");
  auto command = off();
  command.only.classes = {"transcode"};
  command.drain = 5min;
  order("n1", command);
  run_for(5s);
  EXPECT_EQ(offered("n1"), "11200") << "what the class holds is reclaimed";
  EXPECT_TRUE(told().is_null()) << "what runs may go on while it drains";
  must("DELETE", "/api/v1/namespaces/default/pods/t2?gracePeriodSeconds=0", nullptr);
  run_for(5s);
  EXPECT_EQ(offered("n1"), "13200");
  run_for(3min);
  metric("n1", "2");
  run_for(2min);
  ASSERT_FALSE(told().is_null());
  EXPECT_EQ(told().text_at("class"), "transcode");
  EXPECT_EQ(told().text_at("amount", "kubernetes.io/batch-cpu"), "4k");
  EXPECT_EQ(told().text_at("keep", "kubernetes.io/batch-cpu"), "0");
  EXPECT_EQ(told().text_at("reason"), "TM-STATE-027");
  must("DELETE", "/api/v1/namespaces/default/pods/t1?gracePeriodSeconds=0", nullptr);
  run_for(5s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(told().text_at("keep", "kubernetes.io/batch-cpu"), "0") << "what comes late is to go as well";
  auto back = as(policy::state::Wish::kOn);
  back.only.classes = {"transcode"};
  order("n1", back);
  run_for(5s);
  EXPECT_TRUE(told().is_null());
}

// Evictions of a class after its order `off` do not mean that too much was sold.
TEST_F(StateTest, CountsEvictionsOfAnOffClassApart) {
  constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
  node("n1");
  metric("n1", "2");
  Json map = name_only("tidemark-config");
  map["data"] = Json::object(
      {{"config.yaml", "schema: 1\nmode: enforce\nclasses: [{name: transcode, order: 1}, {name: spark, order: 3}]"}});
  must("POST", testing::kConfigPath, map);
  const Json amounts = Json::object({{kBatchCpu, "1000"}, {"kubernetes.io/batch-memory", "1Gi"}});
  for (const char* name : {"transcode", "spark"}) {
    Json object = name_only(name);
    object["metadata"]["labels"] = Json::object({{"koordinator.sh/qosClass", "BE"}, {"tidemark.io/class", Json(name)}});
    object["spec"] = Json::object(
        {{"nodeName", "n1"},
         {"containers",
          Json::array({Json::object({{"name", "c"},
                                     {"image", "i"},
                                     {"resources", Json::object({{"requests", amounts}, {"limits", amounts}})}})})}});
    must("POST", kPods, object);
  }
  auto& replica = start();
  run_for(5s);
  auto command = off();
  command.only.classes = {"transcode"};
  order("n1", command);
  run_for(5s);
  const Json evicted = Json::object(
      {{"status", Json::object({{"conditions", Json::array({Json::object({{"type", "DisruptionTarget"},
                                                                          {"status", "True"},
                                                                          {"reason", "EvictionByEvictionAPI"}})})}})}});
  for (const char* name : {"transcode", "spark"}) {
    must("PATCH", base::cat(kPods, "/", name, "/status"), evicted, kMerge);
  }
  run_for(5s);
  const auto counted = [&](std::string_view work_class, std::string_view reason) {
    return replica.metric(
        base::cat("tidemark_tasks_ended_total{class=\"", work_class, "\",pool=\"default\",reason=\"", reason, "\"}"));
  };
  EXPECT_EQ(counted("transcode", "drained"), 1);
  EXPECT_EQ(counted("transcode", "api"), 0);
  EXPECT_EQ(counted("spark", "api"), 1);
}

TEST_F(StateTest, ClassIsDrainedWhenNoTaskIsLeft) {
  node("n1");
  metric("n1", "2");
  start();
  run_for(5s);
  auto command = off();
  command.only.classes = {"transcode"};
  command.drain = 1h;
  order("n1", command);
  run_for(10s);
  const Json object = must("GET", base::cat(kNodeSlosPath, "/n1"), nullptr);
  const Json* found = object.at("spec", "extensions", "Object", "tidemark", "reclaim", "classes");
  ASSERT_NE(found, nullptr) << "nothing of it is there: it is off at once";
  EXPECT_EQ(offered("n1"), "17200");
}

TEST_F(StateTest, ObeysTheLabelAheadOfTheBudget) {
  node("n1");
  metric("n1", "2");
  start();
  ASSERT_EQ(offered("n1"), "17200");
  must("PATCH", "/api/v1/nodes/n1",
       Json::object({{"metadata", Json::object({{"labels", Json::object({{model::kStateLabel, "off"}})}})}}), kMerge);
  run_for(100ms);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_EQ(*read_node("n1").at("metadata", "annotations", kOrigin),
            Json(R"({"resources":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"}})"))
      << "YARN hears of it too";
}

TEST_F(StateTest, RestartedManagerObeysExistingOrders) {
  node("n1");
  metric("n1", "2");
  start();
  replicas.clear();
  order("n1", off());
  EXPECT_EQ(offered("n1"), "") << "the command itself takes it back";
  start("two");
  run_for(1min);
  EXPECT_EQ(offered("n1"), "");
}

TEST_F(StateTest, OrderExpires) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  auto command = off();
  command.lasts = 10min;
  order("n1", command);
  run_for(9min + 50s);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_NE(condition("n1", "message").find("until 20"), std::string::npos) << condition("n1", "message");
  EXPECT_EQ(replica.metric("tidemark_nodes_off{pool=\"default\"}"), 1);
  run_for(12s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(label("n1"), "on");
  EXPECT_EQ(condition("n1", "reason"), "On");
  EXPECT_EQ(replica.metric("tidemark_nodes_off{pool=\"default\"}"), 0);
  EXPECT_EQ(replica.metric("tidemark_nodes_on{pool=\"default\"}"), 1);
}

TEST_F(StateTest, TurnsOffOneSide) {
  node("n1");
  node("n2");
  metric("n1", "2");
  metric("n2", "2");
  start();
  const std::string full = origin("n1");
  auto yarn = off();
  yarn.only.yarn = true;
  auto k8s = off();
  k8s.only.k8s = true;
  order("n1", yarn);
  order("n2", k8s);
  run_for(1min);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_NE(origin("n1"), full);
  EXPECT_EQ(condition("n1", "reason"), "OffForYarn");
  EXPECT_EQ(offered("n2"), "");
  EXPECT_EQ(origin("n2"), full);
  EXPECT_EQ(condition("n2", "reason"), "OffForKubernetes");
}

TEST_F(StateTest, DrainingOffersZeroUntilNothingIsSold) {
  node("n1");
  metric("n1", "2");
  Json pod = name_only("batch");
  pod["spec"] = *Json::parse(
      R"({"nodeName":"n1","containers":[{"name":"c","image":"i","resources":{"requests":{"kubernetes.io/batch-cpu":"1000"},"limits":{"kubernetes.io/batch-cpu":"1000"}}}]})");
  must("POST", "/api/v1/namespaces/default/pods", pod);
  start();
  ASSERT_NE(offered("n1"), "");
  auto command = off();
  command.drain = 1h;
  order("n1", command);
  run_for(5min);
  EXPECT_EQ(offered("n1"), "0");
  EXPECT_EQ(label("n1"), "draining");
  must("DELETE", "/api/v1/namespaces/default/pods/batch", *Json::parse(R"({"gracePeriodSeconds":0})"));
  run_for(5s);
  EXPECT_EQ(label("n1"), "off");
  EXPECT_EQ(offered("n1"), "");
}

TEST_F(StateTest, NodeThatJoinsAnOffClusterSellsNothing) {
  order_cluster(off("the whole cluster"));
  start();
  node("late");
  metric("late", "2");
  run_for(3s);
  EXPECT_EQ(offered("late"), "");
  EXPECT_EQ(label("late"), "off") << "its agent reads no ConfigMap";
  EXPECT_EQ(condition("late", "message"),
            "off: nothing is sold. ordered for the whole cluster by ann@ops: the whole cluster");
  // Deleting the ConfigMap switches nothing on.
  must("DELETE", base::cat(kConfigPath, "/tidemark-state"), nullptr);
  run_for(1min);
  node("later");
  metric("later", "2");
  run_for(3s);
  EXPECT_EQ(offered("later"), "");
}

TEST_F(StateTest, UnreadableOrdersStopGrowth) {
  Json map = name_only("tidemark-state");
  map["data"] = Json::object({{"state.json", "{"}});
  must("POST", kConfigPath, map);
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  run_for(1min);
  EXPECT_EQ(replica.metric("tidemark_manager_state_good"), 0);
  EXPECT_TRUE(offered("n1") == "" || offered("n1") == "0") << offered("n1");
}

TEST_F(StateTest, ObservedPoolIsDecidedButNotWritten) {
  tidemark_config(*Json::parse(
      R"({"schema":1,"mode":"enforce","pools":[{"name":"night","nodeSelector":{"matchLabels":{"time":"night"}},"mode":"observe"}]})"));
  node("n1", Json::object({{"time", "night"}}));
  node("n2");
  overwrite("n1", "5001");
  metric("n1", "2");
  metric("n2", "2");
  auto& replica = start();
  run_for(10min);
  EXPECT_EQ(offered("n1"), "5001") << "as another program left it";
  EXPECT_EQ(offered("n2"), "17200");
  EXPECT_EQ(call("GET", base::cat(kNodeSlosPath, "/n1"), nullptr).status, 404);
  EXPECT_EQ(call("GET", base::cat(kNodeSlosPath, "/n2"), nullptr).status, 200);
  EXPECT_EQ(condition("n1", "reason"), "Observed");
  EXPECT_EQ(replica.metric("tidemark_observed_wanted_batch_cpu_cores{pool=\"night\"}"), 17.2);
  EXPECT_EQ(replica.metric("tidemark_observed_in_force_batch_cpu_cores{pool=\"night\"}"), 5.001);
  EXPECT_EQ(replica.metric("tidemark_observed_nodes_different{pool=\"night\"}"), 1);
  // A node of it that is ordered on sells.
  order("n1", as(policy::state::Wish::kOn));
  metric("n1", "2");
  run_for(2s);
  EXPECT_EQ(offered("n1"), "17200");
  EXPECT_EQ(replica.metric("tidemark_observed_nodes_different{pool=\"night\"}"), 0);
}

TEST_F(StateTest, ObservingManagerWritesNothing) {
  node("n1");
  metric("n1", "2");
  overwrite("n1", "5001");
  order("n1", off());
  overwrite("n1", "5001");
  const std::string before = revision("n1");
  ManagerOptions options;
  options.mode = "observe";
  auto& replica = start("one", true, options);
  EXPECT_EQ(replica.manager->not_ready(), "");
  run_for(10min);
  EXPECT_EQ(revision("n1"), before);
  EXPECT_EQ(call("GET", base::cat(kNodeSlosPath, "/n1"), nullptr).status, 404);
  EXPECT_EQ(must("GET", "/apis/coordination.k8s.io/v1/leases", nullptr).at("items")->as_array().size(), 0u);
  EXPECT_EQ(must("GET", "/api/v1/events", nullptr).at("items")->as_array().size(), 0u);
  EXPECT_EQ(replica.metric("tidemark_observed_in_force_batch_cpu_cores{pool=\"default\"}"), 5.001);
}

// ---- a second writer ----

TEST_F(StateTest, YieldsToASecondWriterUntilItIsGone) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  ASSERT_EQ(offered("n1"), "17200");
  for (int i = 0; i < 2; ++i) {
    overwrite("n1", base::cat(5001 + i));
    run_for(5s);
    EXPECT_EQ(offered("n1"), "17200") << "an accident is repaired";
  }
  overwrite("n1", "6001");
  run_for(5s);
  EXPECT_EQ(offered("n1"), "6001") << "a fight is not fought";
  EXPECT_EQ(condition("n1", "reason"), "SecondWriter");
  EXPECT_EQ(condition("n1", "status"), "True") << "it sells, by another program's numbers";
  EXPECT_EQ(replica.metric("tidemark_manager_contested_nodes{component=\"amounts\"}"), 1);
  EXPECT_EQ(replica.metric("tidemark_observed_wanted_batch_cpu_cores{pool=\"default\"}"), 17.2);
  const std::string standing = revision("n1");
  run_for(9min);
  metric("n1", "2");
  EXPECT_EQ(offered("n1"), "6001");
  EXPECT_EQ(revision("n1"), standing) << "and nothing is written meanwhile";
  run_for(2min);
  EXPECT_EQ(offered("n1"), "17200") << "no other program wrote for ten minutes";
  EXPECT_EQ(replica.metric("tidemark_manager_contested_nodes{component=\"amounts\"}"), 0);
  EXPECT_EQ(condition("n1", "reason"), "On");
}

TEST(OtherWriter, IsReadFromManagedFields) {
  const std::string node = R"({"metadata":{"managedFields":[
    {"manager":"kubelet","operation":"Update","time":"2026-11-21T10:00:09Z","fieldsV1":{"f:status":{"f:allocatable":{"f:cpu":{}}}}},
    {"manager":"old","operation":"Update","time":"2026-11-21T10:00:01Z","fieldsV1":{"f:status":{"f:capacity":{"f:kubernetes.io/mid-cpu":{}}}}},
    {"manager":"koord-manager","operation":"Update","time":"2026-11-21T10:00:05Z","subresource":"status",
     "fieldsV1":{"f:status":{"f:allocatable":{"f:kubernetes.io/batch-cpu":{}}}}},
    {"manager":"tidemark","operation":"Update","time":"2026-11-21T10:00:07Z","fieldsV1":{"f:status":{"f:allocatable":{"f:kubernetes.io/batch-memory":{}}}}}]}})";
  const auto owns_batch_cpu = [](const Json& fields) {
    const Json* owned = fields.at("f:status", "f:allocatable");
    return owned != nullptr && owned->member("f:kubernetes.io/batch-cpu") != nullptr;
  };
  EXPECT_EQ(other_writer(node, owns_batch_cpu), "koord-manager (Update)");
  EXPECT_EQ(other_writer(R"({"metadata":{}})", owns_batch_cpu), "");
  EXPECT_EQ(other_writer("no node", owns_batch_cpu), "");
}

TEST_F(StateTest, OrderEndsYielding) {
  node("n1");
  metric("n1", "2");
  start();
  for (int i = 0; i < 3; ++i) {
    overwrite("n1", base::cat(5001 + i));
    run_for(2s);
  }
  ASSERT_EQ(offered("n1"), "5003");
  order("n1", as(policy::state::Wish::kOn));
  run_for(2s);
  EXPECT_EQ(offered("n1"), "17200");
}

TEST_F(StateTest, SuccessorYieldsWhereItsPredecessorDid) {
  node("n1");
  metric("n1", "2");
  start();
  for (int i = 0; i < 3; ++i) {
    overwrite("n1", base::cat(5001 + i));
    run_for(2s);
  }
  ASSERT_EQ(offered("n1"), "5003");
  replicas.clear();
  start("two");
  run_for(1min);
  EXPECT_EQ(offered("n1"), "5003");
}

TEST_F(StateTest, ImmediateSuccessorYieldsToo) {
  for (int i = 0; i < 30; ++i) node(base::cat("other", i));
  node("n1");
  metric("n1", "2");
  start("one", true);
  for (int i = 0; i < 3; ++i) {
    overwrite("n1", base::cat(5001 + i));
    run_for(2s);
  }
  ASSERT_EQ(offered("n1"), "5003");
  net::testing::run_task(loop, clock, replicas.back()->manager->drain());  // the lease is free now
  replicas.clear();
  start("two", true);
  run_for(1min);
  EXPECT_EQ(offered("n1"), "5003");
  EXPECT_EQ(condition("n1", "reason"), "SecondWriter");
}

TEST_F(StateTest, NewManagerRejectsAnOldBackupOfOrders) {
  const auto before = *policy::state::command_desired({}, "spark", as(policy::state::Wish::kOn), clock.wall());
  run_for(1min);
  node("n1");
  order_cluster(off());
  start();
  run_for(5s);
  ASSERT_EQ(label("n1"), "off");
  replicas.clear();
  must("PATCH", base::cat(kConfigPath, "/tidemark-state"),
       Json::object({{"data", Json::object({{"state.json", Json(policy::state::format_desired(before.desired))}})}}),
       kMerge);
  auto& replica = start("two");
  node("n2");
  metric("n2", "2");
  run_for(5s);
  EXPECT_EQ(offered("n2"), "");
  EXPECT_EQ(label("n2"), "off");
  EXPECT_EQ(replica.metric("tidemark_manager_state_good"), 0);
}

TEST_F(StateTest, DrainDoesNotEndWhileTheSoldAmountIsIncomplete) {
  node("n1");
  auto command = off();
  command.drain = 1h;
  order("n1", command);
  const std::string bytes = read_node("n1").dump();
  kube::Interner interner;
  const auto node = *kube::decode_node(bytes, node_fields(), interner);
  const policy::state::SoldNow nothing{false, false};
  NodePermitInputs inputs;
  const auto permit = [&] {
    return node_permit(node, policy::waterline::TidemarkConfig(), &model::PoolModes::capacity, inputs, nothing,
                       clock.wall());
  };
  EXPECT_EQ(permit().state.k8s, model::NodeState::kOff);
  inputs.sold_known = false;
  EXPECT_EQ(permit().state.k8s, model::NodeState::kDraining);
}

TEST_F(StateTest, MarksAreWrittenBeforeConditions) {
  for (int i = 0; i < 40; ++i) node(base::cat("n", i));
  start();
  run_for(10s);  // until every node has its objects
  order_cluster(off());
  run_for(6s);  // at nine writes a second
  int marked = 0;
  for (int i = 0; i < 40; ++i) marked += label(base::cat("n", i)) == "off" ? 1 : 0;
  EXPECT_EQ(marked, 40);
  run_for(10s);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(condition(base::cat("n", i), "reason"), "Off") << i;
}

TEST_F(StateTest, RepeatedlyRefusedMarkIsLoggedAsError) {
  node("n1");
  must("PATCH", "/api/v1/nodes/n1",
       Json::object(
           {{"metadata", Json::object({{"annotations", Json::object({{"full", Json(std::string(262'100, 'x'))}})}})}}),
       kMerge);
  auto& replica = start();
  const auto retries = [&] { return replica.metric("tidemark_work_queue_retries_total{component=\"state\"}"); };
  order_cluster(off());
  run_for(10s);
  EXPECT_EQ(retries(), 0) << "it may still be a race";
  run_for(1min);
  EXPECT_GT(retries(), 0);
  EXPECT_LT(retries(), 12) << "with a pause that grows";
}

// What Contests makes of writes and changes, without a manager around it.
class ContestsTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    testing::InMemoryCluster::SetUp();
    node("n1");
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "contests");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); }, kube::ClientConfig(), base::Random(1));
    recorder = std::make_unique<kube::EventRecorder>(loop, *client, log, metrics, "test");
    kube::InformerConfig config;
    config.resource = kube::kNodes;
    nodes = std::make_unique<kube::Informer<kube::Node>>(
        kube::InformerParts{loop, *client, *client, log, metrics, base::Random(3)}, config,
        [this](std::string_view bytes) { return kube::decode_node(bytes, node_fields(), interner); });
    contests = std::make_unique<Contests>(
        loop, ContestContext{*client, *recorder, *nodes, [] { return true; }, [](const std::string&) {}}, log, metrics);
    now = read();
  }
  kube::Node read() { return *kube::decode_node(read_node("n1").dump(), node_fields(), interner); }
  // The amounts of the node become these, and Contests sees it.
  void becomes(std::string_view cpu) {
    const Json amounts = Json::object({{kBatchCpu, Json(cpu)}});
    must("PATCH", "/api/v1/nodes/n1/status",
         Json::object({{"status", Json::object({{"capacity", amounts}, {"allocatable", amounts}})}}), kMerge);
    const kube::Node before = std::exchange(now, read());
    contests->node_changed("n1", &before, &now);
  }
  void write(std::int64_t cpu) {
    becomes(std::to_string(cpu));  // what was there before is of no interest
    contests->before_write(model::NodeName("n1"), kube::extended_resources(now.allocatable));
    contests->after_write(model::NodeName("n1"), true);
  }
  double contested() const {
    return metrics.text().contains("tidemark_manager_contested_nodes{component=\"amounts\"} 1\n") ? 1 : 0;
  }

  base::Registry metrics;
  kube::Interner interner;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::EventRecorder> recorder;
  std::unique_ptr<kube::Informer<kube::Node>> nodes;
  std::unique_ptr<Contests> contests;
  kube::Node now;
};

TEST_F(ContestsTest, OwnLateWriteIsNoSecondWriter) {
  for (int i = 0; i < 5; ++i) {
    write(1000 + i);
    contests->before_write(model::NodeName("n1"), {});  // to something else, and no answer comes
    contests->lost_write(model::NodeName("n1"));
    becomes(std::to_string(2000 + i));  // it was done all the same
  }
  EXPECT_FALSE(contests->look(now).reason);
}

TEST_F(ContestsTest, FormerLeaderForgetsItsWrites) {
  for (int i = 0; i < 3; ++i) {
    write(1000 + i);
    becomes(std::to_string(2000 + i));
  }
  EXPECT_EQ(contests->look(now).reason, model::Reason::kContestStanding);
  EXPECT_EQ(contested(), 1);
  contests->leave();
  EXPECT_FALSE(contests->look(now).reason);
  EXPECT_EQ(contested(), 0);
  contests->after_write(model::NodeName("n1"), true);  // one that was under way
  becomes("7");
  EXPECT_FALSE(contests->look(now).reason);
}

// Koordinator's manager removes the amounts where its own co-location is off. Restoring them each time is a conflict.
TEST_F(StateTest, RepeatedRemovalOfAmountsIsASecondWriter) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  const auto remove = [this] {
    const Json amounts = Json::object({{kBatchCpu, nullptr}});
    must("PATCH", "/api/v1/nodes/n1/status?fieldManager=koord-manager",
         Json::object({{"status", Json::object({{"capacity", amounts}, {"allocatable", amounts}})}}), kMerge);
  };
  for (int i = 0; i < 2; ++i) {
    remove();
    run_for(5s);
    EXPECT_EQ(offered("n1"), "17200") << "an accident is repaired";
  }
  remove();
  run_for(1min);
  EXPECT_EQ(offered("n1"), "");
  EXPECT_EQ(replica.metric("tidemark_manager_contested_nodes{component=\"amounts\"}"), 1);
}

TEST_F(StateTest, WithdrawalByTheCommandIsNoForeignWrite) {
  node("n1");
  metric("n1", "2");
  auto& replica = start();
  for (int i = 0; i < 4; ++i) {
    order("n1", off());
    run_for(2s);
    EXPECT_EQ(offered("n1"), "");
    order("n1", as(policy::state::Wish::kOn));
    run_for(2s);
    EXPECT_EQ(offered("n1"), "17200");
  }
  EXPECT_EQ(replica.metric("tidemark_manager_overwrites_total{component=\"amounts\"}"), 0);
}

}  // namespace
}  // namespace tidemark::manager
