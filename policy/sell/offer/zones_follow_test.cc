#include "policy/sell/offer/zones_follow.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tidemark::policy::sell {
namespace {

using model::CpuMicro;
using model::CpuMilli;
using model::MemoryBytes;
using model::MemoryMilli;
using model::Reason;
using model::Resources;

Resources of(std::int64_t cpu, std::int64_t memory) {
  return {CpuMilli{cpu}, MemoryBytes{memory}};
}
ZonesPlan zones(std::vector<std::pair<std::int64_t, std::int64_t>> amounts) {
  ZonesPlan plan;
  plan.reason = Reason::kZonesCalculated;
  for (const auto& [cpu, memory] : amounts) {
    ZonePlan& zone = plan.zones.emplace_back();
    zone.batch_cpu = CpuMicro{cpu};
    zone.batch_memory = MemoryMilli{memory};
  }
  return plan;
}
model::TopologyView carrying(const ZonesPlan& plan) {
  model::TopologyView view;
  for (const ZonePlan& zone : plan.zones) {
    auto& each = view.zones.emplace_back();
    each.batch_cpu = {zone.batch_cpu, zone.batch_cpu, zone.batch_cpu};
    each.batch_memory = {zone.batch_memory, zone.batch_memory, zone.batch_memory};
  }
  return view;
}

TEST(ZonesFollow, ScalesByTheFactorOfTheNode) {
  const auto plan = zones({{6'000'000, 600'000}, {4'000'000, 400'000}});
  EXPECT_EQ(follow_node(plan, of(10'000, 1'000), of(10'000, 1'000)), plan);
  auto half = follow_node(plan, of(10'000, 1'000), of(5'000, 1'000));
  EXPECT_EQ(half.reason, Reason::kZonesScaled);
  EXPECT_EQ(half.zones[0].batch_cpu, CpuMicro{3'000'000});
  EXPECT_EQ(half.zones[1].batch_cpu, CpuMicro{2'000'000});
  EXPECT_EQ(half.zones[0].batch_memory, MemoryMilli{600'000}) << "each resource by itself";
  EXPECT_EQ(follow_node(plan, of(10'000, 1'000), of(12'000, 1'000)).zones[0].batch_cpu, CpuMicro{7'200'000})
      << "over-report";
  // Zones may come to more than their node's formula: each has a capacity of its own.
  EXPECT_EQ(follow_node(plan, of(8'000, 1'000), of(8'000, 1'000)).zones[0].batch_cpu, CpuMicro{4'800'000});
  // Without a node's formula (nothing was left), by their own sum.
  EXPECT_EQ(follow_node(plan, of(0, 0), of(5'000, 0)).zones[0].batch_cpu, CpuMicro{3'000'000});
}

TEST(ZonesFollow, OnlyFallsWithoutMeasurements) {
  const auto carried = carrying(zones({{6'000'000, 600'000}, {4'000'000, 400'000}}));
  auto held = hold_zones(carried, of(5'000, 2'000));
  EXPECT_EQ(held.reason, Reason::kZonesHeld);
  EXPECT_EQ(held.zones[0].batch_cpu, CpuMicro{3'000'000});
  EXPECT_EQ(held.zones[0].batch_memory, MemoryMilli{600'000});
  EXPECT_TRUE(hold_zones(carrying(zones({{0, 0}})), of(5'000, 2'000)).zones.empty());
  EXPECT_EQ(hold_zones(std::nullopt, of(1, 1)), ZonesPlan());
}

TEST(ZonesFollow, NeverExceedsTheValueOfTheNode) {
  const auto plan = zones({{6'000'000, 600'000}, {4'000'000, 400'000}});
  EXPECT_EQ(within_node(plan, of(10'000, 1'000)), plan);
  EXPECT_EQ(within_node(plan, of(12'000, 1'200)), plan) << "nor up to it: they go by their own formula";
  const auto waits = within_node(plan, of(9'000, 1'000));
  EXPECT_EQ(waits.reason, Reason::kZonesScaled);
  EXPECT_EQ(waits.zones[0].batch_cpu, CpuMicro{5'400'000});
  EXPECT_EQ(waits.zones[1].batch_cpu, CpuMicro{3'600'000});
  EXPECT_EQ(waits.zones[0].batch_memory, MemoryMilli{600'000});
  EXPECT_EQ(within_node(plan, Resources{}).zones[1].batch_cpu, CpuMicro{0});
  EXPECT_EQ(within_node(ZonesPlan(), of(1, 1)), ZonesPlan());
}

TEST(ZonesFollowProperty, TogetherNeverMoreThanTheNodeOffers) {
  std::mt19937_64 random(7);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const auto any = [&](std::int64_t most) {
    if (random() % 10 == 0) return kMax - static_cast<std::int64_t>(random() % 3);
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::pair<std::int64_t, std::int64_t>> amounts(random() % 5 + 1);
    for (auto& [cpu, memory] : amounts) cpu = any(40'000'000), memory = any(std::int64_t{1} << 50);
    const Resources offered = of(any(100'000), any(std::int64_t{1} << 40));
    const Resources formula = of(any(100'000), any(std::int64_t{1} << 40));
    const auto plan = zones(amounts);
    const auto view = carrying(plan);
    const auto ahead = within_node(follow_node(plan, formula, of(any(100'000), any(std::int64_t{1} << 40))), offered);
    for (const auto& followed : {follow_node(plan, formula, offered), hold_zones(view, offered), ahead}) {
      __int128 cpu = 0;
      __int128 memory = 0;
      for (const ZonePlan& zone : followed.zones) {
        ASSERT_GE(zone.batch_cpu.value, 0);
        cpu += zone.batch_cpu.value;
        memory += zone.batch_memory.value;
      }
      ASSERT_LE(cpu, static_cast<__int128>(offered.cpu.value) * 1000) << i;
      ASSERT_LE(memory, static_cast<__int128>(offered.memory.value) * 1000) << i;
    }
    const auto held = hold_zones(view, offered);
    for (std::size_t z = 0; z < held.zones.size(); ++z) {
      ASSERT_LE(held.zones[z].batch_cpu, plan.zones[z].batch_cpu);
      ASSERT_LE(held.zones[z].batch_memory, plan.zones[z].batch_memory);
    }
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
