// Each test is named after the fact of contract 5.3, 5.5 that it holds to.
#include "policy/sell/overcommit/overcommit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>

#include "policy/sell/overcommit/writes.h"

namespace tidemark::policy::sell {
namespace {

using model::CalculatePolicy;
using model::CpuMilli;
using model::MemoryBytes;
using model::PodPhase;
using model::PriorityClass;
using model::Qos;
using model::Reason;
using model::Resources;

constexpr std::int64_t kGi = 1024LL * 1024 * 1024;
const base::WallTime kNow{std::chrono::hours(24 * 365 * 50)};

Resources amounts(std::int64_t cpu_milli, std::int64_t memory_gi) {
  return {{cpu_milli}, {memory_gi * kGi}};
}

model::PodView pod(std::string_view name, PriorityClass priority, Qos qos, Resources request) {
  return {{"default", name}, PodPhase::kRunning, priority, qos, request};
}

model::PodUsage usage(std::string_view name, PriorityClass priority, Resources used) {
  return {{"default", name}, used, priority, Qos::kLs};
}

NodeStrategy enabled(model::ColocationStrategy values = {}) {
  NodeStrategy strategy;
  strategy.values = std::move(values);
  strategy.values.enable = true;
  strategy.enabled = true;
  strategy.reason = Reason::kConfigApplied;
  return strategy;
}

// The node of the worked examples A to E.
model::NodeSnapshot example() {
  model::NodeSnapshot node;
  node.name = "n1";
  node.capacity = amounts(32000, 128);
  node.allocatable = amounts(31000, 124);
  node.reserved_by_annotation = amounts(2000, 0);
  node.pods = {pod("P1", PriorityClass::kProd, Qos::kLs, amounts(8000, 16)),
               pod("P2", PriorityClass::kProd, Qos::kLse, amounts(4000, 8)),
               pod("P3", PriorityClass::kProd, Qos::kLs, amounts(2000, 4)),
               pod("P4", PriorityClass::kBatch, Qos::kBe, {})};
  model::NodeMetricView metric;
  metric.update_time = kNow;
  metric.has_node_metric = true;
  metric.system_usage = amounts(1500, 3);
  metric.host_applications = {{"ingress", amounts(500, 1), PriorityClass::kProd, Qos::kLs}};
  metric.pods = {
      usage("P1", PriorityClass::kProd, amounts(3000, 12)), usage("P2", PriorityClass::kProd, amounts(1000, 6)),
      usage("P4", PriorityClass::kBatch, amounts(5000, 9)), usage("gone", PriorityClass::kProd, amounts(400, 1))};
  node.metric = metric;
  return node;
}

TEST(WorkedExample, A_UsageWithTheDefaults) {
  const auto plan = overcommit(example(), enabled(), kNow);
  EXPECT_EQ(plan.batch_cpu.margin, CpuMilli{12800});
  EXPECT_EQ(plan.batch_cpu.system_used, CpuMilli{2000});
  EXPECT_EQ(plan.batch_cpu.reserved, CpuMilli{2000});
  EXPECT_EQ(plan.batch_cpu.high_priority, CpuMilli{9400});
  EXPECT_EQ(plan.publish.batch_cpu, CpuMilli{7800});
  EXPECT_EQ(plan.batch_memory.margin, MemoryBytes{48103633715});
  EXPECT_EQ(plan.batch_memory.high_priority, MemoryBytes{23 * kGi});
  EXPECT_EQ(plan.publish.batch_memory, MemoryBytes{60344290509});
}

TEST(WorkedExample, B_MemoryByRequestIgnoresUsageAndDanglingPods) {
  model::ColocationStrategy strategy;
  strategy.memory_calculate_policy = CalculatePolicy::kRequest;
  const auto plan = overcommit(example(), enabled(strategy), kNow);
  EXPECT_EQ(plan.batch_memory.high_priority, MemoryBytes{28 * kGi});
  EXPECT_EQ(plan.publish.batch_memory, MemoryBytes{128 * kGi - 48103633715 - 4 * kGi - 28 * kGi});
}

TEST(WorkedExample, C_MaxUsageRequestAddsNothingForAPodWithoutMetric) {
  model::ColocationStrategy strategy;
  strategy.cpu_calculate_policy = CalculatePolicy::kMaxUsageRequest;
  const auto plan = overcommit(example(), enabled(strategy), kNow);
  EXPECT_EQ(plan.batch_cpu.high_priority, CpuMilli{12400});
  EXPECT_EQ(plan.publish.batch_cpu, CpuMilli{4800});
}

TEST(WorkedExample, D_ThresholdThenThirdParty) {
  model::ColocationStrategy strategy;
  strategy.batch_cpu_threshold_percent = 20;
  auto node = example();
  node.third_party->push_back({"hadoop-yarn", PriorityClass::kBatch, amounts(3000, 0)});
  const auto plan = overcommit(node, enabled(strategy), kNow);
  EXPECT_EQ(plan.origin->cpu, CpuMilli{6400});
  EXPECT_EQ(plan.publish.batch_cpu, CpuMilli{3400});
  EXPECT_EQ(plan.batch_cpu.origin_by, Reason::kBatchCapped);
}

// "6.4 → 6400; ratio 1.25 → 8000; origin annotation 8000; third-party hadoop-yarn 3000 → node publishes 5000."
TEST(WorkedExample, D_WithTheNormalizationRatioBetweenThresholdAndOrigin) {
  model::ColocationStrategy values;
  values.batch_cpu_threshold_percent = 20;
  auto node = example();
  node.third_party->push_back({"hadoop-yarn", PriorityClass::kBatch, amounts(3000, 0)});
  node.topology.emplace();
  node.topology->cpu.emplace();
  auto settings = std::make_shared<NormalizationSettings>();
  settings->enable = true;
  settings->default_ratio = 1.25;
  auto strategy = enabled(values);
  strategy.normalization = settings;
  const auto plan = overcommit(node, strategy, kNow);
  EXPECT_EQ(plan.batch_cpu.allowed, CpuMilli{6400});
  EXPECT_EQ(plan.batch_cpu.ratio_percent, 125);
  EXPECT_EQ(plan.origin->cpu, CpuMilli{8000});
  EXPECT_EQ(plan.publish.batch_cpu, CpuMilli{5000});
  EXPECT_EQ(plan.batch_memory.ratio_percent, std::nullopt) << "memory is not normalized";
}

TEST(WorkedExample, E_OverloadIsPublishedAsZeroAndNotRemoved) {
  auto node = example();
  node.metric->pods[0].usage.cpu = {13600};
  const auto plan = overcommit(node, enabled(), kNow);
  EXPECT_EQ(plan.batch_cpu.high_priority, CpuMilli{20000});
  EXPECT_EQ(plan.publish.batch_cpu, CpuMilli{0});
  EXPECT_EQ(plan.origin->cpu, CpuMilli{0});
}

TEST(WorkedExample, Mid_BasePlusShareOfUnallocatedUnderTheThreshold) {
  model::NodeSnapshot node;
  node.capacity = node.allocatable = amounts(32000, 128);
  node.pods = {pod("P1", PriorityClass::kProd, Qos::kLs, amounts(27000, 0))};
  node.metric.emplace();
  node.metric->update_time = kNow;
  node.metric->has_node_metric = true;
  node.metric->node_usage = amounts(20000, 0);
  node.metric->prod_reclaimable = amounts(6000, 0);
  model::ColocationStrategy strategy;
  strategy.mid_unallocated_percent = 40;
  EXPECT_EQ(overcommit(node, enabled(strategy), kNow).publish.mid_cpu, CpuMilli{8000});
  strategy.mid_cpu_threshold_percent = 20;
  EXPECT_EQ(overcommit(node, enabled(strategy), kNow).publish.mid_cpu, CpuMilli{6400});
}

TEST(Contract, PercentagesAreDoubleArithmeticTruncated) {
  EXPECT_EQ(percent_of(100'000, 29), 28'999);
  // "integer maths is 1 milli off for 574 of the (1–256 cores, 0–100 %) pairs"
  int off = 0;
  for (std::int64_t cores = 1; cores <= 256; ++cores) {
    for (std::int64_t percent = 0; percent <= 100; ++percent) {
      const std::int64_t exact = cores * 1000 * percent / 100;
      const std::int64_t ours = percent_of(cores * 1000, percent);
      EXPECT_LE(std::abs(ours - exact), 1);
      off += ours != exact ? 1 : 0;
    }
  }
  EXPECT_EQ(off, 574);
  EXPECT_EQ(percent_of(-100'000, 29), -28'999);  // toward zero
}

TEST(Contract, ACpuPolicyOfRequestBehavesAsUsage) {
  model::ColocationStrategy strategy;
  strategy.cpu_calculate_policy = CalculatePolicy::kRequest;
  EXPECT_EQ(overcommit(example(), enabled(strategy), kNow).publish.batch_cpu, CpuMilli{7800});
}

TEST(Contract, OfTwoReportsOfOnePodTheLastCountsOnce) {
  auto node = example();
  node.metric->pods.push_back(usage("P1", PriorityClass::kProd, amounts(5000, 12)));
  EXPECT_EQ(overcommit(node, enabled(), kNow).batch_cpu.high_priority, CpuMilli{11400});
}

TEST(Contract, PodsOfTheSameNameInTwoNamespacesAreTwo) {
  auto node = example();
  node.pods.push_back(pod("P1", PriorityClass::kProd, Qos::kLs, amounts(1000, 1)));
  node.pods.back().id = {"other", "P1"};
  EXPECT_EQ(overcommit(node, enabled(), kNow).batch_cpu.high_priority, CpuMilli{10400});
}

TEST(Contract, ResetDeletesTheKeysAndWritesZeroAsOrigin) {
  auto strategy = enabled();
  strategy.enabled = false;
  strategy.reason = Reason::kDisabledForNode;
  const auto plan = overcommit(example(), strategy, kNow);
  EXPECT_EQ(plan.action, PlanAction::kReset);
  EXPECT_EQ(plan.reason, Reason::kDisabledForNode);
  EXPECT_EQ(plan.publish, model::ExtendedResources());
  EXPECT_EQ(plan.origin, Resources());
}

TEST(Contract, DegradedIsStrictlyAfterTheTimeAndNeverBecauseOfAnOverflow) {
  auto node = example();
  model::ColocationStrategy strategy;
  const auto plan_at = [&](base::Duration age) {
    node.metric->update_time = kNow + -age;
    return overcommit(node, enabled(strategy), kNow).action;
  };
  EXPECT_EQ(plan_at(std::chrono::minutes(15)), PlanAction::kPublish);
  EXPECT_EQ(plan_at(std::chrono::minutes(15) + std::chrono::nanoseconds(1)), PlanAction::kReset);
  strategy.degrade_time_minutes = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(plan_at(std::chrono::hours(24 * 365 * 49)), PlanAction::kPublish);
  node.metric->update_time = base::WallTime{base::Duration::min()};
  EXPECT_EQ(overcommit(node, enabled(strategy), kNow).action, PlanAction::kReset);
  node.metric->update_time = base::WallTime{base::Duration::max()};
  EXPECT_EQ(overcommit(node, enabled(strategy), base::WallTime{base::Duration::min()}).action, PlanAction::kPublish);
}

TEST(NeedsWrite, TheRefreshIntervalIsStrictAndCountsParts) {
  const model::ExtendedResources same{CpuMilli{1}, MemoryBytes{1}, CpuMilli{1}, MemoryBytes{1}};
  const model::ColocationStrategy strategy;
  const auto write = [&](base::Duration age) { return needs_write(same, same, age, strategy).write; };
  EXPECT_FALSE(write(std::chrono::seconds(300)));
  EXPECT_TRUE(write(std::chrono::seconds(300) + std::chrono::nanoseconds(1)));
  EXPECT_FALSE(write(-std::chrono::seconds(1)));
}

TEST(NeedsWrite, EachOfTheFourResourcesIsReasonEnough) {
  const model::ExtendedResources old{CpuMilli{100}, MemoryBytes{100}, CpuMilli{100}, MemoryBytes{100}};
  const auto decide = [&](const model::ExtendedResources& wanted) {
    return needs_write(old, wanted, std::chrono::seconds(1), {}).reason;
  };
  EXPECT_EQ(decide(old), Reason::kWriteNotNeeded);
  auto wanted = old;
  wanted.batch_cpu = CpuMilli{89};
  EXPECT_EQ(decide(wanted), Reason::kWriteMoved);
  wanted = old;
  wanted.batch_memory = MemoryBytes{111};
  EXPECT_EQ(decide(wanted), Reason::kWriteMoved);
  wanted = old;
  wanted.mid_cpu = CpuMilli{110};  // exactly 10 % is not more
  EXPECT_EQ(decide(wanted), Reason::kWriteNotNeeded);
  wanted.mid_memory.reset();
  EXPECT_EQ(decide(wanted), Reason::kWriteDisappears);
  EXPECT_EQ(needs_write({}, old, std::chrono::seconds(1), {}).reason, Reason::kWriteAppears);
  EXPECT_EQ(needs_write(old, old, std::nullopt, {}).reason, Reason::kWriteFirst);
}

// ---- properties ------------------------------------------------------------------------------------------------

std::int64_t any_number(std::mt19937_64& random) {
  constexpr std::int64_t kEnds[] = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                    0, 1, -1};
  if (random() % 8 == 0) return kEnds[random() % std::size(kEnds)];
  const auto size = static_cast<std::int64_t>(random() >> (random() % 63));
  return random() % 6 == 0 ? -size : size;
}

Resources any_resources(std::mt19937_64& random) {
  return {{any_number(random)}, {any_number(random)}};
}
Resources sane_resources(std::mt19937_64& random) {
  return {{static_cast<std::int64_t>(random() % 256'000)}, {static_cast<std::int64_t>(random() % (1024 * kGi))}};
}

PriorityClass any_priority(std::mt19937_64& random) {
  return static_cast<PriorityClass>(random() % 5);
}

template <class Draw>
model::NodeSnapshot any_node(std::mt19937_64& random, const Draw& draw) {
  model::NodeSnapshot node;
  node.capacity = draw(random);
  node.allocatable = draw(random);
  node.reserved_by_annotation = draw(random);
  node.metric.emplace();
  node.metric->update_time = kNow;
  node.metric->has_node_metric = true;
  node.metric->system_usage = draw(random);
  node.metric->prod_reclaimable = draw(random);
  if (random() % 4 != 0) node.metric->node_usage = draw(random);
  for (auto n = random() % 6; n > 0; --n) {
    const std::string name = std::string("p").append(std::to_string(n));
    auto next = pod(name, any_priority(random), static_cast<Qos>(random() % 6), draw(random));
    next.phase = static_cast<PodPhase>(random() % 5);
    if (random() % 4 != 0) node.metric->pods.push_back(usage(name, next.priority, draw(random)));
    if (random() % 4 != 0) node.pods.push_back(std::move(next));
  }
  for (auto n = random() % 3; n > 0; --n) {
    node.metric->host_applications.push_back({"h", draw(random), any_priority(random), Qos::kLs});
    node.third_party->push_back({"t", any_priority(random), draw(random)});
  }
  return node;
}

model::ColocationStrategy any_strategy(std::mt19937_64& random, std::int64_t percent_max) {
  const auto percent = [&] {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(percent_max + 1));
  };
  model::ColocationStrategy strategy;
  strategy.cpu_calculate_policy = static_cast<CalculatePolicy>(random() % 3);
  strategy.memory_calculate_policy = static_cast<CalculatePolicy>(random() % 3);
  strategy.cpu_reclaim_threshold_percent = percent();
  strategy.memory_reclaim_threshold_percent = percent();
  if (random() % 2 == 0) strategy.batch_cpu_threshold_percent = percent();
  if (random() % 2 == 0) strategy.batch_memory_threshold_percent = percent();
  strategy.mid_reclaim_mode = static_cast<model::MidReclaimMode>(random() % 2);
  strategy.mid_cpu_threshold_percent = percent();
  strategy.mid_memory_threshold_percent = percent();
  strategy.mid_unallocated_percent = percent();
  strategy.mid_static_cpu_reserved_percent = percent();
  strategy.mid_static_memory_reserved_percent = percent();
  return strategy;
}

template <class Amount>
void expect_sound(const BatchTerms<Amount>& batch, const MidTerms<Amount>& mid) {
  const Amount zero{};
  EXPECT_GE(batch.origin, zero);
  EXPECT_GE(batch.published, zero);
  EXPECT_LE(batch.published, batch.origin);
  if (batch.cap) EXPECT_LE(batch.origin, std::max(*batch.cap, zero));
  EXPECT_GE(batch.reserved, batch.reserved_by_kubelet);
  EXPECT_GE(batch.reserved, batch.reserved_by_annotation);
  EXPECT_GE(mid.published, zero);
  EXPECT_LE(mid.published, std::max(mid.cap, zero));
}

TEST(Property, AnyNumbersGiveASoundPlan) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    auto strategy = any_strategy(random, 300);
    if (random() % 8 == 0) strategy.cpu_reclaim_threshold_percent = any_number(random);
    if (random() % 8 == 0) strategy.batch_memory_threshold_percent = any_number(random);
    if (random() % 8 == 0) strategy.mid_unallocated_percent = any_number(random);
    const auto plan = overcommit(any_node(random, any_resources), enabled(strategy), kNow);
    ASSERT_EQ(plan.action, PlanAction::kPublish);
    expect_sound(plan.batch_cpu, plan.mid_cpu);
    expect_sound(plan.batch_memory, plan.mid_memory);
  }
}

TEST(Property, NeverOffersMoreThanTheWaterLine) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 20'000; ++i) {
    const auto strategy = any_strategy(random, 100);
    const auto node = any_node(random, sane_resources);
    const auto plan = overcommit(node, enabled(strategy), kNow);
    // One unit of room: the margin is truncated, so what is left over may round up.
    const auto line = percent_of(node.capacity.cpu.value, strategy.cpu_reclaim_threshold_percent) + 1;
    EXPECT_LE(plan.origin->cpu.value, line);
    EXPECT_LE(plan.origin->memory.value,
              percent_of(node.capacity.memory.value, strategy.memory_reclaim_threshold_percent) + 1);
    EXPECT_LE(plan.publish.mid_cpu->value, node.capacity.cpu.value);
    EXPECT_LE(plan.publish.mid_memory->value, node.capacity.memory.value);
  }
}

void expect_no_more(const OvercommitPlan& after, const OvercommitPlan& before, const char* what) {
  EXPECT_LE(after.publish.batch_cpu, before.publish.batch_cpu) << what;
  EXPECT_LE(after.publish.batch_memory, before.publish.batch_memory) << what;
  EXPECT_LE(after.publish.mid_cpu, before.publish.mid_cpu) << what;
  EXPECT_LE(after.publish.mid_memory, before.publish.mid_memory) << what;
}

TEST(Property, MoreUseOrMoreReservationNeverSellsMore) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 10'000; ++i) {
    const auto strategy = enabled(any_strategy(random, 120));
    const auto node = any_node(random, sane_resources);
    const auto before = overcommit(node, strategy, kNow);
    const auto more = sane_resources(random);

