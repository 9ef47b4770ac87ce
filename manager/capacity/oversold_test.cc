// A node of which both schedulers sold too much, on a running manager: the mark, the taint, what both sides are
// offered; against the API server in memory, under simulated time. 17200 milli-cores of it are for batch.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "manager/capacity/decide.h"
#include "manager/state/mark_write.h"
#include "manager/testing/cluster.h"
#include "model/annotations.h"
#include "model/generation.h"
#include "model/names.h"
#include "model/oversold.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using model::CpuMilli;
using model::MemoryBytes;
using testing::kConfigPath;
using testing::kMerge;

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::string_view kDefaultPods = "/api/v1/namespaces/default/pods";

class OversoldTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    node("n1");
    metric("n1", "2");
    must("PATCH", "/api/v1/nodes/n1",
         *Json::parse(R"({"spec":{"taints":[{"key":"gpu","value":"a","effect":"NoExecute"}]}})"), kMerge);
  }
  void say(std::string_view text) {
    Json map = name_only("tidemark-config");
    map["data"] = Json::object({{"config.yaml", Json(base::cat("schema: 1\n", text))}});
    if (call("POST", kConfigPath, map).status == 409) {
      must("PATCH", base::cat(kConfigPath, "/tidemark-config"), Json::object({{"data", map["data"]}}), kMerge);
    }
  }
  void yarn_holds(std::int64_t cpu_milli) {
    model::YarnBook says;
    if (const auto offer = yarn_offer()) {
      says.generation = offer->generation;
      says.confirmed = offer->offer;
    }
    says.sold.emplace();
    says.sold->push_back({"", {CpuMilli{cpu_milli}, MemoryBytes{kGi}}});
    must("PATCH", "/api/v1/nodes/n1",
         Json::object({{"metadata", Json::object({{"annotations", Json::object({{model::kYarnBookAnnotation,
                                                                                 Json(format_yarn_book(says))}})}})}}),
         kMerge);
  }
  std::optional<model::YarnOffer> yarn_offer() {
    const Json read = read_node("n1");
    const auto text = read.text_at("metadata", "annotations", model::kYarnOfferAnnotation);
    if (text.empty()) return std::nullopt;
    return *model::parse_yarn_offer(text);
  }
  void pod(std::string_view name, std::string_view batch_cpu) {
    Json object = name_only(name);
    const Json amounts =
        Json::object({{"kubernetes.io/batch-cpu", Json(batch_cpu)}, {"kubernetes.io/batch-memory", "1Gi"}});
    object["metadata"]["labels"] = Json::object({{"koordinator.sh/qosClass", "BE"}});
    object["spec"] = Json::object(
        {{"nodeName", "n1"},
         {"containers",
          Json::array({Json::object({{"name", "c"},
                                     {"image", "i"},
                                     {"resources", Json::object({{"requests", amounts}, {"limits", amounts}})}})})}});
    must("POST", kDefaultPods, object);
  }
  void end(std::string_view name) {
    must("PATCH", base::cat(kDefaultPods, "/", name, "/status"), *Json::parse(R"({"status":{"phase":"Succeeded"}})"),
         kMerge);
  }
  // "marked gpu:NoExecute tidemark.io/oversold:NoSchedule"
  std::string carries() {
    const Json read = read_node("n1");
    std::string out =
        read.text_at("metadata", "annotations", model::kOversoldAnnotation).empty() ? "unmarked" : "marked";
    const Json* taints = read.at("spec", "taints");
    if (taints == nullptr) return out;
    for (const Json& each : taints->as_array()) out += base::cat(" ", each.text_at("key"), ":", each.text_at("effect"));
    return out;
  }
  void both_sell_too_much() {
    yarn_holds(6000);
    pod("a", "8000");
    start();
    run_for(2s);
    yarn_holds(6000);  // its operator confirms
    run_for(5s);
    EXPECT_EQ(offered("n1"), "11200");
    EXPECT_EQ(carries(), "unmarked gpu:NoExecute");
    pod("b", "8000");
    run_for(1s);
  }
  void off() {
    policy::state::StateCommand command;
    command.wish = policy::state::Wish::kOff;
    command.by = "ann@ops";
    const std::string bytes = read_node("n1").dump();
    kube::Interner interner;
    const auto node = *kube::decode_node(bytes, node_fields(), interner);
    const auto exact = *exact_mark(bytes);
    const auto marks = read_marks(exact).marks;
    const auto ordered = policy::state::command_node(
        marks, command, model::next_generation(marks.generation, clock.wall()), clock.wall());
    const auto write = mark_write(exact, ordered.marks, clock.wall(), &node);
    must("PATCH", "/api/v1/nodes/n1/status", *Json::parse(write.body), "application/json-patch+json");
  }

  static constexpr std::string_view kOn = "mode: enforce\narbitrate: {enabled: true}\n";
  static constexpr std::string_view kFree = "unmarked gpu:NoExecute";
  static constexpr std::string_view kHeldBack = "marked gpu:NoExecute tidemark.io/oversold:NoSchedule";
};

