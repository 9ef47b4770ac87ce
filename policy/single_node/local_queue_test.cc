// A node and its queue, described as a user would: which pods are bound, and the status of the others.
#include "policy/single_node/local_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/single_node/telling.h"

namespace tidemark::policy::single_node {
namespace {

using namespace std::chrono_literals;

constexpr base::WallTime kNow{std::chrono::hours(1000)};
const std::string kCpu(model::kBatchCpu), kMemory(model::kBatchMemory);

struct LocalQueueTest : ::testing::Test {
  LocalQueueTest() {
    node.name = "n1";
    node.allocatable = {{"cpu", 4000}, {"memory", 1000}, {"pods", 10}, {kCpu, 6000}, {kMemory, 1000}};
    node.labels = {{"disk", "ssd"}};
  }
  static QueuePod pod(std::string_view name, std::vector<QueueAmount> requests, base::Duration age = 0s) {
    QueuePod out;
    out.uid = base::cat("uid-", name);
    out.ns = "jobs";
    out.name = name;
    out.requests = std::move(requests);
    for (const QueueAmount& each : out.requests) {
      if (each.resource == kCpu || each.resource == kMemory) out.kind = WorkKind::kOffline;
    }
    out.created = kNow + -age;
    return out;
  }
  QueuePod& waits(std::string_view name, std::vector<QueueAmount> requests, base::Duration age = 0s) {
    return waiting.emplace_back(pod(name, std::move(requests), age));
  }
  QueuePod& batch(std::string_view name, std::int64_t cpu_milli, base::Duration age = 0s) {
    return waits(name, {{kCpu, cpu_milli}}, age);
  }
  void runs(std::vector<QueueAmount> requests) {
    bound.push_back(pod(base::cat("bound-", bound.size()), std::move(requests)));
  }
  LocalQueuePlan plan(base::Duration later = 0s) const {
    std::vector<const QueuePod*> of_node;
    std::vector<QueueWaiting> of_queue;
    for (const QueuePod& each : bound) of_node.push_back(&each);
    for (const QueuePod& each : waiting) {
      const auto seen = waited.find(each.name);
      of_queue.push_back({&each, (seen == waited.end() ? kNow - each.created : seen->second) + later});
    }
    return local_queue({known ? &node : nullptr, of_node, of_queue, since_eviction, all_known, off});
  }
  const QueueWait& of(const LocalQueuePlan& plan, std::string_view name) const {
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].name == name && plan.outcomes[i]) return *plan.outcomes[i];
    }
    ADD_FAILURE() << name << " does not wait";
    static const QueueWait none{};
    return none;
  }
  // In the order of the queue: "a bound, b 1/2 short, c 2/2 behind jobs/b".
  std::string look(base::Duration later = 0s) const {
    static constexpr std::string_view kWords[] = {"gated",   "no node",   "mismatch",      "cordoned",
                                                  "tainted", "not ready", "not all known", "too large",
                                                  "short",   "behind",    "cooling",       "off"};
    std::vector<std::string> out;
    const LocalQueuePlan all = plan(later);
    for (const std::size_t i : all.order) {
      const QueueOutcome& each = all.outcomes[i];
      if (!each) {
        out.push_back(waiting[i].name + " bound");
        continue;
      }
      out.push_back(base::cat(waiting[i].name, " ", each->position, "/", each->of, " ",
                              kWords[static_cast<std::size_t>(each->reason)], each->key.empty() ? "" : " ", each->key));
    }
    return base::join(out, ", ");
  }

  QueueNode node;
  bool known = true, all_known = true, off = false;
  std::deque<QueuePod> bound, waiting;  // references stay
  std::optional<base::Duration> since_eviction;
  std::map<std::string, base::Duration> waited;  // if it differs from the clock
};

TEST_F(LocalQueueTest, OnlineFirstThenPriorityThenAgeThenName) {
  batch("d", 100);
  batch("c", 100);
  batch("old", 100, 5s);
  batch("high", 100).priority = 9;
  waits("web", {{"cpu", 100}});
  EXPECT_EQ(look(), "web bound, high bound, old bound, c bound, d bound");
}

