#include "policy/sell/overcommit/zones.h"

#include <cstddef>
#include <limits>

namespace tidemark::policy::sell {
namespace {

using model::CpuMicro;
using model::CpuMilli;
using model::MemoryMilli;
using model::Reason;

constexpr std::int64_t kMicroPerMilli = 1000;

CpuMicro in_micro(CpuMilli cpu) {
  std::int64_t micro = 0;
  if (!__builtin_mul_overflow(cpu.value, kMicroPerMilli, &micro)) return {micro};
  return {cpu.value < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max()};
}

}  // namespace

ZonesPlan plan_zones(const std::optional<model::TopologyView>& topology, const OnlineWork& work,
                     const ZoneShares& shares, const BatchRules& cpu, const BatchRules& memory,
                     std::optional<std::int64_t> ratio_percent, model::Profile profile) {
  ZonesPlan plan;
  if (!topology) return plan;
  plan.reason = Reason::kZonesEmpty;
  if (!topology->has_zone_resources()) return plan;
  plan.reason = Reason::kZonesCalculated;

  const std::size_t count = topology->zones.size();
  const ZoneDemands demands = measure_zones(work, count, profile);
  plan.counted_once = demands.counted_once;
  const ZoneResources system = divided(shares.system_used, count);
  const ZoneResources kubelet = divided(shares.reserved_by_kubelet, count);
  const ZoneResources annotation = divided(shares.reserved_by_annotation, count);
  const ZoneResources third_party = divided(shares.third_party, count);

  plan.zones.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const model::ZoneView& view = topology->zones[i];
    const ZoneDemand& demand = demands.zones[i];
    ZonePlan& zone = plan.zones.emplace_back();
    zone.name = view.name;
    zone.memory_format = view.memory_format;
    zone.cpu = under_water_line<CpuMilli>({view.cpu.value_or(CpuMilli()), system.cpu, kubelet.cpu, annotation.cpu,
                                           demand.used.cpu, demand.requested.cpu, demand.max_of_both.cpu},
                                          cpu);
    zone.memory = under_water_line<MemoryMilli>(
        {view.memory.value_or(MemoryMilli()), system.memory, kubelet.memory, annotation.memory, demand.used.memory,
         demand.requested.memory, demand.max_of_both.memory},
        memory);
    zone.batch_cpu = in_micro(zone.cpu.allowed);
    if (ratio_percent && *ratio_percent > kRatioNone) {
      zone.batch_cpu = {times(zone.batch_cpu.value, static_cast<double>(*ratio_percent) / kRatioNone)};
    }
    zone.batch_memory = zone.memory.allowed;
    zone.third_party_cpu = in_micro(third_party.cpu);
    zone.third_party_memory = third_party.memory;
    zone.batch_cpu = not_negative(zone.batch_cpu - zone.third_party_cpu);
    zone.batch_memory = not_negative(zone.batch_memory - zone.third_party_memory);
  }
  return plan;
}

ZonesPlan reset_zones(const std::optional<model::TopologyView>& topology, model::Profile profile) {
  ZonesPlan plan;
  if (!topology) return plan;
  plan.reason = Reason::kZonesLeft;
  if (profile == model::Profile::kKoordinator) return plan;
  bool carries = false;
  for (const model::ZoneView& view : topology->zones) {
    ZonePlan& zone = plan.zones.emplace_back();
    zone.name = view.name;
    carries = carries || view.batch_cpu || view.batch_memory;
  }
  plan.reason = Reason::kZonesCleared;
  if (!carries) plan.zones.clear();
  return plan;
}

model::Quantity zone_quantity(CpuMicro batch_cpu) {
  return model::Quantity::of_milli(batch_cpu.value);
}

model::Quantity zone_quantity(MemoryMilli batch_memory, model::Quantity::Format format) {
  return model::Quantity::of_milli(batch_memory.value, format);
}

}  // namespace tidemark::policy::sell