TEST_F(OversoldTest, CapsOffersAtHeldUntilItFitsForAMinute) {
  say(kOn);
  both_sell_too_much();
  EXPECT_EQ(carries(), kHeldBack) << "within a second";
  end("b");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "8k") << "what the pod held is not sold";
  EXPECT_EQ(yarn_offer()->offer.cpu.value, 6000);
  metric("n1", "2");
  run_for(45s);
  EXPECT_EQ(carries(), kHeldBack);
  run_for(10s);
  EXPECT_EQ(carries(), kFree);
  EXPECT_EQ(offered("n1"), "11200");
}

TEST_F(OversoldTest, RestartedManagerFollowsTheStateMark) {
  say(kOn);
  both_sell_too_much();
  replicas.clear();
  start("two");
  run_for(5s);
  EXPECT_EQ(carries(), kHeldBack);
  end("b");
  run_for(10s);
  EXPECT_EQ(offered("n1"), "8k");
  metric("n1", "2");
  run_for(60s);
  EXPECT_EQ(carries(), kFree);
}

TEST_F(OversoldTest, PoolSettingsEnableTheTaint) {
  say("mode: enforce\narbitrate: {enabled: true, taint: false}\n");
  both_sell_too_much();
  EXPECT_EQ(carries(), "marked gpu:NoExecute");
  say(kOn);
  run_for(30s);
  EXPECT_EQ(carries(), kHeldBack);
}

TEST_F(OversoldTest, KoordinatorProfileDoesNotUseIt) {
  say("mode: enforce\n");
  both_sell_too_much();
  run_for(10s);
  EXPECT_EQ(carries(), kFree);
}

TEST_F(OversoldTest, RestoresARemovedTaint) {
  say(kOn);
  both_sell_too_much();
  must("PATCH", "/api/v1/nodes/n1", *Json::parse(R"({"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}})"), kMerge);
  run_for(2s);
  EXPECT_EQ(carries(), "marked x:NoSchedule tidemark.io/oversold:NoSchedule");
}

TEST_F(OversoldTest, ObservedNodeGetsNoTaint) {
  say(kOn);
  both_sell_too_much();
  say("mode: observe\narbitrate: {enabled: true}\n");
  run_for(30s);
  EXPECT_EQ(carries(), "marked gpu:NoExecute") << "of its amounts nothing is written any more";
}

TEST_F(OversoldTest, ObservedNodeGetsNoMark) {
  say("mode: observe\narbitrate: {enabled: true}\n");
  pod("a", "8000");
  yarn_holds(6000);
  start();
  run_for(5s);
  pod("b", "8000");
  run_for(5s);
  EXPECT_EQ(carries(), kFree);
}

TEST_F(OversoldTest, OffRemovesTaintAndMark) {
  say(kOn);
  both_sell_too_much();
  off();
  run_for(2s);
  EXPECT_EQ(carries(), kFree);
}

}  // namespace
}  // namespace tidemark::manager
