// How much of a node is sold: batch and mid, by node and by NUMA zone, and the two ratios that go with it.
//
//    batch:  allowed   = the room under the water line                           batch.h
//            origin    = allowed × normalization ratio (cpu, where above 1)      what batch may use on this node
//            published = max(origin − third_party, 0)                            Kubernetes' part of it
//            by zone                                                             zones.h
//
//    mid:    published = min(base + unallocated × share %, capacity × threshold %)
//            base        = max(min(prod reclaimable, capacity − node use), 0)
//            unallocated = max(capacity − max(reserved, system use) − Σ prod requests, 0)
//
//    ratios: normalization.h, amplification.h
//
// origin of cpu: trunc(allowed × 1000 × ratio) / 1000, rounded up to a milli-core; the product is IEEE double
// arithmetic, as "× p %" is (batch.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/node.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/strategy.h"
#include "policy/sell/overcommit/amplification.h"
#include "policy/sell/overcommit/batch.h"
#include "policy/sell/overcommit/demand.h"
#include "policy/sell/overcommit/normalization.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/sell/overcommit/zones.h"

namespace tidemark::policy::sell {

template <class Amount>
struct BatchTerms : WaterLineTerms<Amount> {
  std::optional<std::int64_t> ratio_percent;  // the factor of `allowed`; nullopt: none
  Amount origin;
  Amount third_party;
  model::Reason third_party_by = model::Reason::kThirdPartyNone;
  Amount published;

  bool operator==(const BatchTerms&) const = default;
};

template <class Amount>
struct MidTerms {
  Amount capacity;
  Amount prod_reclaimable;
  Amount node_unused;  // capacity − node use; negative if the node uses more than its capacity
  Amount base;
  Amount reserved;  // max(kubelet, annotation, system use and prod host applications)
  model::Reason reserved_by = model::Reason::kReservedByKubelet;
  Amount prod_request;
  Amount unallocated;
  Amount unallocated_share;  // by midUnallocatedPercent
  Amount static_share;       // only in static mode, which ignores the terms above
  Amount cap;                // mid threshold percent of capacity
  model::Reason reason = model::Reason::kMidNothing;
  Amount published;

  bool operator==(const MidTerms&) const = default;
};

enum class PlanAction : std::uint8_t {
  kPublish,  // write the numbers
  kReset,    // delete the resource keys, write 0 as origin
  kHold,     // touch nothing: the input is not fit for a decision
};

struct OvercommitPlan {
  PlanAction action = PlanAction::kHold;
  model::Reason reason = model::Reason::kMetricEmpty;

  // The node's values; all absent unless the action is kPublish, except for a plugin that is off: its present values.
  model::ExtendedResources publish;
  // For the origin annotation; absent with kHold and if the batch plugin is off, 0 with kReset.
  std::optional<model::Resources> origin;

  // Meaningful with kPublish only.
  BatchTerms<model::CpuMilli> batch_cpu;
  BatchTerms<model::MemoryBytes> batch_memory;
  MidTerms<model::CpuMilli> mid_cpu;
  MidTerms<model::MemoryBytes> mid_memory;

  WarmUpTerms warm_up;
  ZonesPlan zones;
  // These two apply to any action.
  NormalizationPlan normalization;
  AmplificationPlan amplification;
  std::vector<model::Reason> safeguards;  // the deviations of `profile: tidemark` from Koordinator

  bool operator==(const OvercommitPlan&) const = default;
};

// Total: any snapshot and strategy give a plan; no published value is negative or above its origin.
OvercommitPlan overcommit(const model::NodeSnapshot& node, const NodeStrategy& strategy, base::WallTime now);

// Keeps every number at or below the present values of the node and its zones, if some input is unknown: a cut is still
// right, growth would be a guess. nullopt if the node has no value.
void keep_cuts_only(OvercommitPlan& plan, const model::NodeSnapshot& node);

// True if a NodeMetric is strictly older than the limit. A time stamp from the future is not stale: a skewed clock is
// no reason to sell nothing.
bool is_stale(base::WallTime update, std::int64_t degrade_minutes, base::WallTime now);

}  // namespace tidemark::policy::sell