TEST_F(LocalQueueTest, SmallPodPassesABigOneAndPositionsAreByKind) {
  runs({{kCpu, 4000}});
  batch("big", 3000, 9min);
  batch("small", 2000);
  batch("next", 500, -1s);
  waits("web", {{"cpu", 4001}});
  waits("api", {{"cpu", 4000}});
  EXPECT_EQ(look(), "api bound, web 1/1 too large, big 1/2 short, small bound, next 2/2 short");
  const LocalQueuePlan all = plan();
  EXPECT_EQ(of(all, "big").shorts, (std::vector<QueueShort>{{kCpu, 3000, 2000, 6000}}));
  EXPECT_EQ(of(all, "next").shorts, (std::vector<QueueShort>{{kCpu, 500, 0, 6000}}));
  EXPECT_EQ(of(all, "web").shorts, (std::vector<QueueShort>{{"cpu", 4001, 0, 4000}}));
  EXPECT_EQ(all.again_after, 1min) << "then no pod passes it any more";
}

TEST_F(LocalQueueTest, AfterTenMinutesNoYoungerPodTakesWhatItLacks) {
  runs({{kCpu, 4000}});
  batch("big", 3000, 10min);
  batch("small", 1000);
  batch("older", 500, 11min).priority = -1;
  waits("other", {{kMemory, 10}});
  waits("web", {{"cpu", 1000}});
  EXPECT_EQ(look(), "web bound, big 1/2 short, other bound, small 2/2 behind jobs/big, older bound");
  batch("vip", 1000).priority = 5;
  EXPECT_EQ(look(), "web bound, vip bound, big 1/2 short, other bound, small 2/2 behind jobs/big, older bound")
      << "a pod before it does not pass it";
  bound.clear();
  EXPECT_EQ(look(), "web bound, vip bound, big bound, other bound, small bound, older bound");
}

// A pod created after the clock was set back looks older than a waiting one.
TEST_F(LocalQueueTest, ClockThatIsSetBackDoesNotExtendPassing) {
  runs({{kCpu, 4000}});
  batch("big", 3000, -1h);
  batch("small", 1000);
  waited["big"] = 9min;
  EXPECT_EQ(look(), "small bound, big 1/1 short");
  EXPECT_EQ(plan().again_after, 1min);
  EXPECT_EQ(look(1min), "big 1/2 short, small 2/2 behind jobs/big");
}

TEST_F(LocalQueueTest, PodThatNeverFitsHoldsNoPodBack) {
  batch("huge", 6001, 1h);
  batch("small", 1000, 1h);
  EXPECT_EQ(look(), "huge 1/1 too large, small bound");
  EXPECT_EQ(plan().again_after, std::nullopt);
  node.allocatable = {{"cpu", 4000}, {"pods", 10}};
  EXPECT_EQ(look(), "huge 1/2 too large, small 2/2 too large") << "nothing is sold";
}

TEST_F(LocalQueueTest, BindsNoOfflinePodRightAfterAnEviction) {
  batch("a", 1000);
  batch("too-big", 7000);
  waits("web", {{"cpu", 1000}});
  since_eviction = 5s;
  EXPECT_EQ(look(), "web bound, a 1/2 cooling, too-big 2/2 too large");
  EXPECT_EQ(of(plan(), "a").left, 25s);
  EXPECT_EQ(plan().again_after, 25s);
  since_eviction = 30s;
  EXPECT_EQ(look(), "web bound, a bound, too-big 1/1 too large");
}

TEST_F(LocalQueueTest, OffBindsNoOfflinePodNotEvenWithoutRequests) {
  batch("a", 1000);
  waits("free", {}).kind = WorkKind::kOffline;
  waits("web", {{"cpu", 1000}});
  off = true;
  EXPECT_EQ(look(), "web bound, a 1/2 off, free 2/2 off");
  off = false;
  EXPECT_EQ(look(), "web bound, a bound, free bound");
}

TEST_F(LocalQueueTest, EachPodTakesAPlace) {
  node.allocatable = {{"pods", 2}, {"cpu", 100}};
  runs({});
  waits("a", {});
  waits("b", {});
  EXPECT_EQ(look(), "a bound, b 1/1 short");
  EXPECT_EQ(of(plan(), "b").shorts, (std::vector<QueueShort>{{"pods", 1, 0, 2}}));
}

TEST_F(LocalQueueTest, RespectsTheNodesConditions) {
  waits("a", {{"cpu", 1}});
  node.ready = false;
  EXPECT_EQ(look(), "a 1/1 not ready");
  node.taints = {{"soft", "", QueueEffect::kNoSchedule}};
  EXPECT_EQ(look(), "a 1/1 tainted soft");
  node.cordoned = true;
  EXPECT_EQ(look(), "a 1/1 cordoned");
  known = false;
  EXPECT_EQ(look(), "a 1/1 no node");
  waiting[0].gated = true;
  EXPECT_EQ(look(), "a 1/1 gated");
}

