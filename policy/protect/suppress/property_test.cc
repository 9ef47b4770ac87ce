// What holds of suppression on any node: total, bounded, growth limited, monotone, quiet.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <utility>

#include "policy/protect/suppress/processors.h"
#include "policy/protect/suppress/testing/stage.h"

namespace tidemark::policy::protect {
namespace {

using base::MonotonicTime;
using model::CpuMilli;
using model::Reason;
using Random = std::mt19937_64;

constexpr MonotonicTime kSuppressNow{std::chrono::hours(1)};

std::int64_t any_of(Random& random, std::int64_t below) {
  constexpr std::int64_t kWild[] = {0, -1, 1, INT64_MAX, INT64_MIN, 999, 1'000'000'000'000'000};
  return random() % 10 == 0 ? kWild[random() % std::size(kWild)]
                            : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}
std::optional<CpuMilli> any_cpu(Random& random) {
  if (random() % 8 == 0) return std::nullopt;
  return CpuMilli{any_of(random, 100'000)};
}
std::vector<std::int32_t> any_cpus(Random& random) {
  std::set<std::int32_t> out;
  for (auto left = random() % 12; left > 0; --left) out.insert(static_cast<std::int32_t>(random() % 70));
  return {out.begin(), out.end()};
}

NodeRules any_rules(Random& random) {
  NodeRules rules;
  rules.threshold.enable = random() % 8 != 0;
  rules.threshold.cpu_suppress_percent = random() % 3 == 0 ? 65 : any_of(random, 101);
  if (random() % 3 == 0) rules.threshold.cpu_suppress_min_percent = any_of(random, 30);
  constexpr std::array kPolicies = {SuppressPolicy::kCpuset, SuppressPolicy::kCfsQuota, SuppressPolicy::kIdle};
  rules.threshold.cpu_suppress_policy = kPolicies[random() % kPolicies.size()];
  if (random() % 2 == 0) {
    rules.word.emplace();
    rules.word->classes = {{"transcode", 10}, {"training", 20}, {"spark", 30}};
  }
  return rules;
}

// Some of it wild; `tasks` outlive it.
SuppressObservation any_observation(Random& random, const std::vector<model::Task>& tasks) {
  SuppressObservation seen;
  seen.node_off = random() % 10 == 0;
  seen.capacity = any_cpu(random);
  seen.node_used = any_cpu(random);
  seen.kubelet_reserved = any_cpu(random);
  seen.annotation_reserved = {any_of(random, 5000)};
  for (const auto& each : tasks) seen.tasks.push_back({&each, any_cpu(random), random() % 4 == 0});
  if (random() % 3 == 0) seen.tasks.push_back({nullptr, any_cpu(random), false});
  for (std::int32_t cpu = 0, all = static_cast<std::int32_t>(random() % 65); cpu < all; ++cpu) {
    const auto core = random() % 3 == 0 ? cpu : cpu / 2;
    seen.processors.push_back(
        {cpu, core, static_cast<std::int32_t>(random() % 2), static_cast<std::int32_t>(random() % 3)});
  }
  seen.reserved_cpus = any_cpus(random);
  seen.exclusive_cpus = any_cpus(random);
  if (random() % 8 != 0) seen.besteffort_cpus = any_cpus(random);
  if (random() % 8 != 0) seen.besteffort_quota_us = random() % 2 == 0 ? kNoLimit : any_of(random, 7'000'000);
  if (random() % 8 != 0) seen.groups.besteffort = testing::kBesteffort;
  for (const auto& each : tasks) {
    if (lies_below(each.path, testing::kBesteffort)) seen.groups.pods.push_back(each.path);
    for (const auto& container : each.containers) seen.groups.containers.push_back(container.path);
  }
  seen.kubelet_static = random() % 4 == 0;
  seen.runs_last = random() % 2 == 0;
  seen.nested_cpuset = random() % 2 == 0;
  seen.nested_quota = random() % 2 == 0;
  seen.ratio_percent = random() % 2 == 0 ? 100 : any_of(random, 500);
  return seen;
}

void expect_sound(const SuppressObservation& seen, const NodeRules& rules, const SuppressStep& step) {
  const SuppressPlan& plan = step.plan;
  const OfflinePools pools = offline_pools(seen);
  if (!rules.threshold.enable && !seen.node_off) {
    ASSERT_EQ(plan.reason, Reason::kSuppressOff);
    ASSERT_TRUE(plan.intents.empty());
    ASSERT_EQ(step.state, SuppressState());
    return;
  }
  for (const Intent& each : plan.intents) {
    ASSERT_EQ(each.strategy, model::Strategy::kCpuSuppress);
    if (each.want == Want::kCpus) {
      ASSERT_FALSE(each.cpus.empty());
      ASSERT_EQ(std::ranges::adjacent_find(each.cpus, std::greater_equal<>()), each.cpus.end())
          << "ascending, each once";
    } else {
      ASSERT_EQ(each.want, Want::kCpuQuota);
      ASSERT_GE(each.value, each.group == testing::kBesteffort ? kSuppressQuotaMin_us : 1000);
    }
  }
  if (plan.room) {
    ASSERT_GE(plan.room->room.value, 0);
    ASSERT_LE(plan.room->room, plan.room->capacity);
  }
  if (plan.holds) return;
  const bool idle = rules.threshold.cpu_suppress_policy == SuppressPolicy::kIdle;
  if (idle && seen.runs_last && !seen.node_off) {
    ASSERT_EQ(plan.reason, Reason::kSuppressRunsLast);
    ASSERT_TRUE(plan.intents.empty());
    ASSERT_EQ(step.state, SuppressState());
    ASSERT_GT(plan.left.value().value, 0);
    return;
  }
  ASSERT_EQ(plan.policy, idle ? SuppressPolicy::kCfsQuota : rules.threshold.cpu_suppress_policy);
  if (*plan.policy == SuppressPolicy::kCfsQuota) {
    ASSERT_GE(plan.quota_us, kSuppressQuotaMin_us);
    return;
  }
  const auto n = static_cast<std::int64_t>(plan.cpus.size());
  ASSERT_GE(n, std::min(kSuppressCpusMin, pools.size()));
  ASSERT_LE(n, pools.size());
  for (const std::int32_t cpu : plan.cpus) {
    const auto is = [&](const Processor& each) { return each.cpu == cpu; };
    ASSERT_TRUE(std::ranges::any_of(pools.lsr, is) || std::ranges::any_of(pools.others, is)) << cpu;
  }
}

TEST(SuppressProperty, TotalAndBounded) {
  Random random(1);
  SuppressStep spare;  // of whatever was asked before: its memory serves, and nothing that it said
  for (int round = 0; round < 6'000; ++round) {
    SuppressState state;
    MonotonicTime now = kSuppressNow;
    const auto tasks = testing::any_tasks(random);
    for (int pass = 0; pass < 3; ++pass) {
      const NodeRules rules = any_rules(random);
      const auto seen = any_observation(random, tasks);
      const auto step = suppress(state, seen, rules, now);
      ASSERT_NO_FATAL_FAILURE(expect_sound(seen, rules, step)) << "round " << round;
      auto again = suppress(state, seen, rules, now, std::move(spare));
      ASSERT_EQ(again.state, step.state) << "the same of the same";
      ASSERT_EQ(again.plan.intents, step.plan.intents);
      spare = std::move(again);
      state = step.state;
      now = now + base::Duration(any_of(random, 2'000'000'000) % 100'000'000'000);
    }
  }
}

// A node with one online pod and one offline pod that is really there.
struct AnyNode {
  std::int64_t processors = 64;
  model::Task web;
  model::Task batch;
  NodeRules rules;
  SuppressObservation seen;

  explicit AnyNode(std::int64_t n, SuppressPolicy policy) : processors(n) {
    web.qos_raw = model::Qos::kLs;
    web.kube_qos = model::KubeQos::kBurstable;
    batch.qos_raw = batch.qos = model::Qos::kBe;
    batch.path = "kubepods/besteffort/batch";
    rules.threshold.enable = true;
    rules.threshold.cpu_suppress_policy = policy;
    seen.capacity = CpuMilli{n * 1000};
    seen.kubelet_reserved = CpuMilli{0};
    seen.groups.besteffort = testing::kBesteffort;
    seen.besteffort_quota_us = kNoLimit;
    seen.besteffort_cpus.emplace();
    for (std::int32_t cpu = 0; cpu < n; ++cpu) {
      seen.processors.push_back({cpu, cpu / 2, 0, cpu % 4 / 2});
      seen.besteffort_cpus->push_back(cpu);
    }
  }
  AnyNode(const AnyNode&) = delete;
  AnyNode& operator=(const AnyNode&) = delete;

  void uses(std::int64_t online_milli, std::int64_t offline_milli = 0) {
    seen.node_used = CpuMilli{online_milli + offline_milli};
    seen.tasks = {{&web, CpuMilli{online_milli}, false}, {&batch, CpuMilli{offline_milli}, false}};
  }
  void carry_out(const SuppressPlan& plan) {
    if (!plan.cpus.empty()) seen.besteffort_cpus = plan.cpus;
    if (plan.quota_us != kNoLimit) seen.besteffort_quota_us = plan.quota_us;
  }
};

std::int64_t amount_of(const SuppressPlan& plan) {
  return plan.policy == SuppressPolicy::kCfsQuota ? plan.quota_us : static_cast<std::int64_t>(plan.cpus.size());
}

// Contract 7.3: the set grows by at most ceil(10 % of processors), the quota by 10 % of cores×100000; cuts are
// immediate.
TEST(SuppressProperty, GrowthIsLimitedAndACutIsAtOnce) {
  Random random(2);
  for (const auto policy : {SuppressPolicy::kCpuset, SuppressPolicy::kCfsQuota}) {
    for (int round = 0; round < 300; ++round) {
      AnyNode node(2 + static_cast<std::int64_t>(random() % 127), policy);
      SuppressState state;
      MonotonicTime now = kSuppressNow;
      const bool quota = policy == SuppressPolicy::kCfsQuota;
      const std::int64_t most = quota ? node.processors * 10'000 : (node.processors + 9) / 10;
      std::int64_t before = quota ? INT64_MAX / 2 : node.processors;
      for (int pass = 0; pass < 40; ++pass) {
        node.uses(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(node.processors * 1000)));
        const auto step = suppress(state, node.seen, node.rules, now);
        const std::int64_t wanted = std::min(*step.plan.wanted, quota ? INT64_MAX : node.processors);
        ASSERT_LE(amount_of(step.plan), std::max(before + most, std::int64_t{quota ? kSuppressQuotaMin_us : 2}));
        if (wanted < before && (!quota || before - wanted >= node.processors * 1000)) {
          ASSERT_EQ(amount_of(step.plan), wanted);
        }
        ASSERT_LE(amount_of(step.plan), std::max(wanted, before)) << "no more than is wanted, but for what was there";
        before = amount_of(step.plan);
        state = step.state;
        node.carry_out(step.plan);
        now = now + std::chrono::seconds(1);
      }
    }
  }
}

TEST(SuppressProperty, MoreOnlineUseNeverGivesMoreRoom) {
  Random random(3);
  for (int round = 0; round < 20'000; ++round) {
    const auto policy = random() % 2 == 0 ? SuppressPolicy::kCpuset : SuppressPolicy::kCfsQuota;
    AnyNode node(2 + static_cast<std::int64_t>(random() % 127), policy);
    node.seen.annotation_reserved = {static_cast<std::int64_t>(random() % 4000)};
    if (random() % 2 == 0) node.rules.threshold.cpu_suppress_min_percent = static_cast<std::int64_t>(random() % 20);
    const auto cores = static_cast<std::uint64_t>(node.processors * 1000);
    node.seen.besteffort_cpus->resize(random() % (node.seen.besteffort_cpus->size() + 1));
    if (random() % 3 != 0) node.seen.besteffort_quota_us = static_cast<std::int64_t>(2000 + random() % (cores * 100));
    const auto online = static_cast<std::int64_t>(random() % cores);
    const auto offline = static_cast<std::int64_t>(random() % cores);
    const auto system = static_cast<std::int64_t>(random() % 3000);
    const auto look = [&](std::int64_t use) {
      node.uses(use, offline);
      *node.seen.node_used += CpuMilli{system};
      return suppress({}, node.seen, node.rules, kSuppressNow).plan;
    };
    const auto less = look(online + static_cast<std::int64_t>(random() % 5000));
    const auto more = look(online);
    ASSERT_LE(less.room->room, more.room->room);
    ASSERT_LE(*less.wanted, *more.wanted);
    if (policy == SuppressPolicy::kCpuset) {
      ASSERT_LE(amount_of(less), amount_of(more));
    } else {
      // The band keeps what is in force on either side: less than 1 % of the cores.
      ASSERT_LE(amount_of(less), amount_of(more) + node.processors * 1000);
    }
  }
}

// Use that swings by less than 1 % of the node moves nothing once it has settled, in either policy, with classes or
// not.
TEST(SuppressProperty, NoiseBelowOnePercentMovesNothing) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const auto policy = round % 2 == 0 ? SuppressPolicy::kCpuset : SuppressPolicy::kCfsQuota;
    AnyNode node(8 + static_cast<std::int64_t>(random() % 120), policy);
    node.rules.word.emplace();
    node.rules.word->classes = {{"transcode", 10}, {"spark", 30}};
    model::Task spark = node.batch;
    spark.identity.work_class = "spark";
    spark.path += "-spark";
    const auto cores = static_cast<std::uint64_t>(node.processors * 1000);
    const auto online = static_cast<std::int64_t>(random() % (cores * 6 / 10));
    const auto low = static_cast<std::int64_t>(1000 + random() % 4000);
    const auto high = static_cast<std::int64_t>(1000 + random() % 4000);
    SuppressState state;
    MonotonicTime now = kSuppressNow;
    // Each by itself by less than 1 % of what it is, all of them together by less than 1 % of the node. A cut that
    // comes of the loudest moment is no flapping: it is among the first ones.
    int pass = 0;
    const auto noisy = [&](std::int64_t use) {
      const std::int64_t most = use / 110;
      if (pass < 20) return use + (pass % 2 == 0 ? most : 0);
      return use + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    std::vector<Intent> settled;
    constexpr int kSettled = 40;
    for (; pass < 240; ++pass) {
      const std::int64_t web = noisy(online);
      const std::int64_t batch = noisy(low);
      const std::int64_t timely = noisy(high);
      node.uses(web, batch);
      node.seen.tasks.push_back({&spark, CpuMilli{timely}, false});
      *node.seen.node_used += CpuMilli{timely};
      auto step = suppress(state, node.seen, node.rules, now);
      for (Intent& each : step.plan.intents) each.reason = Reason::kSuppressUnderLine;
      if (pass == kSettled) settled = step.plan.intents;
      if (pass > kSettled) {
        ASSERT_EQ(step.plan.intents, settled) << "round " << round << " pass " << pass;
      }
      state = step.state;
      node.carry_out(step.plan);
      now = now + std::chrono::seconds(1);
    }
  }
}

// As many as are asked for, of what there is, whatever the shape of the machine.
TEST(SuppressProperty, AsManyProcessorsAsAreAskedFor) {
  Random random(5);
  for (int round = 0; round < 5000; ++round) {
    OfflinePools pools;
    std::int32_t cpu = 0;
    for (auto* pool : {&pools.lsr, &pools.others}) {
      for (auto left = random() % 40; left > 0; --left, ++cpu) {
        pool->push_back({cpu, static_cast<std::int32_t>(random() % 30), static_cast<std::int32_t>(random() % 2),
                         static_cast<std::int32_t>(random() % 4)});
      }
    }
    const std::int64_t n = any_of(random, pools.size() + 3);
    const auto chosen = choose_processors(pools, n);
    ASSERT_EQ(static_cast<std::int64_t>(chosen.size()), std::clamp<std::int64_t>(n, 0, pools.size()));
    ASSERT_EQ(std::set(chosen.begin(), chosen.end()).size(), chosen.size());
  }
}

}  // namespace
}  // namespace tidemark::policy::protect
