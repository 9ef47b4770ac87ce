// Invariants of random queues, including extreme ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "policy/single_node/local_queue.h"

namespace tidemark::policy::single_node {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 5> kResources{"cpu", "memory", "pods", "kubernetes.io/batch-cpu", "x.io/y"};
constexpr base::WallTime kLocalQueueNow{std::chrono::hours(1000)};

struct Waits {
  QueuePod pod;
  base::Duration waited{0};
};

struct Scene {
  QueueNode node;
  std::vector<QueuePod> bound;
  std::vector<Waits> waiting;
  std::optional<base::Duration> since_eviction;
  bool off = false;
};

std::int64_t any_amount(base::Random& random, std::uint64_t below) {
  constexpr std::array kWild{INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX, INT64_MAX - 1};
  return random.below(30) == 0 ? kWild[random.below(kWild.size())] : static_cast<std::int64_t>(random.below(below));
}

std::vector<QueueAmount> any_amounts(base::Random& random, std::uint64_t below) {
  std::vector<QueueAmount> out;
  for (auto left = random.below(4); left > 0; --left) {
    out.push_back({std::string(kResources[random.below(kResources.size())]), any_amount(random, below)});
  }
  return out;
}

QueuePod any_pod(base::Random& random, std::size_t number) {
  QueuePod out;
  out.uid = base::cat("u", number);
  out.ns = random.below(2) == 0 ? "a" : "b";
  out.name = base::cat("p", random.below(5));  // names repeat, uids do not
  out.kind = random.below(3) == 0 ? WorkKind::kOnline : WorkKind::kOffline;
  out.priority = static_cast<std::int64_t>(random.below(3));
  out.created = kLocalQueueNow + -std::chrono::seconds(random.below(1200));
  if (random.below(40) == 0) out.created = base::WallTime{base::Duration(any_amount(random, 10))};
  out.requests = any_amounts(random, 8);
  out.gated = random.below(15) == 0;
  if (random.below(8) == 0) out.node_selector = {{"l", random.below(2) == 0 ? "x" : "y"}};
  if (random.below(3) != 0) out.tolerations = {{"t", true, "", std::nullopt}};
  return out;
}

// By the clock, or independent of it if the clock was set.
Waits any_waiting(base::Random& random, std::size_t number) {
  Waits out{any_pod(random, number)};
  out.waited = random.below(4) == 0 ? base::Duration(std::chrono::seconds(random.below(1200)))
                                    : std::clamp<base::Duration>(kLocalQueueNow - out.pod.created, -1h, 24h);
  return out;
}

Scene any_scene(base::Random& random) {
  Scene out;
  for (const std::string_view resource : kResources) {
    if (random.below(6) != 0) out.node.allocatable.push_back({std::string(resource), any_amount(random, 30)});
  }
  out.node.labels = {{"l", "x"}};
  out.node.cordoned = random.below(12) == 0;
  out.node.ready = random.below(12) != 0;
  if (random.below(6) == 0) out.node.taints = {{"t", "", QueueEffect::kNoSchedule}};
  std::size_t number = 0;
  for (auto left = random.below(4); left > 0; --left) out.bound.push_back(any_pod(random, number++));
  for (auto left = random.below(12); left > 0; --left) out.waiting.push_back(any_waiting(random, number++));
  if (random.below(3) == 0) out.since_eviction = std::chrono::seconds(random.below(40));
  out.off = random.below(12) == 0;
  return out;
}

std::vector<const QueuePod*> pointers(const std::vector<QueuePod>& pods) {
  std::vector<const QueuePod*> out;
  for (const QueuePod& each : pods) out.push_back(&each);
  return out;
}

LocalQueuePlan plan_of(const Scene& scene, base::Duration later = 0s) {
  const auto bound = pointers(scene.bound);
  std::vector<QueueWaiting> waiting;
  for (const Waits& each : scene.waiting) waiting.push_back({&each.pod, each.waited + later});
  std::optional<base::Duration> since = scene.since_eviction;
  if (since) *since += later;
  return local_queue({&scene.node, bound, waiting, since, true, scene.off});
}

std::map<std::string, QueueOutcome> by_uid(const Scene& scene, const LocalQueuePlan& plan) {
  std::map<std::string, QueueOutcome> out;
  for (std::size_t i = 0; i < scene.waiting.size(); ++i) out.emplace(scene.waiting[i].pod.uid, plan.outcomes[i]);
  return out;
}

using Wide = __int128;
Wide sum_of(const std::vector<QueueAmount>& amounts, std::string_view resource) {
  Wide sum = 0;
  for (const QueueAmount& each : amounts) {
    if (each.resource == resource) sum += std::max<std::int64_t>(each.amount, 0);
  }
  return sum;
}
Wide takes(const QueuePod& pod, std::string_view resource) {
  return resource == kPodsResource ? 1 : sum_of(pod.requests, resource);
}
// The policy's sums are clamped to int64.
Wide held(Wide sum) {
  return std::min<Wide>(sum, std::numeric_limits<std::int64_t>::max());
}

void expect_nothing_oversold(const Scene& scene, const LocalQueuePlan& plan) {
  for (const std::string_view resource : kResources) {
    Wide taken = 0;
    for (const QueuePod& each : scene.bound) taken += takes(each, resource);
    bool adds = false;
    for (std::size_t i = 0; i < scene.waiting.size(); ++i) {
      if (plan.outcomes[i]) continue;
      const Wide more = takes(scene.waiting[i].pod, resource);
      taken += more;
      adds = adds || more > 0;
    }
    if (adds) EXPECT_LE(held(taken), held(sum_of(scene.node.allocatable, resource))) << resource;
  }
}

void expect_places(const Scene& scene, const LocalQueuePlan& plan) {
  ASSERT_EQ(plan.outcomes.size(), scene.waiting.size());
  ASSERT_EQ(plan.order.size(), scene.waiting.size());
  for (const WorkKind kind : {WorkKind::kOnline, WorkKind::kOffline}) {
    std::vector<std::size_t> places;
    for (const std::size_t i : plan.order) {
      if (scene.waiting[i].pod.kind != kind || !plan.outcomes[i]) continue;
      EXPECT_EQ(plan.outcomes[i]->kind, kind);
      places.push_back(plan.outcomes[i]->position);
    }
    for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], i + 1);
    for (std::size_t i = 0; i < scene.waiting.size(); ++i) {
      if (scene.waiting[i].pod.kind == kind && plan.outcomes[i]) EXPECT_EQ(plan.outcomes[i]->of, places.size());
    }
  }
}

