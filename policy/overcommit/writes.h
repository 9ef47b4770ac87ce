// Whether a plan is worth a write to the API server, and of zones which fields.
//
//   a resource:  it appears, it disappears, or |new − old| > old × resourceDiffThreshold
//   a refresh:   the last write of this process is older than updateTimeThresholdSeconds, strictly; nullopt: there is
//                none (a restart, or a NodeMetric or a NodeResourceTopology that was deleted). It brings up to date
//                what moved by less; whoever writes leaves it out where it would change nothing
//   a ratio:     the annotation appears or differs by more than 0.01 (normalization), its text differs (amplification)
//
// Zones are compared by each of capacity, allocatable and available, and what differs enough is written; a refresh
// writes all of them. Where they follow their node, a cut of them is worth a write when one of the node is, and any
// while together they say more than the node does.
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
#include "policy/overcommit/overcommit.h"

namespace tidemark::policy {

// What of a strategy says so.
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

// A cut protects somebody: with `profile: tidemark` it is worth a write whatever resourceDiffThreshold says, unless it
// is below kCutMinPermille of what the node carries.
inline constexpr std::int64_t kCutMinPermille = 10;
WriteDecision needs_cut_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted);

// The annotations of normalization and amplification.
WriteDecision needs_ratio_write(const model::NodeSnapshot& node, const OvercommitPlan& plan, Profile profile);

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
  bool above_node = false;  // together they say more than `follow` now: this cannot wait
};
// `follow`: what the node carries, where its zones follow it.
ZoneWriteDecision needs_zone_write(const model::TopologyView& topology, const ZonesPlan& wanted,
                                   std::optional<base::Duration> since_write, WriteThresholds thresholds,
                                   std::optional<model::Resources> follow = std::nullopt);
// Of zones that are only cut, with their node: the cuts that would be worth a write of the node, and any while together
// they say more than it carries. Nothing appears, and nothing is refreshed.
ZoneWriteDecision needs_zone_cut(const model::TopologyView& topology, const ZonesPlan& wanted,
                                 model::Resources carried);

}  // namespace tidemark::policy
