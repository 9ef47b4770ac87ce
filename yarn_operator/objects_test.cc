#include "yarn_operator/objects.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "kube/intern.h"

namespace tidemark::yarn_operator {
namespace {

class ObjectsTest : public ::testing::Test {
 protected:
  static Json node() {
    return *Json::parse(R"({"metadata":{"name":"n1","resourceVersion":"7",
      "labels":{"kubernetes.io/hostname":"h1","pool":"mixed"},
      "annotations":{"yarn.hadoop.apache.org/node-id":"h1:1","node.koordinator.sh/originExtendedAllocatable":"{}"}},
      "spec":{},"status":{"allocatable":{"cpu":"4","kubernetes.io/batch-cpu":"2k"},
      "conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z"}],
      "addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})");
  }
  kube::Node read(const Json& object) {
    auto read = decode_node(object.dump(), interner_);
    EXPECT_TRUE(read) << object.dump();
    return std::move(*read);
  }
  bool same(const Json& a, const Json& b) {
    const kube::Node before = read(a), after = read(b);
    return says_the_same(&before, &after);
  }
  bool carries_same(const Json& a, const Json& b) {
    const kube::Node before = read(a), after = read(b);
    return carries_the_same(&before, &after);
  }

  kube::Interner interner_;
};

TEST(BatchSumTest, PodThatGoesLeavesNothingBehind) {
  const model::Resources one{{1000}, {1 << 30}}, all{model::CpuMilli::max_value(), model::MemoryBytes::max_value()};
  BatchSum sum;
  sum.add(one, 1);
  sum.add(all, 1);
  sum.add(all, 1);
  EXPECT_EQ(sum.sum(), all);
  sum.add(all, -1);
  sum.add(all, -1);
  EXPECT_EQ(sum.sum(), one);
  EXPECT_FALSE(sum.none());
  sum.add(one, -1);
  EXPECT_TRUE(sum.none());
}

TEST_F(ObjectsTest, IgnoresRepeatedKubeletStatusAndOwnWrites) {
  Json later = node();
  later["metadata"]["resourceVersion"] = Json("8");
  later["status"]["conditions"] = Json::array(
      {Json::object({{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", "2026-01-01T00:05:00Z"}})});
  later["status"]["allocatable"]["cpu"] = Json("5");
  EXPECT_TRUE(same(node(), later));
  EXPECT_TRUE(carries_same(node(), later));
  for (const char* ours : {"node.koordinator.sh/thirdPartyAllocations", "tidemark.io/yarn-book",
                           "tidemark.io/yarn-book-of", "tidemark.io/yarn-reclaim-answer"}) {
    Json written = node();
    written["metadata"]["annotations"][ours] = Json("{}");
    EXPECT_TRUE(same(node(), written)) << ours;
    EXPECT_FALSE(carries_same(node(), written)) << ours;
    EXPECT_FALSE(carries_same(written, node())) << ours;
  }
}

TEST_F(ObjectsTest, NoticesEveryInputOfATotal) {
  for (const char* read : {"yarn.hadoop.apache.org/node-id", "yarn.hadoop.apache.org/cluster-id",
                           "node.koordinator.sh/originExtendedAllocatable", "tidemark.io/yarn-offer",
                           "tidemark.io/yarn-reclaim", "tidemark.io/state-detail"}) {
    Json changed = node();
    changed["metadata"]["annotations"][read] = Json("another");
    EXPECT_FALSE(same(node(), changed)) << read;
    EXPECT_FALSE(same(changed, node())) << read;
  }
  Json cordoned = node();
  cordoned["spec"]["unschedulable"] = Json(true);
  EXPECT_FALSE(same(node(), cordoned));
  Json away = node();
  away["status"]["conditions"] = Json::array({Json::object({{"type", "Ready"}, {"status", "Unknown"}})});
  EXPECT_FALSE(same(node(), away));
  Json moved = node();
  moved["status"]["addresses"] = Json::array({Json::object({{"type", "InternalIP"}, {"address", "10.0.0.2"}})});
  EXPECT_FALSE(same(node(), moved));
  for (const char* amount : {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"}) {
    Json sold = node();
    sold["status"]["allocatable"][amount] = Json("3k");
    EXPECT_FALSE(same(node(), sold)) << amount;
  }
  Json labelled = node();
  labelled["metadata"]["labels"]["pool"] = Json("search");  // pools choose by any label
  EXPECT_FALSE(same(node(), labelled));
  Json more = node();
  more["metadata"]["labels"]["tidemark.io/state"] = Json("off");
  EXPECT_FALSE(same(node(), more));
  EXPECT_FALSE(same(more, node()));
}

TEST_F(ObjectsTest, NoticesNodesThatComeOrGo) {
  const kube::Node there = read(node());
  EXPECT_FALSE(says_the_same(nullptr, &there));
  EXPECT_FALSE(says_the_same(&there, nullptr));
}

TEST_F(ObjectsTest, ComparesNodeAndBatchAmountOfAPod) {
  const auto row = [&](std::string_view node, std::string_view requests) {
    auto read = decode_pod_row(
        base::cat(R"({"metadata":{"name":"p","namespace":"d","resourceVersion":"1"},"spec":{"nodeName":")", node,
                  R"(","containers":[{"name":"c","resources":{"requests":)", requests,
                  R"(}}]},"status":{"phase":"Running"}})"),
        interner_);
    EXPECT_TRUE(read);
    return std::move(*read);
  };
  EXPECT_EQ(row("n1", R"({"cpu":"1","memory":"1Gi"})").batch, model::Resources());
  const PodRow batch = row("n1", R"({"kubernetes.io/batch-cpu":"1k"})");
  EXPECT_EQ(batch.batch.cpu.value, 1000);
  EXPECT_TRUE(says_the_same(batch, row("n1", R"({"kubernetes.io/batch-cpu":"1k"})")));
  EXPECT_FALSE(says_the_same(batch, row("n1", R"({"kubernetes.io/batch-cpu":"2k"})")));
  EXPECT_FALSE(says_the_same(batch, row("n2", R"({"kubernetes.io/batch-cpu":"1k"})")));
}

TEST_F(ObjectsTest, ComparesNodeAndAnnotationsOfANodeManagerPod) {
  const auto row = [&](std::string_view annotations) {
    auto read = decode_nm_pod_row(
        base::cat(R"({"metadata":{"name":"p","namespace":"d","resourceVersion":"1","annotations":)", annotations,
                  R"(},"spec":{"nodeName":"n1","containers":[{"name":"c"}]},"status":{"phase":"Running"}})"),
        interner_);
    EXPECT_TRUE(read);
    return std::move(*read);
  };
  const NmPodRow named =
      row(R"({"yarn.hadoop.apache.org/node-id":"a:1","yarn.hadoop.apache.org/cluster-id":"blue","other":"x"})");
  const NmPod pod = nm_pod_of(named);
  EXPECT_EQ(pod.name, "d/p");
  EXPECT_EQ(pod.node, "n1");
  EXPECT_EQ(pod.claim, (NmClaim{"a:1", "blue"}));
  EXPECT_FALSE(says_the_same(named, row("{}")));
  EXPECT_TRUE(says_the_same(row(R"({"other":"x"})"), row("{}")));
}

}  // namespace
}  // namespace tidemark::yarn_operator
