// Decides whether a plan is worth a write to the API server, and which fields of zones to write.
//
//    a resource:  it appears, it disappears, or |new − old| > old × resourceDiffThreshold
//    a refresh:   the last write of this process is older than updateTimeThresholdSeconds, strictly; nullopt: no write
//                 yet (a restart, or a NodeMetric or a NodeResourceTopology that was deleted). It also writes smaller
//                 changes; the caller skips it if nothing would change
//    a ratio:     the annotation appears or differs by more than 0.01 (normalization), its text differs (amplification)
//
// Zones are compared by each of capacity, allocatable and available, and sufficient differences are written; a refresh
// writes all of them. If they follow their node, a cut of them is worth a write when one of the node is, and so is any
// cut while their sum exceeds the node's value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/node.h"
#include "model/reason.h"
#include "model/strategy.h"
#include "model/topology.h"
#include "policy/sell/overcommit/overcommit.h"

namespace tidemark::policy::sell {

// The limits of a strategy for this.
struct WriteThresholds {
  WriteThresholds() : WriteThresholds(model::ColocationStrategy()) {}
  WriteThresholds(const model::ColocationStrategy& strategy)
      : refresh_s(strategy.update_time_threshold_s), difference(strategy.resource_diff_threshold) {}
  std::int64_t refresh_s;
  double difference;
};

struct WriteDecision {
  bool write = false;
  model::Reason reason = model::Reason::kWriteNotNeeded;
  bool operator==(const WriteDecision&) const = default;
};
WriteDecision needs_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted,
                          std::optional<base::Duration> since_write, WriteThresholds thresholds);

// A cut protects work: with `profile: tidemark` it is worth a write regardless of resourceDiffThreshold, unless it is
// below kCutMinPermille of the node's present value.
inline constexpr std::int64_t kCutMinPermille = 10;
WriteDecision needs_cut_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted);

// The annotations of normalization and amplification.
WriteDecision needs_ratio_write(const model::NodeSnapshot& node, const OvercommitPlan& plan, model::Profile profile);

// One resource of one zone.
struct ZoneChange {
  std::size_t zone = 0;  // place in the topology
  bool is_cpu = false;   // batch-cpu; otherwise batch-memory
  bool added = false;    // the zone does not list it yet
  // What to write of it; with `added` all three.
  bool capacity = false;
  bool allocatable = false;
  bool available = false;
  bool operator==(const ZoneChange&) const = default;
};

struct ZoneWriteDecision {
  WriteDecision write;
  std::vector<ZoneChange> changes;
  bool above_node = false;  // their sum exceeds `follow` now: this cannot wait
};
// `follow`: the node's present values, if its zones follow it.
ZoneWriteDecision needs_zone_write(const model::TopologyView& topology, const ZonesPlan& wanted,
                                   std::optional<base::Duration> since_write, WriteThresholds thresholds,
                                   std::optional<model::Resources> follow = std::nullopt);
// For zones that are only cut, with their node: the cuts that would be worth a write of the node, and any cut while
// their sum exceeds its value. Nothing is added or refreshed.
ZoneWriteDecision needs_zone_cut(const model::TopologyView& topology, const ZonesPlan& wanted,
                                 model::Resources carried);

}  // namespace tidemark::policy::sell
