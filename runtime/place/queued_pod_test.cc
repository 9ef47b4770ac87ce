// A pod, and the node, as their queue reads them.
#include "runtime/place/queued_pod.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/names.h"
#include "policy/state/state.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

TEST(QueuedPod, ReservesLikeScheduler) {
  kube::Interner interner;
  const auto pod = decode_queued_pod(
      R"({"metadata":{"namespace":"n","name":"p","uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{
        "priority":5000,"overhead":{"cpu":"50m"},
        "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}},
                          {"name":"i","resources":{"requests":{"cpu":"2","kubernetes.io/batch-cpu":"3000"}}}],
        "containers":[{"name":"a","resources":{"requests":{"cpu":"500m","kubernetes.io/batch-cpu":"1000"}}},
                      {"name":"b","resources":{"requests":{"kubernetes.io/batch-cpu":"1000"}}}],
        "tolerations":[{"operator":"Exists"},{"key":"k","value":"v","effect":"PreferNoSchedule"}],
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}},
        "status":{"conditions":[{"type":"DisruptionTarget","status":"True"}]}})",
      interner);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->pod.requests,
            (std::vector<policy::single_node::QueueAmount>{{"cpu", 2150}, {"kubernetes.io/batch-cpu", 3000}}));
  EXPECT_EQ(pod->pod.kind, policy::single_node::WorkKind::kOffline);
  EXPECT_EQ(pod->pod.priority, 5000);
  EXPECT_EQ(pod->pod.tolerations.size(), 1u);
  EXPECT_TRUE(pod->evicted());
  ASSERT_EQ(pod->pod.affinity.size(), 1u);
  EXPECT_FALSE(pod->pod.affinity[0].matches({})) << "a term that asks for nothing matches no node";
  EXPECT_GT(pod->bytes(), sizeof(QueuedPod));
}

// As an agent reads it: an order for YARN alone holds nothing back here, and one that cannot be read sells nothing.
TEST(QueuedNode, ReadsOrderOfNode) {
  constexpr base::WallTime kNow{std::chrono::hours(1000)};
  kube::Interner interner;
  const auto carries = [&](std::string_view label, const std::string& detail = "") {
    Json meta = Json::object({{"name", "n"}, {"labels", Json::object({{model::kStateLabel, label}})}});
    if (!detail.empty()) meta["annotations"] = Json::object({{model::kStateDetailAnnotation, detail}});
    const auto node = decode_queued_node(Json::object({{"metadata", std::move(meta)}}).dump(), interner);
    EXPECT_TRUE(node) << node.error().message;
    return policy::state::effective(node->ordered, model::Mode::kEnforce, kNow).k8s;
  };
  const auto ordered = [&](policy::state::StateCommand command) {
    command.wish = policy::state::Wish::kOff;
    const auto done = policy::state::command_node({}, command, 1, kNow);
    const model::NodeState label = policy::state::label_of(done.marks, kNow);
    return carries(to_string(label), policy::state::format_marks(done.marks, label));
  };
  EXPECT_EQ(carries("on"), model::NodeState::kOn);
  EXPECT_EQ(carries("off"), model::NodeState::kOff);
  EXPECT_EQ(carries("of"), model::NodeState::kDraining);
  EXPECT_EQ(ordered({}), model::NodeState::kOff);
  policy::state::StateCommand drains, of_yarn;
  drains.drain = 5min;
  of_yarn.only.yarn = true;
  EXPECT_EQ(ordered(drains), model::NodeState::kDraining);
  EXPECT_EQ(ordered(of_yarn), model::NodeState::kOn);
}

}  // namespace
}  // namespace tidemark::runtime