TEST_F(LocalQueueTest, Tolerations) {
  node.taints = {{"k", "v", QueueEffect::kNoExecute}};
  QueuePod& a = waits("a", {});
  const auto bound_with = [&](QueueToleration toleration) {
    a.tolerations = {std::move(toleration)};
    return look() == "a bound";
  };
  EXPECT_FALSE(bound_with({}));
  EXPECT_TRUE(bound_with({"k", false, "v", std::nullopt}));
  EXPECT_FALSE(bound_with({"k", false, "other", std::nullopt}));
  EXPECT_TRUE(bound_with({"k", true, "", QueueEffect::kNoExecute}));
  EXPECT_FALSE(bound_with({"k", true, "", QueueEffect::kNoSchedule}));
  EXPECT_TRUE(bound_with({"", true, "", std::nullopt})) << "whatever it is";
  EXPECT_FALSE(bound_with({"", false, "v", std::nullopt}));
}

TEST_F(LocalQueueTest, SelectorsAndAffinity) {
  QueuePod& a = waits("a", {});
  a.node_selector = {{"disk", "ssd"}, {"gpu", "yes"}};
  EXPECT_EQ(look(), "a 1/1 mismatch gpu=yes");
  a.node_selector.pop_back();
  EXPECT_EQ(look(), "a bound");
  const auto term = [](std::string_view json) { return *model::LabelSelector::from_json(*base::Json::parse(json)); };
  a.affinity = {term(R"({"matchExpressions":[{"key":"disk","operator":"In","values":["hdd"]}]})")};
  EXPECT_EQ(look(), "a 1/1 mismatch its node affinity");
  a.affinity.push_back(term(R"({"matchExpressions":[{"key":"metadata.name","operator":"In","values":["n1"]}]})"));
  EXPECT_EQ(look(), "a bound") << "one term is enough";
}

TEST_F(LocalQueueTest, PodThatWaitsForAnotherReasonHoldsNoPodBack) {
  runs({{kCpu, 5500}});
  batch("gated", 3000, 1h).gated = true;
  batch("elsewhere", 3000, 1h).node_selector = {{"disk", "tape"}};
  batch("small", 500);
  EXPECT_EQ(look(), "elsewhere 1/2 mismatch disk=tape, gated 2/2 gated, small bound");
}

TEST_F(LocalQueueTest, BindsNothingWhileBoundPodsAreUnknown) {
  batch("job", 500);
  waits("web", {{"cpu", 100}});
  batch("elsewhere", 500).node_selector = {{"disk", "tape"}};
  all_known = false;
  EXPECT_EQ(look(), "web 1/1 not all known, elsewhere 1/2 mismatch disk=tape, job 2/2 not all known");
  all_known = true;
  EXPECT_EQ(look(), "web bound, elsewhere 1/1 mismatch disk=tape, job bound");
}

TEST_F(LocalQueueTest, OversoldNodeHasNothingFree) {
  runs({{kCpu, 5000}});
  node.allocatable = {{kCpu, 3000}, {"pods", 10}};
  batch("a", 1000);
  EXPECT_EQ(of(plan(), "a").shorts, (std::vector<QueueShort>{{kCpu, 1000, 0, 3000}}));
}

TEST(Telling, SmallChangesAreNotPublished) {
  QueueWait told;
  told.kind = WorkKind::kOffline;
  told.position = 3;
  told.of = 40;
  told.reason = QueueReason::kShort;
  told.shorts = {{kCpu, 4000, 1200, 6000}};
  const auto differs = [&](auto change) {
    QueueWait now = told;
    change(now);
    return worth_telling(told, now);
  };
  EXPECT_FALSE(differs([](QueueWait&) {}));
  EXPECT_FALSE(differs([](QueueWait& now) { now.shorts[0].free = 1599; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.shorts[0].free = 1600; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.shorts[0].sold = 5000; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.shorts[0].wanted = 4001; }));
  EXPECT_FALSE(differs([](QueueWait& now) { now.left = 5s; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.position = 2; }));
  EXPECT_FALSE(differs([](QueueWait& now) { now.of = 43; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.of = 44; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.reason = QueueReason::kCordoned; }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.shorts.clear(); }));
  EXPECT_TRUE(differs([](QueueWait& now) { now.shorts[0].free = INT64_MIN; }));
}

}  // namespace
}  // namespace tidemark::policy::single_node
