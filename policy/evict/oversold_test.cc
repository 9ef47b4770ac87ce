// What is evicted from a node that two schedulers oversold, for random work.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/evict/evict.h"

namespace tidemark::policy::evict {
namespace {

using base::cat;
using model::CpuMilli;
using model::Reason;

const base::WallTime kOversoldNow{std::chrono::hours(24 * 365 * 56)};
constexpr base::MonotonicTime kMono{std::chrono::hours(10)};

struct OversoldWorld {
  explicit OversoldWorld(std::mt19937_64& random) {
    constexpr const char* kClasses[] = {"transcode", "training", "spark", ""};
    const auto draw = [&](std::int64_t below) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
    };
    all.resize(1 + static_cast<std::size_t>(draw(12)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      model::Task& task = all[i];
      const bool pod = draw(2) == 0;
      task.kind = pod ? model::TaskKind::kPod : model::TaskKind::kCopilotTask;
      task.identity.source = pod ? "kubernetes" : "yarn";
      task.name = task.identity.task = cat("task-", i);
      task.identity.work_class = kClasses[draw(4)];
      task.path = cat("groups/", i);
      task.phase = model::PodPhase::kRunning;
      task.qos_raw = task.qos = model::Qos::kBe;
      task.priority_raw = task.priority = model::PriorityClass::kBatch;
      task.requests.batch.cpu = CpuMilli{100 * (1 + draw(80))};
      task.created = task.started = kOversoldNow;
      requested += task.requests.batch.cpu->value;
    }
    gives = requested * (40 + draw(60)) / 100;
    for (const model::Task& each : all) tasks.push_back({&each, CpuMilli{100}, model::MemoryBytes{1}});
    const std::int64_t limit = std::max<std::int64_t>(requested * draw(60) / 100, 1);
    node.capacity = {CpuMilli{64'000}, model::MemoryBytes{1 << 30}};
    node.offline = node.offline_in_window = OfflineCpu{CpuMilli{limit}, CpuMilli{requested}, CpuMilli{limit}};
    node.oversold = CpuMilli{requested - gives};
    rules.threshold.enable = true;
    rules.threshold.cpu_evict_satisfaction_lower_percent = 30;
    rules.threshold.cpu_evict_satisfaction_upper_percent = 60;
    rules.word.emplace();
    rules.word->classes = {{"transcode", 1}, {"training", 2}, {"spark", 3}};
    switches.set(EvictFeature::kBeCpu);
  }
  std::vector<model::Task> all;
  std::vector<TaskSeen> tasks;
  std::int64_t requested = 0, gives = 0;
  NodeSeen node;
  protect::NodeRules rules;
  EvictSwitches switches;
};

std::int64_t order_of(const model::Task& task) {
  return task.identity.work_class == "spark"       ? 3
         : task.identity.work_class == "training"  ? 2
         : task.identity.work_class == "transcode" ? 1
                                                   : 0;
}

TEST(Oversold, EvictsOnlyTheOversoldAmount) {
  std::mt19937_64 random(11);
  int arbitrated = 0;
  for (int i = 0; i < 3'000; ++i) {
    const OversoldWorld world(random);
    const auto step = evict({}, {world.node, world.tasks, {}, model::kEvictionsPerHourMax, true}, world.rules,
                            world.switches, kMono, kOversoldNow);
    NodeSeen fits = world.node;
    fits.oversold.reset();
    const Gaps plain = gaps_of(fits, world.tasks, world.rules, world.switches);
    if (step.plan.orders.empty()) {
      EXPECT_TRUE(plain.gaps.empty() || world.requested == world.gives) << "the shortage shows, and no task is evicted";
      continue;
    }
    ASSERT_EQ(plain.gaps.size(), 1u) << "the shortage does not show";
    if (world.requested == world.gives) continue;  // not oversold: by its own reason
    ++arbitrated;
    std::int64_t goes = 0, last = 0, highest = 0;
    for (const EvictOrder& each : step.plan.orders) {
      EXPECT_EQ(each.reason, Reason::kArbitrateEvict);
      const model::Task& task = world.all[each.task];
      EXPECT_GE(order_of(task), highest) << "a more timely task was evicted before a less timely one";
      highest = order_of(task);
      last = task.requests.batch.cpu->value;
      goes += last;
    }
    const std::int64_t needed = std::min(plain.gaps[0].amount, world.requested - world.gives);
    EXPECT_LT(goes - last, needed) << "the eviction of the last one was not needed";
    EXPECT_GT(world.requested - (goes - last), world.gives) << "work that fits was evicted";
    if (step.plan.orders.size() < kVictimsAStep) {
      EXPECT_GE(goes, needed);
    }
    // No evicted task is more timely than one that stays.
    for (std::size_t k = 0; k < world.all.size(); ++k) {
      const bool went = std::ranges::any_of(step.plan.orders, [&](const EvictOrder& each) { return each.task == k; });
      if (!went) {
        EXPECT_GE(order_of(world.all[k]), highest);
      }
    }
  }
  EXPECT_GT(arbitrated, 500);
}

}  // namespace
}  // namespace tidemark::policy::evict
