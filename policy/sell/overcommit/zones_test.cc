// Each test is named after the fact of contract 5.3 that it holds to; the peer's own numbers are in testdata/zones.txt.
#include "policy/sell/overcommit/zones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/writes.h"

namespace tidemark::policy::sell {
namespace {

using model::CpuMicro;
using model::CpuMilli;
using model::MemoryBytes;
using model::MemoryMilli;
using model::PriorityClass;
using model::Qos;

constexpr std::int64_t kZonesGi = 1024LL * 1024 * 1024;
const base::WallTime kZonesNow{std::chrono::hours(24 * 365 * 50)};

NodeStrategy zones_enabled(model::ColocationStrategy values, model::Profile profile = model::Profile::kKoordinator) {
  NodeStrategy strategy;
  strategy.values = std::move(values);
  strategy.values.enable = true;
  strategy.enabled = true;
  strategy.reason = model::Reason::kConfigApplied;
  strategy.profile = profile;
  return strategy;
}

// A node whose zones are all there is of it.
model::NodeSnapshot any_node(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  const auto any = [&](std::int64_t cpu, std::int64_t memory) {
    return model::Resources{{below(static_cast<std::uint64_t>(cpu))}, {below(static_cast<std::uint64_t>(memory))}};
  };
  model::NodeSnapshot node;
  node.topology.emplace();
  const auto count = 1 + below(4);
  for (std::int64_t i = 0; i < count; ++i) {
    auto& zone = node.topology->zones.emplace_back();
    zone.name = "node-" + std::to_string(i);
    const auto has = any(64'000, 256 * kZonesGi);
    zone.cpu = has.cpu;
    zone.memory = MemoryMilli{has.memory.value * 1000};
    node.capacity += has;
  }
  node.allocatable = node.capacity;
  node.reserved_by_annotation = any(2'000, 2 * kZonesGi);
  node.metric.emplace();
  node.metric->update_time = kZonesNow;
  node.metric->has_node_metric = true;
  node.metric->system_usage = any(2'000, 2 * kZonesGi);
  for (auto n = below(6); n > 0; --n) {
    const std::string name = "p" + std::to_string(n);
    const auto priority = static_cast<PriorityClass>(below(5));
    const auto qos = static_cast<Qos>(below(6));
    if (below(4) != 0) node.metric->pods.push_back({{"", name}, any(9'000, 9 * kZonesGi), priority, qos});
    if (below(4) == 0) continue;
    model::PodView pod{{"", name}, model::PodPhase::kRunning, priority, qos, any(9'000, 9 * kZonesGi)};
    for (auto placed = below(3); placed > 0; --placed)
      pod.numa_nodes.push_back(static_cast<std::int32_t>(below(6)) - 1);
    node.pods.push_back(std::move(pod));
  }
  if (below(2) == 0) node.third_party->push_back({"t", PriorityClass::kBatch, any(2'000, 2 * kZonesGi)});
  return node;
}

model::ColocationStrategy any_zones_strategy(std::mt19937_64& random, std::uint64_t percent_max) {
  const auto percent = [&] { return static_cast<std::int64_t>(random() % (percent_max + 1)); };
  model::ColocationStrategy strategy;
  strategy.cpu_calculate_policy = static_cast<model::CalculatePolicy>(random() % 3);
  strategy.memory_calculate_policy = static_cast<model::CalculatePolicy>(random() % 3);
  strategy.cpu_reclaim_threshold_percent = percent();
  strategy.memory_reclaim_threshold_percent = percent();
  if (random() % 2 == 0) strategy.batch_cpu_threshold_percent = percent();
  if (random() % 2 == 0) strategy.batch_memory_threshold_percent = percent();
  return strategy;
}

NodeStrategy with_ratio(NodeStrategy strategy, double ratio) {
  auto settings = std::make_shared<NormalizationSettings>();
  settings->enable = true;
  settings->default_ratio = ratio;
  strategy.normalization = settings;
  return strategy;
}

TEST(Zones, ContractOrderIsPolicyThenCapThenRatioAndZonesAreNeverRounded) {
  model::NodeSnapshot node;
  node.capacity = node.allocatable = {CpuMilli{3000}, MemoryBytes{3 * kZonesGi}};
  node.metric.emplace();
  node.metric->update_time = kZonesNow;
  node.metric->has_node_metric = true;
  node.topology.emplace();
  node.topology->cpu.emplace();
  node.topology->zones = {{"node-0", CpuMilli{3000}, MemoryMilli{3 * kZonesGi * 1000}}};
  node.third_party->push_back({"hadoop-yarn", PriorityClass::kBatch, {CpuMilli{100}, {}}});
  model::ColocationStrategy values;
  values.batch_cpu_threshold_percent = 37;  // 1110 of the 1800 under the water line
  const auto plan = overcommit(node, with_ratio(zones_enabled(values), 1.11), kZonesNow);
  EXPECT_EQ(plan.batch_cpu.allowed, CpuMilli{1110});
  EXPECT_EQ(plan.origin->cpu, CpuMilli{1233}) << "1232.1, rounded up";
  EXPECT_EQ(plan.publish.batch_cpu, CpuMilli{1133}) << "the third party comes off last";
  ASSERT_EQ(plan.zones.zones.size(), 1u);
  EXPECT_EQ(zone_quantity(plan.zones.zones[0].batch_cpu).canonical(), "1232100m");
}

TEST(Zones, WritesQuantitiesLikeKoordinator) {
  EXPECT_EQ(zone_quantity(CpuMicro{7'800'000}).canonical(), "7800");
  EXPECT_EQ(zone_quantity(CpuMicro{12'000'000}).canonical(), "12k");
  EXPECT_EQ(zone_quantity(CpuMicro{0}).canonical(), "0");
  EXPECT_EQ(zone_quantity(MemoryMilli{kZonesGi * 1000}, model::Quantity::Format::kBinarySI).canonical(), "1Gi");
  EXPECT_EQ(zone_quantity(MemoryMilli{kZonesGi * 1000 + 1}, model::Quantity::Format::kBinarySI).canonical(),
            "1073741824001m");
  EXPECT_EQ(zone_quantity(MemoryMilli{62'000'000'000'000}, model::Quantity::Format::kDecimalSI).canonical(), "62G");
}

TEST(Zones, ExcessAboveTheNodeIsWrittenAtOnce) {
  model::TopologyView topology;
  ZonesPlan wanted;
  for (int i = 0; i < 2; ++i) {
    const CpuMicro four{4'000'000};
    topology.zones.emplace_back().batch_cpu = model::ZoneAmounts<CpuMicro>{four, four, four};
    wanted.zones.emplace_back().batch_cpu = CpuMicro{3'999'500};
  }
  const auto decided = [&](std::optional<std::int64_t> on_node) {
    const auto follow = on_node ? std::optional(model::Resources{{*on_node}, {}}) : std::nullopt;
    return needs_zone_write(topology, wanted, base::Duration(0), model::ColocationStrategy(), follow);
  };
  EXPECT_FALSE(decided(std::nullopt).above_node) << "they do not follow";
  EXPECT_FALSE(decided(8000).above_node);
  EXPECT_TRUE(decided(7999).above_node);
  EXPECT_TRUE(decided(7999).write.write);
}

TEST(ZonesProperty, NoZoneOffersLessThanNothingOrMoreThanItHas) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 5'000; ++i) {
    const auto node = any_node(random);
    const double ratio = 1.0 + static_cast<double>(random() % 401) / 100;
    const auto plan = overcommit(node, with_ratio(zones_enabled(any_zones_strategy(random, 100)), ratio), kZonesNow);
    ASSERT_EQ(plan.zones.zones.size(), node.topology->zones.size());
    for (std::size_t z = 0; z < plan.zones.zones.size(); ++z) {
      const auto& zone = plan.zones.zones[z];
      const auto& has = node.topology->zones[z];
      EXPECT_GE(zone.batch_cpu, CpuMicro{0});
      EXPECT_GE(zone.batch_memory, MemoryMilli{0});
      EXPECT_LE(static_cast<double>(zone.batch_cpu.value), static_cast<double>(has.cpu->value) * 1000 * ratio);
      EXPECT_LE(zone.batch_memory, *has.memory);
      EXPECT_EQ(zone.cpu.left, zone.cpu.capacity - zone.cpu.margin - zone.cpu.reserved - zone.cpu.high_priority);
    }
  }
}

TEST(ZonesProperty, OfferNoMoreThanTheNodeIfNoZoneIsOverloaded) {
  std::mt19937_64 random(22);
  int compared = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto node = any_node(random);
    auto values = any_zones_strategy(random, 100);
    values.batch_cpu_threshold_percent.reset();
    values.batch_memory_threshold_percent.reset();
    // A pod that lists a zone twice is halved by the peer: only `profile: tidemark` keeps the sum.
    const auto plan = overcommit(node, zones_enabled(values, model::Profile::kTidemark), kZonesNow);
    CpuMilli cpu;
    MemoryMilli memory;
    bool overloaded = false;
    for (const auto& zone : plan.zones.zones) {
      cpu += zone.cpu.allowed;
      memory += zone.memory.allowed;
      overloaded = overloaded || zone.cpu.left < CpuMilli{0} || zone.memory.left < MemoryMilli{0};
    }
    if (overloaded) continue;
    ++compared;
    // Each zone's margin is truncated by itself: a unit a zone.
    const auto count = static_cast<std::int64_t>(plan.zones.zones.size());
    EXPECT_LE(cpu.value, plan.batch_cpu.allowed.value + count);
    EXPECT_LE(memory.value, (plan.batch_memory.allowed.value + count) * 1000);
  }
  EXPECT_GT(compared, 1'000);
}

TEST(ZonesProperty, MoreUseNeverOffersMoreInAnyZone) {
  std::mt19937_64 random(23);
  for (int i = 0; i < 5'000; ++i) {
    const auto node = any_node(random);
    const auto strategy = zones_enabled(any_zones_strategy(random, 120));
    const auto before = overcommit(node, strategy, kZonesNow);
    const model::Resources more{CpuMilli{static_cast<std::int64_t>(random() % 3'000)},
                                MemoryBytes{static_cast<std::int64_t>(random() % (3 * kZonesGi))}};
    const auto expect_no_more = [&](const model::NodeSnapshot& changed, const char* what) {
      const auto after = overcommit(changed, strategy, kZonesNow);
      for (std::size_t z = 0; z < after.zones.zones.size(); ++z) {
        EXPECT_LE(after.zones.zones[z].batch_cpu, before.zones.zones[z].batch_cpu) << what;
        EXPECT_LE(after.zones.zones[z].batch_memory, before.zones.zones[z].batch_memory) << what;
      }
    };
    auto changed = node;
    changed.metric->system_usage += more;
    expect_no_more(changed, "system use");
    changed = node;
    changed.reserved_by_annotation += more;
    expect_no_more(changed, "reservation");
    changed = node;
    for (auto& report : changed.metric->pods) report.usage += more;
    expect_no_more(changed, "pod use");
    changed = node;
    for (auto& pod : changed.pods) pod.request += more;
    expect_no_more(changed, "pod requests");
  }
}

TEST(ZonesProperty, TheOrderOfPodsAndReportsDoesNotMatter) {
  std::mt19937_64 random(24);
  for (int i = 0; i < 2'000; ++i) {
    const auto node = any_node(random);
    const auto strategy = zones_enabled(any_zones_strategy(random, 120),
                                        i % 2 == 0 ? model::Profile::kKoordinator : model::Profile::kTidemark);
    auto shuffled = node;
    std::shuffle(shuffled.pods.begin(), shuffled.pods.end(), random);
    std::shuffle(shuffled.metric->pods.begin(), shuffled.metric->pods.end(), random);
    for (auto& pod : shuffled.pods) std::shuffle(pod.numa_nodes.begin(), pod.numa_nodes.end(), random);
    EXPECT_EQ(overcommit(node, strategy, kZonesNow), overcommit(shuffled, strategy, kZonesNow));
  }
}

TEST(SafeProfileProperty, NeverOffersMoreThanKoordinatorsRules) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 10'000; ++i) {
    auto node = any_node(random);
    if (random() % 8 == 0) node.third_party.reset();
    if (random() % 8 == 0) node.reservation_unreadable = true;
    const auto values = any_zones_strategy(random, 200);
    const auto peer = overcommit(node, zones_enabled(values), kZonesNow);
    const auto safe = overcommit(node, zones_enabled(values, model::Profile::kTidemark), kZonesNow);
    EXPECT_LE(safe.publish.batch_cpu, peer.publish.batch_cpu);
    EXPECT_LE(safe.publish.batch_memory, peer.publish.batch_memory);
    EXPECT_LE(safe.origin->cpu, peer.origin->cpu);
    EXPECT_LE(safe.origin->memory, peer.origin->memory);
    EXPECT_LE(safe.origin->cpu, node.capacity.cpu);
    EXPECT_LE(safe.origin->memory, node.capacity.memory);
    for (std::size_t z = 0; z < safe.zones.zones.size(); ++z) {
      EXPECT_LE(safe.zones.zones[z].batch_cpu, peer.zones.zones[z].batch_cpu);
      EXPECT_LE(safe.zones.zones[z].batch_memory, peer.zones.zones[z].batch_memory);
    }
    if (safe.publish != peer.publish) EXPECT_FALSE(safe.safeguards.empty()) << "every difference is told";
  }
}

TEST(ZonesProperty, WildNumbersStayWithinTheirType) {
  std::mt19937_64 random(26);
  constexpr std::int64_t kEnds[] = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                    0, -1};
  const auto wild = [&]() -> std::int64_t {
    return random() % 2 == 0 ? kEnds[random() % std::size(kEnds)] : static_cast<std::int64_t>(random());
  };
  for (int i = 0; i < 5'000; ++i) {
    auto node = any_node(random);
    node.metric->system_usage = {{wild()}, {wild()}};
    node.reserved_by_annotation = {{wild()}, {wild()}};
    for (auto& zone : node.topology->zones) {
      zone.cpu = CpuMilli{wild()};
      zone.memory = MemoryMilli{wild()};
    }
    for (auto& pod : node.pods) pod.request = {{wild()}, {wild()}};
    const auto profile = i % 2 == 0 ? model::Profile::kKoordinator : model::Profile::kTidemark;
    const auto plan =
        overcommit(node, with_ratio(zones_enabled(any_zones_strategy(random, 300), profile), 4.99), kZonesNow);
    for (const auto& zone : plan.zones.zones) {
      EXPECT_GE(zone.batch_cpu, CpuMicro{0});
      EXPECT_GE(zone.batch_memory, MemoryMilli{0});
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
