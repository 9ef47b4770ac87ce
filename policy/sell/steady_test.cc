// The agent's decisions of every second allocate no memory after the first passes over the same tasks.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/testing/allocations.h"
#include "policy/sell/prediction/models.h"
#include "policy/sell/prediction/prediction.h"
#include "policy/sell/usage/report.h"
#include "policy/sell/usage/report_due.h"
#include "policy/sell/usage/usage_history.h"

namespace tidemark::policy::sell {
namespace {

using base::MonotonicTime;
using std::chrono::seconds;

using base::testing::allocated_by;

TEST(Steady, TheCounterCounts) {
  EXPECT_GT(allocated_by([] { std::string(100, 'x').swap(*std::make_unique<std::string>()); }), 0);
}

UsageReading reading(MonotonicTime at, std::int64_t cpu_micro) {
  return {at, cpu_micro, {std::int64_t{1} << 30, std::nullopt, std::int64_t{1} << 31}};
}

struct Machine {
  explicit Machine(MemoryCollect kind) : history(of(kind)) {
    for (int i = 0; i < 50; ++i) uids.push_back("0e1c9f6e-0000-4000-8000-0000000000" + std::to_string(10 + i));
    for (const auto& uid : uids) known.push_back({uid, "a-namespace-of-some-length", uid, {}, {}});
    readings.resize(uids.size());
  }
  static CollectInForce of(MemoryCollect kind) {
    CollectInForce collect;
    collect.memory = kind;
    return collect;
  }
  void second() {
    now = now + seconds(1);
    for (std::size_t i = 0; i < uids.size(); ++i) readings[i] = {uids[i], reading(now, 20'000)};
    applications[0].reading = reading(now, 100'000);
    zones[0].reading = zones[0].system = reading(now, 1'000'000);
    zones[1].reading = zones[1].system = reading(now, 500'000);
    history.observe({now, reading(now, 4'000'000), reading(now, 1'000'000), readings, applications, zones});
    auto step = report_due(
        state, {reported_levels(history, now), {{32'000}, {std::int64_t{1} << 37}}, true, {}, {}, {}}, {}, now);
    state = step.state;
  }
  void report() { usage_report(history, {known, listed}, now, {}, scratch, told); }

  MonotonicTime now;
  std::vector<std::string> uids;
  std::vector<ReportedPod> known;
  std::vector<NamedReading> readings;
  std::vector<NamedReading> applications{{"nginx", {}}};
  std::vector<ReportedHostApplication> listed{{"nginx", {}, {}}};
  std::vector<NumaReading> zones{{0, {}, {}}, {1, {}, {}}};
  UsageHistory history;
  ReportState state;
  WindowScratch scratch;
  model::NodeMetricReport told;
};

TEST(Steady, MeasuringAndReportingAllocateNothing) {
  for (const auto kind : {MemoryCollect::kWithoutPageCache, MemoryCollect::kWithPageCache}) {
    Machine machine(kind);
    machine.second();
    machine.report();
    EXPECT_EQ(allocated_by([&] {
                for (int i = 0; i < 2'000; ++i) machine.second();
              }),
              0);
    EXPECT_EQ(allocated_by([&] { machine.report(); }), 0);
    ASSERT_EQ(machine.told.pods.size(), 50U);
    ASSERT_TRUE(machine.told.aggregated_node_usages.at(2).p99);
    EXPECT_EQ(allocated_by([&] {
                for (const auto& uid : machine.uids) {
                  ASSERT_TRUE(UsageHistory::training_sample(*machine.history.pod(uid), machine.now, machine.scratch));
                }
              }),
              0);
  }
}

TEST(Steady, LearningAndPredictingAllocateNothing) {
  const Machine machine(MemoryCollect::kWithoutPageCache);
  UsageModels models;
  std::vector<TrainingPod> training;
  std::vector<PredictedPod> pods;
  training.reserve(50);
  pods.reserve(50);
  for (const auto& uid : machine.uids) {
    training.push_back({uid, model::PriorityClass::kProd, UsageFigures{20'000, 1 << 28}});
    pods.push_back({uid, model::PriorityClass::kProd, {{100}, {1 << 30}}, {}, false});
  }
  const UsageFigures node{4'000'000, std::int64_t{1} << 36};
  base::WallTime now{std::chrono::hours(24 * 20'000)};
  models.train({node, training}, now);
  EXPECT_EQ(allocated_by([&] {
              for (int i = 0; i < 144; ++i) {
                now = now + std::chrono::minutes(10);
                models.train({node, training}, now);
              }
              const auto told = predict(models, {model::Resources{{32'000}, {std::int64_t{1} << 37}}, pods}, {}, now);
              ASSERT_EQ(told.by_pod.predicted, 50U);
              ASSERT_GT(told.reclaimable->cpu.value, 0);
            }),
            0);
}

}  // namespace
}  // namespace tidemark::policy::sell
