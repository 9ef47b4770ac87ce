// Decides one node. The controller and `tidemark explain` share it, so that the explanation matches the action.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "manager/capacity/pod_projection.h"
#include "manager/settings/revision.h"
#include "manager/state/node_permit.h"
#include "model/node.h"
#include "model/selector.h"
#include "policy/sell/offer/offer.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/plugins.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/state/class_off.h"
#include "policy/state/effect.h"
#include "policy/waterline/pools.h"

namespace tidemark::manager {

// Expected use of a pod of a workload ("NAMESPACE/KIND/NAME") at this hour of the day; nullopt if unknown.
using ExpectedUse = std::function<std::optional<model::Resources>(std::string_view workload)>;

// The objects of a node besides the Node, as a cache or the API server has them.
struct ObjectsOfNode {
  std::span<const PodProjection* const> pods;  // those bound to it
  const kube::NodeMetric* metric = nullptr;
  const kube::NodeResourceTopology* topology = nullptr;
  bool whole = true;  // false: some inputs are missing, so nothing grows
};

// The previous decision about a node.
struct DecidedBefore {
  policy::sell::OfferState state;  // default if unknown
  bool was_observed = false;       // it was only observed, so its offer was never published
};

// Earlier observations of a node and of the workloads on it.
struct LearnedOfNode {
  const ExpectedUse* expected = nullptr;             // null: none known
  std::optional<model::Resources> least_offer = {};  // the least that it could offer at this hour lately
  policy::sell::LastEvicted evicted = {};            // offline work of the node
};

// Inputs of a decision besides the node. Nothing here outlives the call.
struct NodeSurroundings {
  ObjectsOfNode objects;
  const Revision& revision;  // the settings; they have a co-location config
  const policy::sell::PluginSet& plugins;
  DecidedBefore before;
  base::WallTime now;
  base::MonotonicTime mono;
  NodePermitInputs permit = {};
  const policy::sell::Waiting* waiting = nullptr;  // pending batch pods; null: not watched
  LearnedOfNode learned = {};
  policy::waterline::LineMemo* lines = nullptr;  // shared by callers that decide many nodes
};

// Resource versions of the objects that a decision rests on; "" if an object is absent.
struct ObjectRevisions {
  std::string node;
  std::string metric;
  std::string topology;
  bool operator==(const ObjectRevisions&) const = default;
};

// Everything besides the snapshot and the settings that determines an offer and its effect on the node. With it, a
// decision can be replayed elsewhere and later. Add new fields to manager/decision_record too.
struct DecisionBasis {
  // What the Node says.
  struct OfNode {
    kube::TextMap labels;
    std::optional<std::string> strategy_annotation;
    bool has_yarn_offer = false;
    ObjectRevisions revisions;
    bool operator==(const OfNode&) const = default;
  };
  // Orders and limits in force for the node.
  struct InForce {
    policy::waterline::LineOverrides overrides;  // those that concern the node's pool
    policy::sell::PoolGuard guard;               // of the pool's evictions
    policy::state::SideStates orders;
    bool cuts_only = false;  // inputs that could forbid growth are missing
    bool operator==(const InForce&) const = default;
  };
  OfNode node;
  policy::sell::PluginSet plugins;
  policy::sell::OfferState state;     // after the orders for the node
  policy::sell::OriginBefore origin;  // the same
  base::WallTime now;
  base::MonotonicTime mono;
  InForce in_force;
  policy::sell::SideBook kubernetes;  // what pods of the node hold, and the offer to Kubernetes
  policy::sell::YarnSide yarn;
  policy::sell::LastEvicted evicted;  // offline work of the node
  bool operator==(const DecisionBasis&) const = default;
};

struct NodeDecision {
  NodeDecision() = default;
  NodeDecision(model::NodeSnapshot node, DecisionBasis decided_on, policy::sell::OfferStep step)
      : snapshot(std::move(node)),
        basis(std::move(decided_on)),
        offer(std::move(step.offer)),
        state(std::move(step.state)) {}

  model::NodeSnapshot snapshot;
  DecisionBasis basis;
  std::vector<std::string> notes;                         // parts of the node that could not be read
  const model::Pool* pool = nullptr;                      // part of the settings, as the next
  const policy::waterline::Calendar* calendar = nullptr;  // the pool's
  policy::sell::Offer offer;
  policy::sell::OfferState state;  // to be remembered until the next decision about this node
  NodePermit permit;
  policy::state::Obeyed obeyed;  // the offer after the state of the node
  // YARN's offer after the state of the node; nullopt: no compliant operator, or nothing to publish.
  std::optional<model::Resources> yarn_offer;
  std::optional<base::WallTime> yarn_drain;  // when YARN's work beyond its offer ends
  // The amount that each side must reclaim, by class: for the other side, or because the class is off.
  policy::state::ClassesOff kubernetes_off, yarn_off;
  std::vector<policy::sell::ClassReclaim> kubernetes_reclaim, yarn_reclaim;

  // The plan for the node; if writes() is false, the plan that would apply in mode enforce.
  const policy::sell::OvercommitPlan& plan() const { return obeyed.plan; }
  // Lets no part of the offer grow. Afterwards it grows at the configured rate.
  void keep_cuts_only();
  void keep_yarn_from_growing() {
    if (yarn_offer) yarn_offer = model::min(*yarn_offer, basis.yarn.book.told);
  }
  // Whether the node must carry the oversold mark. A withdrawn side sells nothing.
  bool oversold() const {
    return plan().action == policy::sell::PlanAction::kPublish && offer.arbitrate && offer.arbitrate->rejects() &&
           permit.state.strictest() < model::NodeState::kDraining;
  }
  bool writes() const { return obeyed.write && !permit.left.reason; }
  const policy::sell::NodeStrategy& strategy() const { return offer.strategy; }
};

NodeDecision decide_node(const kube::Node& node, const NodeSurroundings& around);
// Decides from stored inputs: everything except the permit and the end of YARN's work. The settings must have a co-
// location config and outlive the decision.
NodeDecision decide(model::NodeSnapshot snapshot, DecisionBasis basis, const Revision& revision,
                    policy::waterline::LineMemo* lines = nullptr);

std::vector<model::Label> labels_of(const kube::Node& node);
// Amount sold on the node: its pods with batch or mid resources, and YARN's ledger or else third parties.
policy::state::SoldNow sold_on(std::span<const PodProjection* const> pods, const kube::Node& node,
                               const model::NodeSnapshot& snapshot);
// The strategy of a node from the settings, its annotation and its labels.
policy::sell::NodeStrategy strategy_of_node(const kube::Node& node, const policy::sell::ColocationConfig& config,
                                            model::Profile profile);

// ext of a key of the ConfigMap; null if the ConfigMap is absent. The text lives as long as the map.
model::ConfigSource config_source(const kube::ConfigMap* map, std::string_view key);

// The fields that decide_node() reads, for decoders and caches; of pods it is PodProjection.
kube::NodeFields node_fields();
kube::NodeMetricFields metric_fields();
kube::MetaFields topology_fields();

}  // namespace tidemark::manager