    auto changed = node;
    changed.metric->system_usage += more;
    expect_no_more(overcommit(changed, strategy, kNow), before, "system use");

    changed = node;
    changed.reserved_by_annotation += more;
    expect_no_more(overcommit(changed, strategy, kNow), before, "reservation");

    changed = node;
    changed.allocatable -= more;
    expect_no_more(overcommit(changed, strategy, kNow), before, "kubelet reservation");

    changed = node;
    for (auto& report : changed.metric->pods) report.usage += more;
    expect_no_more(overcommit(changed, strategy, kNow), before, "pod use");

    changed = node;
    for (auto& each : changed.pods) each.request += more;
    expect_no_more(overcommit(changed, strategy, kNow), before, "pod requests");

    changed = node;
    if (changed.metric->node_usage) *changed.metric->node_usage += more;
    expect_no_more(overcommit(changed, strategy, kNow), before, "node use");

    changed = node;
    changed.third_party->push_back({"more", PriorityClass::kBatch, more});
    expect_no_more(overcommit(changed, strategy, kNow), before, "third party");
  }
}

TEST(Property, TheSameInputGivesTheSamePlanWhateverTheOrderOfPods) {
  std::mt19937_64 random(14);
  for (int i = 0; i < 2'000; ++i) {
    const auto strategy = enabled(any_strategy(random, 120));
    const auto node = any_node(random, sane_resources);
    auto shuffled = node;
    std::shuffle(shuffled.pods.begin(), shuffled.pods.end(), random);
    std::shuffle(shuffled.metric->pods.begin(), shuffled.metric->pods.end(), random);
    EXPECT_EQ(overcommit(node, strategy, kNow), overcommit(shuffled, strategy, kNow));
  }
}

TEST(Property, WhatWasJustWrittenNeedsNoWrite) {
  std::mt19937_64 random(15);
  for (int i = 0; i < 2'000; ++i) {
    const auto strategy = any_strategy(random, 120);
    const auto plan = overcommit(any_node(random, any_resources), enabled(strategy), kNow);
    EXPECT_FALSE(needs_write(plan.publish, plan.publish, std::chrono::seconds(0), strategy).write);
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
