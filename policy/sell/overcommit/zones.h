// Batch by NUMA zone: the node's formula (batch.h) once for each of the n zones of the NodeResourceTopology, with
//
//    capacity       the zone's allocatable
//    system use     the node's / n             kubelet's reservation, annotation: the node's / n
//    online pods    / number of zones they were placed on, in those zones; / n in every zone where placed on none
//    reports without a pod: / n in every zone
//
// Every division is rounded up, in milli-cores and in thousandths of a byte. Then
//
//    batch-cpu    = trunc(allowed × 1000 × normalization ratio) / 1000
//    batch-memory = allowed
//
// and neither is rounded: the zone has milli-fractions. Unlike on the node, a pod without a report always counts with
// its request, and third parties are not subtracted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/node.h"
#include "model/quantity.h"
#include "model/reason.h"
#include "model/settings/profile.h"
#include "model/topology.h"
#include "policy/sell/overcommit/batch.h"
#include "policy/sell/overcommit/demand.h"

namespace tidemark::policy::sell {

struct ZonePlan {
  std::string name;
  WaterLineTerms<model::CpuMilli> cpu;
  WaterLineTerms<model::MemoryMilli> memory;
  // `profile: tidemark` only: this zone's part of the third parties' amount.
  model::CpuMicro third_party_cpu;
  model::MemoryMilli third_party_memory;
  // The values for the zone.
  model::CpuMicro batch_cpu;
  model::MemoryMilli batch_memory;
  model::Quantity::Format memory_format = model::Quantity::Format::kBinarySI;
  bool operator==(const ZonePlan&) const = default;
};

struct ZonesPlan {
  model::Reason reason = model::Reason::kZonesNoTopology;
  std::vector<ZonePlan> zones;  // their values, in the order of the topology; empty: the zones stay unchanged
  bool counted_once = false;    // see measure_zones()
  bool operator==(const ZonesPlan&) const = default;
};

// Values of the node level, divided equally over the zones.
struct ZoneShares {
  model::Resources system_used;
  model::Resources reserved_by_kubelet;
  model::Resources reserved_by_annotation;
  model::Resources third_party;  // 0 with `profile: koordinator`
};

ZonesPlan plan_zones(const std::optional<model::TopologyView>& topology, const OnlineWork& work,
                     const ZoneShares& shares, const BatchRules& cpu, const BatchRules& memory,
                     std::optional<std::int64_t> ratio_percent, model::Profile profile);

// The zones of a node that offers nothing: none, as in Koordinator, or 0 in each with a present value.
ZonesPlan reset_zones(const std::optional<model::TopologyView>& topology, model::Profile profile);

// As zones are written: batch-cpu as DecimalSI, memory in the way the zone writes its own.
model::Quantity zone_quantity(model::CpuMicro batch_cpu);
model::Quantity zone_quantity(model::MemoryMilli batch_memory, model::Quantity::Format format);

}  // namespace tidemark::policy::sell
