// How much of a node is sold: batch and mid, by node and by NUMA zone, and the two ratios that go with it.
//
//   batch:  allowed   = what lies under the water line                          batch.h
//           origin    = allowed × normalization ratio (cpu, where above 1)      what batch may use on this node
//           published = max(origin − third_party, 0)                            what Kubernetes gets of it
//           by zone                                                             zones.h
//
//   mid:    published = min(base + unallocated × share %, capacity × threshold %)
//           base        = max(min(prod reclaimable, capacity − node use), 0)
//           unallocated = max(capacity − max(reserved, system use) − Σ prod requests, 0)
//
//   ratios: normalization.h, amplification.h
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
#include "policy/overcommit/amplification.h"
#include "policy/overcommit/batch.h"
#include "policy/overcommit/demand.h"
#include "policy/overcommit/normalization.h"
#include "policy/overcommit/strategy.h"
#include "policy/overcommit/zones.h"

namespace tidemark::policy {

template <class Amount>
struct BatchTerms : WaterLineTerms<Amount> {
  std::optional<std::int64_t> ratio_percent;  // what `allowed` was multiplied by; nullopt where by nothing
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

  WarmUpTerms warm_up;
  ZonesPlan zones;
  // These two hold whatever the action is.
  NormalizationPlan normalization;
  AmplificationPlan amplification;
  std::vector<model::Reason> safeguards;  // what `profile: tidemark` did that the peer does not

  bool operator==(const OvercommitPlan&) const = default;
};

// Total: any snapshot and strategy give a plan; nothing published is negative or above its origin.
OvercommitPlan overcommit(const model::NodeSnapshot& node, const NodeStrategy& strategy, base::WallTime now);

// Holds every number at or below what the node and its zones carry, for when not all is known that a bigger one would
// rest on: a cut is still right, growth would be a guess. nullopt where the node carries none.
void keep_cuts_only(OvercommitPlan& plan, const model::NodeSnapshot& node);

}  // namespace tidemark::policy
