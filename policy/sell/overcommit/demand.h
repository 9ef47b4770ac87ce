// The amount of online work on a node, counted in each way that a formula may need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/node.h"
#include "model/resources.h"
#include "model/settings/profile.h"
#include "model/topology.h"

namespace tidemark::policy::sell {

// The pods that formulas count, each with its report.
struct OnlineWork {
  struct Pod {
    const model::PodView* pod;
    const model::PodUsage* usage;  // null: not reported yet
  };
  std::vector<Pod> pods;  // Running or Pending, neither batch nor free
  // Reported, but no longer on the node (or not active): it may be terminating, but its use is real.
  std::vector<const model::PodUsage*> dangling;
};
OnlineWork online_work(const model::NodeSnapshot& node, const model::NodeMetricView& metric);

// What warming-up pods add to their use (policy/sell/overcommit/warm_up.h).
struct WarmUpTerms {
  std::int64_t pods = 0;
  std::int64_t by_request = 0;    // of these: their workload has no history, or they have no report
  model::Resources added;         // beyond their normal amount, if use counts
  model::Resources added_to_max;  // the same if the larger of use and request counts
  bool operator==(const WarmUpTerms&) const = default;
};

struct Demand {
  model::Resources used;
  model::Resources requested;
  model::Resources max_of_both;
  model::Resources prod_requested;
  model::Resources host_above_batch;
  model::Resources host_above_mid;
  bool has_pod_without_report = false;
  WarmUpTerms warm_up;  // `profile: tidemark` only
};
// For the larger of use and request, Koordinator counts a pod without a report as 0; `profile: tidemark` counts its
// request.
Demand measure(const OnlineWork& work, const model::NodeMetricView& metric, model::Profile profile);

// Zone amounts: milli-cores and thousandths of a byte, because they come out of divisions.
struct ZoneResources {
  model::CpuMilli cpu;
  model::MemoryMilli memory;
  friend ZoneResources operator+(ZoneResources a, ZoneResources b) { return {a.cpu + b.cpu, a.memory + b.memory}; }
  ZoneResources& operator+=(ZoneResources other) { return *this = *this + other; }
};
struct ZoneDemand {
  ZoneResources used;
  ZoneResources requested;
  ZoneResources max_of_both;
};
struct ZoneDemands {
  std::vector<ZoneDemand> zones;
  bool counted_once = false;  // a pod listed a NUMA node twice and `profile: tidemark` counted it once
};
// By zone, of `zone_count` zones (at least 1). A pod is divided over the zones of its placement; one without a
// placement over all. Each quotient is rounded up, in milli-cores and in thousandths of a byte.
ZoneDemands measure_zones(const OnlineWork& work, std::size_t zone_count, model::Profile profile);

// amount / parts, rounded up, as IEEE doubles; `parts` is at least 1.
ZoneResources divided(const model::Resources& amount, std::size_t parts);

}  // namespace tidemark::policy::sell
