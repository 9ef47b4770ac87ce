// How much of a node is sold: batch and mid, at node level.
//
//   batch:  left      = capacity − margin − reserved − high_priority
//           origin    = min(max(left, 0), cap)                                 what batch may use on this node
//           published = max(origin − third_party, 0)                           what Kubernetes gets of it
//
//           margin        = capacity × (100 − reclaim threshold) %
//           reserved      = max(system use, kubelet's reservation, annotation)  policies usage and maxUsageRequest
//                         = max(kubelet's reservation, annotation)              policy request
//           high_priority = what online pods use, request, or the larger of both, by policy
//
//   mid:    published = min(base + unallocated × share %, capacity × threshold %)
//           base        = max(min(prod reclaimable, capacity − node use), 0)
//           unallocated = max(capacity − max(reserved, system use) − Σ prod requests, 0)
//
// "× p %" is IEEE double arithmetic, truncated: trunc(double(value) × (double(p) / 100)). 100 cores × 29 % are 28,999
// milli-cores, not 29,000. All else is integers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/node.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/strategy.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::policy {

// The terms of the batch formula for one resource, in the order in which they are taken.
template <class Amount>
struct BatchTerms {
  Amount capacity;
  Amount margin;               // negative where the threshold is above 100 %
  Amount system_used;          // systemUsage and what host applications of prod and mid use
  Amount reserved_by_kubelet;  // capacity − allocatable
  Amount reserved_by_annotation;
  Amount reserved;  // the largest of those that the policy looks at
  model::Reason reserved_by = model::Reason::kReservedByKubelet;
  Amount high_priority;  // what online work counts with
  model::Reason policy = model::Reason::kPolicyUsage;
  Amount left;                // under the water line; negative in an overload
  std::optional<Amount> cap;  // batch threshold percent of capacity
  Amount origin;
  model::Reason origin_by = model::Reason::kBatchUnderWaterLine;
  Amount third_party;
  model::Reason third_party_by = model::Reason::kThirdPartyNone;
  Amount published;

  bool operator==(const BatchTerms&) const = default;
};

template <class Amount>
struct MidTerms {
  Amount capacity;
  Amount prod_reclaimable;
  Amount node_unused;  // capacity − node use; negative where the node uses more than it has
  Amount base;
  Amount reserved;  // max(kubelet, annotation, system use and prod host applications)
  model::Reason reserved_by = model::Reason::kReservedByKubelet;
  Amount prod_request;
  Amount unallocated;
  Amount unallocated_share;  // what midUnallocatedPercent makes of it
  Amount static_share;       // only in static mode, where the terms above do not count
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

  // What the node is to carry; all absent unless the action is kPublish, but for a plugin that is off: there stands
  // what the node carries.
  model::ExtendedResources publish;
  // For the origin annotation; absent with kHold and where the batch plugin is off, 0 with kReset.
  std::optional<model::Resources> origin;

  // Meaningful with kPublish only.
  BatchTerms<model::CpuMilli> batch_cpu;
  BatchTerms<model::MemoryBytes> batch_memory;
  MidTerms<model::CpuMilli> mid_cpu;
  MidTerms<model::MemoryBytes> mid_memory;

  bool operator==(const OvercommitPlan&) const = default;
};

// Total: any snapshot and strategy give a plan; nothing published is negative or above its origin.
OvercommitPlan overcommit(const model::NodeSnapshot& node, const NodeStrategy& strategy, base::WallTime now);

// trunc(double(value) × (double(percent) / 100)), held at the ends of int64.
std::int64_t percent_of(std::int64_t value, std::int64_t percent);

// Holds every number at or below what the node carries, for when not all is known that a bigger one would rest on: a
// cut is still right, growth would be a guess. nullopt where the node carries none.
void keep_cuts_only(OvercommitPlan& plan, const model::ExtendedResources& on_node,
                    const std::optional<model::Resources>& origin_on_node);

// Whether a plan is worth a write to the API server. `since_write` is the age of the last write that this process made
// for the node and that succeeded; nullopt where there is none (a restart, or a NodeMetric that was deleted).
struct WriteDecision {
  bool write = false;
  model::Reason reason = model::Reason::kWriteNotNeeded;
  bool operator==(const WriteDecision&) const = default;
};
WriteDecision needs_write(const model::ExtendedResources& on_node, const model::ExtendedResources& wanted,
                          std::optional<base::Duration> since_write, const model::ColocationStrategy& strategy);

}  // namespace tidemark::policy
