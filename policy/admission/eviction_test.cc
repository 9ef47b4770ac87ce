// Which pods the agent of a node may evict. Offline by the raw readers: contract 1.1 (QoS) and 1.2 (priority bands).
// Evictions detect BE by the raw reader.
#include "policy/admission/eviction.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "base/text.h"
#include "policy/admission/pod_json.h"
#include "policy/explain/admission_text.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;

constexpr EvictionAsked kOwn{"node-1", "u-1"};

Json pod(std::string_view labels, std::string_view spec = "", std::string_view annotations = "") {
  return *Json::parse(cat(R"({"metadata":{"name":"a","uid":"u-1","labels":{)", labels, R"(},"annotations":{)",
                          annotations, R"(}},"spec":{"nodeName":"node-1","containers":[{"name":"m"}])", spec, "}}"));
}

std::string answer(const EvictionAsked& asked, const Json& of) {
  const auto refusal = refuse_eviction(asked, of);
  return refusal ? cat(refusal->http_code, " ", to_string(refusal->why)) : "allowed";
}

constexpr std::string_view kBe = R"("koordinator.sh/qosClass":"BE")";

TEST(Eviction, AllowsOfflineWorkOfTheOwnNode) {
  EXPECT_EQ(answer(kOwn, pod(kBe)), "allowed");
  for (const auto* name : {"koord-mid", "koord-batch", "koord-free"}) {
    EXPECT_EQ(answer(kOwn, pod(cat(R"("koordinator.sh/priority-class":")", name, "\""))), "allowed") << name;
  }
  // The bands of 1.2, at both ends.
  for (const int priority : {3000, 3999, 5000, 5999, 7000, 7999}) {
    EXPECT_EQ(answer(kOwn, pod("", cat(R"(,"priority":)", priority))), "allowed") << priority;
  }
}

TEST(Eviction, RefusesOnlineWork) {
  for (const int priority : {0, 2999, 4000, 4999, 6000, 6999, 8000, 8999, 9000, 9999, 2'000'001'000}) {
    EXPECT_EQ(answer(kOwn, pod("", cat(R"(,"priority":)", priority))), "403 Online") << priority;
  }
  for (const auto* qos : {"LSE", "LSR", "LS", "SYSTEM", "be", ""}) {
    EXPECT_EQ(answer(kOwn, pod(cat(R"("koordinator.sh/qosClass":")", qos, "\""))), "403 Online") << qos;
  }
  // An unknown label counts as none, and does not fall through to the number.
  EXPECT_EQ(answer(kOwn, pod(R"("koordinator.sh/priority-class":"batch")", R"(,"priority":5500)")), "403 Online");
  // A pod that says nothing is best effort for Kubernetes, and no victim for us.
  EXPECT_EQ(answer(kOwn, pod("")), "403 Online");
}

TEST(Eviction, RefusesPodOfAnotherNode) {
  EXPECT_EQ(answer({"node-2", "u-1"}, pod(kBe)), "403 AnotherNode");
  EXPECT_EQ(answer({"node-10", "u-1"}, pod(kBe)), "403 AnotherNode");
  EXPECT_EQ(answer({"Node-1", "u-1"}, pod(kBe)), "403 AnotherNode");
  Json unbound = pod(kBe);
  unbound["spec"].as_object().erase("nodeName");
  EXPECT_EQ(answer(kOwn, unbound), "403 AnotherNode");
  // The node is checked before the work: the answer does not reveal what runs on another node.
  EXPECT_EQ(answer({"node-2", "u-1"}, pod("")), "403 AnotherNode");
}

TEST(Eviction, RefusesRequestWithoutNodeOrUid) {
  EXPECT_EQ(refuse_eviction({"", "u-1"})->why, EvictionDenial::kNoNode);
  EXPECT_EQ(refuse_eviction({"node-1", ""})->why, EvictionDenial::kNoUid);
  EXPECT_EQ(refuse_eviction(kOwn), std::nullopt);
  // A pod without a node does not belong to an agent without a node.
  Json unbound = pod(kBe);
  unbound["spec"]["nodeName"] = "";
  EXPECT_EQ(answer({"", "u-1"}, unbound), "403 NoNode");
  Json nameless = pod(kBe);
  nameless["metadata"].as_object().erase("uid");
  EXPECT_EQ(answer({"node-1", ""}, nameless), "400 NoUid");
  EXPECT_EQ(answer(kOwn, nameless), "409 AnotherPod");
}

