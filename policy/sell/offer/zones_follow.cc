#include "policy/sell/offer/zones_follow.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace tidemark::policy::sell {
namespace {

using model::CpuMicro;
using model::MemoryMilli;
using model::Reason;
using model::Resources;

constexpr __int128 kFine = 1000;  // of a zone's unit in one of the node's

struct Factor {
  __int128 times = 1;
  __int128 divisor = 1;
  bool cuts() const { return times < divisor; }
};

// Each value times the factor; their sum is at most the sum times the factor.
template <class Fine>
Fine with(Fine value, const Factor& factor) {
  const __int128 scaled = static_cast<__int128>(std::max<std::int64_t>(value.value, 0)) * factor.times / factor.divisor;
  return {static_cast<std::int64_t>(std::min<__int128>(scaled, std::numeric_limits<std::int64_t>::max()))};
}

__int128 fine(std::int64_t of_node) {
  return static_cast<__int128>(std::max<std::int64_t>(of_node, 0)) * kFine;
}

// A factor whose numbers fit: its multiplicands have 63 bits.
Factor factor_of(__int128 times, __int128 divisor) {
  if (divisor <= 0) return {0, 1};
  while (times > std::numeric_limits<std::int64_t>::max() || divisor > std::numeric_limits<std::int64_t>::max()) {
    times /= 2;
    divisor = (divisor + 1) / 2;  // rounded up: never more
  }
  return {times, divisor};
}

struct Sums {
  __int128 cpu = 0;
  __int128 memory = 0;
};

Sums sums_of(const std::vector<ZonePlan>& zones) {
  Sums sums;
  for (const ZonePlan& zone : zones) {
    sums.cpu += std::max<std::int64_t>(zone.batch_cpu.value, 0);
    sums.memory += std::max<std::int64_t>(zone.batch_memory.value, 0);
  }
  return sums;
}

ZonesPlan scaled(ZonesPlan zones, const Factor& by_cpu, const Factor& by_memory) {
  bool moved = false;
  for (ZonePlan& zone : zones.zones) {
    const CpuMicro zone_cpu = with(zone.batch_cpu, by_cpu);
    const MemoryMilli zone_memory = with(zone.batch_memory, by_memory);
    moved = moved || zone_cpu != zone.batch_cpu || zone_memory != zone.batch_memory;
    zone.batch_cpu = zone_cpu;
    zone.batch_memory = zone_memory;
  }
  if (moved && zones.reason == Reason::kZonesCalculated) zones.reason = Reason::kZonesScaled;
  return zones;
}

}  // namespace

ZonesPlan follow_node(ZonesPlan zones, Resources formula, Resources offered) {
  if (zones.zones.empty()) return zones;
  const Sums sums = sums_of(zones.zones);
  const Factor by_cpu = factor_of(fine(offered.cpu.value), std::max(fine(formula.cpu.value), sums.cpu));
  const Factor by_memory = factor_of(fine(offered.memory.value), std::max(fine(formula.memory.value), sums.memory));
  return scaled(std::move(zones), by_cpu, by_memory);
}

ZonesPlan within_node(ZonesPlan zones, Resources carried) {
  const Sums sums = sums_of(zones.zones);
  const auto down = [](__int128 most, __int128 sum) { return sum > most ? factor_of(most, sum) : Factor(); };
  return scaled(std::move(zones), down(fine(carried.cpu.value), sums.cpu),
                down(fine(carried.memory.value), sums.memory));
}

ZonesPlan hold_zones(const std::optional<model::TopologyView>& topology, Resources offered) {
  ZonesPlan plan;
  if (!topology) return plan;
  plan.reason = Reason::kZonesHeld;
  for (const model::ZoneView& view : topology->zones) {
    ZonePlan& zone = plan.zones.emplace_back();
    zone.name = view.name;
    zone.memory_format = view.memory_format;
    if (view.batch_cpu) zone.batch_cpu = {std::max<std::int64_t>(view.batch_cpu->allocatable.value, 0)};
    if (view.batch_memory) zone.batch_memory = {std::max<std::int64_t>(view.batch_memory->allocatable.value, 0)};
  }
  const Sums sums = sums_of(plan.zones);
  if (sums.cpu == 0 && sums.memory == 0) {
    plan.zones.clear();  // no present values: none are created
    return plan;
  }
  const Factor by_cpu = factor_of(fine(offered.cpu.value), sums.cpu);
  const Factor by_memory = factor_of(fine(offered.memory.value), sums.memory);
  for (ZonePlan& zone : plan.zones) {
    if (by_cpu.cuts()) zone.batch_cpu = with(zone.batch_cpu, by_cpu);
    if (by_memory.cuts()) zone.batch_memory = with(zone.batch_memory, by_memory);
  }
  return plan;
}

}  // namespace tidemark::policy::sell