// The numbers in each status are true.
void expect_true_numbers(const LocalQueuePlan& plan) {
  for (const QueueOutcome& each : plan.outcomes) {
    if (!each) continue;
    const bool counts = each->reason == QueueReason::kShort || each->reason == QueueReason::kTooLarge;
    EXPECT_EQ(counts || each->reason == QueueReason::kBehind, !each->shorts.empty());
    for (const QueueShort& one : each->shorts) {
      EXPECT_GT(one.wanted, one.free);
      EXPECT_GE(one.free, 0);
      EXPECT_EQ(one.wanted > one.sold, each->reason == QueueReason::kTooLarge);
    }
    EXPECT_EQ(each->reason == QueueReason::kCoolingDown, each->left > 0s);
    EXPECT_LE(each->left, kEvictionPause);
  }
}

void expect_nothing_offline_where_that_is_off(const Scene& scene, const LocalQueuePlan& plan) {
  for (std::size_t i = 0; scene.off && i < scene.waiting.size(); ++i) {
    EXPECT_TRUE(plan.outcomes[i] || scene.waiting[i].pod.kind == WorkKind::kOnline);
  }
}

// The pod that is bound now waits no longer than without the young ones behind an old one.
void expect_old_ones_are_not_passed(const Scene& scene, const LocalQueuePlan& plan) {
  for (const std::size_t i : plan.order) {
    if (!plan.outcomes[i] || plan.outcomes[i]->reason != QueueReason::kShort) continue;
    const Waits& old = scene.waiting[i];
    if (old.waited < kPassedMax) continue;
    const auto place = std::ranges::find(plan.order, i);
    for (auto next = place + 1; next != plan.order.end(); ++next) {
      const Waits& other = scene.waiting[*next];
      const bool waited_too = other.waited >= kPassedMax && other.pod.created <= old.pod.created;
      if (plan.outcomes[*next] || waited_too) continue;
      for (const QueueShort& lacks : plan.outcomes[i]->shorts) EXPECT_EQ(takes(other.pod, lacks.resource), Wide{0});
    }
  }
}

TEST(LocalQueueProperty, InvariantsHoldForAnyQueue) {
  base::Random random(20261123);
  for (int round = 0; round < 20'000; ++round) {
    const Scene scene = any_scene(random);
    const LocalQueuePlan plan = plan_of(scene);
    expect_nothing_oversold(scene, plan);
    expect_places(scene, plan);
    expect_true_numbers(plan);
    expect_old_ones_are_not_passed(scene, plan);
    expect_nothing_offline_where_that_is_off(scene, plan);
    if (::testing::Test::HasFailure()) {
      FAIL() << "round " << round;
    }
  }
}

TEST(LocalQueueProperty, OrderOfTheInputDoesNotMatter) {
  base::Random random(7);
  for (int round = 0; round < 5'000; ++round) {
    Scene scene = any_scene(random);
    const auto told = by_uid(scene, plan_of(scene));
    const auto again_after = plan_of(scene).again_after;
    for (std::size_t i = scene.waiting.size(); i > 1; --i) {
      std::swap(scene.waiting[i - 1], scene.waiting[random.below(i)]);
    }
    std::ranges::reverse(scene.bound);
    std::ranges::reverse(scene.node.allocatable);
    ASSERT_EQ(by_uid(scene, plan_of(scene)), told) << "round " << round;
    ASSERT_EQ(plan_of(scene).again_after, again_after) << "round " << round;
  }
}

// Until the reported time, time alone changes only the remaining pause.
TEST(LocalQueueProperty, NothingChangesBeforeTheReportedTime) {
  base::Random random(8);
  const auto without_left = [](LocalQueuePlan plan) {
    for (QueueOutcome& each : plan.outcomes) {
      if (each) each->left = 0s;
    }
    return plan.outcomes;
  };
  for (int round = 0; round < 5'000; ++round) {
    const Scene scene = any_scene(random);
    const LocalQueuePlan now = plan_of(scene);
    const base::Duration until = std::min<base::Duration>(now.again_after.value_or(1h), 1h);
    ASSERT_GT(until, 0s);
    ASSERT_EQ(without_left(plan_of(scene, until - 1ns)), without_left(now)) << "round " << round;
  }
}

}  // namespace
}  // namespace tidemark::policy::single_node