TEST(Eviction, RefusesNewPodOfTheSameName) {
  EXPECT_EQ(answer({"node-1", "u-0"}, pod(kBe)), "409 AnotherPod");
}

TEST(Eviction, RefusesMirrorPod) {
  EXPECT_EQ(answer(kOwn, pod(kBe, "", R"("kubernetes.io/config.mirror":"feed")")), "403 Mirror");
  EXPECT_EQ(answer(kOwn, pod(kBe, "", R"("kubernetes.io/config.mirror":"")")), "403 Mirror");
  EXPECT_EQ(answer(kOwn, pod(kBe, "", R"("kubernetes.io/config.hash":"feed")")), "allowed");
}

TEST(Eviction, RefusesObjectThatIsNoPod) {
  for (const auto* text : {"null", "[]", "7", R"({"metadata":7})", R"({"metadata":{"uid":7}})", R"({"spec":[]})",
                           R"({"metadata":{"labels":{"koordinator.sh/qosClass":7}}})"}) {
    EXPECT_EQ(answer(kOwn, *Json::parse(text)), "403 Unreadable") << text;
  }
  EXPECT_EQ(answer(kOwn, Json::object()), "409 AnotherPod");
}

TEST(Eviction, RefusalSaysWhatWasFoundAndExpected) {
  const auto text = [](const EvictionAsked& asked, const Json& of) {
    return explain::render_text(*refuse_eviction(asked, of));
  };
  EXPECT_EQ(text({"node-2", "u-1"}, pod(kBe)),
            "the pod is on node node-1: the agent of node node-2 evicts only from its own node [AnotherNode]");
  EXPECT_EQ(text({"node-1", "u-0"}, pod(kBe)), "the pod of that name has the uid u-1 and not u-0 [AnotherPod]");
  EXPECT_EQ(text(kOwn, pod(R"("koordinator.sh/qosClass":"LS","koordinator.sh/priority-class":"koord-prod")")),
            "the pod is online work: its QoS class is not BE, and its priority class is koord-prod and not koord-mid, "
            "koord-batch or koord-free [Online]");
  for (const auto why :
       {EvictionDenial::kNoNode, EvictionDenial::kNoUid, EvictionDenial::kUnreadable, EvictionDenial::kAnotherPod,
        EvictionDenial::kAnotherNode, EvictionDenial::kMirror, EvictionDenial::kOnline}) {
    EXPECT_TRUE(explain::render_text(EvictionRefusal{why, 403, "", ""}).ends_with(cat("[", to_string(why), "]")));
  }
}

// Random pods: allowed are only pods on the agent's node that match the uid, are no mirror, and say that they are
// offline work.
TEST(Eviction, AllowsOnlyIfAllConditionsHold) {
  base::Random random(7);
  const auto one_of = [&random](std::initializer_list<std::string_view> list) {
    return std::string(list.begin()[random.below(list.size())]);
  };
  int allowed = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::string qos = one_of({"BE", "LS", "LSR", "", "BEST"});
    const std::string priority = one_of({"koord-prod", "koord-mid", "koord-batch", "koord-free", "", "other"});
    const std::string node = one_of({"node-1", "node-2", ""});
    const std::string uid = one_of({"u-1", "u-2"});
    const std::string mirror = one_of({"", R"("kubernetes.io/config.mirror":"x")"});
    const std::string asks = one_of({"node-1", "node-2", ""});
    const std::string meant = one_of({"u-1", "u-2", ""});
    Json of = pod(cat(R"("koordinator.sh/qosClass":")", qos, R"(","koordinator.sh/priority-class":")", priority, "\""),
                  "", mirror);
    of["spec"]["nodeName"] = Json(node);
    of["metadata"]["uid"] = Json(uid);
    const bool offline =
        qos == "BE" || priority == "koord-mid" || priority == "koord-batch" || priority == "koord-free";
    const bool wanted = offline && mirror.empty() && !asks.empty() && asks == node && !meant.empty() && meant == uid;
    EXPECT_EQ(!refuse_eviction({asks, meant}, of), wanted) << of.dump() << " for " << asks << ", " << meant;
    allowed += wanted ? 1 : 0;
  }
  EXPECT_GT(allowed, 50);
}

}  // namespace
}  // namespace tidemark::policy::admission
