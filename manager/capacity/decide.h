// One node decided from what is known of it: shared by the controller, which carries it out, and `tidemark explain`,
// which shows it. So what is explained is what is done.
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
#include "manager/state/standing.h"
#include "model/node.h"
#include "model/selector.h"
#include "policy/offer/offer.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/plugins.h"
#include "policy/overcommit/strategy.h"
#include "policy/pools/pools.h"
#include "policy/state/class_off.h"
#include "policy/state/effect.h"

namespace tidemark::manager {

// What a pod of a workload ("NAMESPACE/KIND/NAME") uses at this hour of the day; nullopt where nobody knows.
using ExpectedUse = std::function<std::optional<model::Resources>(std::string_view workload)>;

// What a decision about a node rests on besides the node. Nothing here outlives the call.
struct NodeSurroundings {
  std::span<const PodProjection* const> pods;  // those bound to it
  const kube::NodeMetric* metric = nullptr;
  const kube::NodeResourceTopology* topology = nullptr;
  const Revision& revision;  // the settings; they have a co-location config
  const policy::PluginSet& plugins;
  policy::OfferState state;  // what was decided of it before; the default value where nothing is known
  base::WallTime now;
  base::MonotonicTime mono;
  StandingInputs standing = {};
  const policy::Waiting* waiting = nullptr;  // batch pods that are not bound; null: nobody looks
  bool was_observed = false;  // when it was decided before: what it would have offered by now was never offered
  const ExpectedUse* expected = nullptr;            // null: nobody knows of any
  std::optional<model::Resources> least_ever = {};  // the least that it could offer at this hour lately
  policy::LineMemo* lines = nullptr;                // of whoever decides many nodes
  policy::LastEvicted evicted = {};                 // offline work of the node
  bool whole = true;                                // false: some of what concerns it is not known, so nothing grows
};

// Which states of its objects a decision rests on, as the API server counts them; "" where there is none.
struct ObjectRevisions {
  std::string node;
  std::string metric;
  std::string topology;
  bool operator==(const ObjectRevisions&) const = default;
};

// All that an offer, and what is left of it on the node, rests on beside the snapshot and the settings. With these two
// both can be made again, elsewhere and later: what is added here is added to manager/decision_record too.
struct DecisionBasis {
  kube::TextMap labels;
  std::optional<std::string> strategy_annotation;
  policy::PluginSet plugins;
  policy::OfferState state;                // as orders about the node let it be
  std::optional<model::Resources> origin;  // the same
  base::WallTime now;
  base::MonotonicTime mono;
  policy::LineOverrides overrides;  // those in force that concern the node's pool
  std::optional<model::Resources> least_ever;
  policy::SideBook kubernetes;  // what pods of the node hold, and what it was told
  policy::SideBook yarn;
  bool yarn_obeys = false;
  policy::PoolGuard guard;  // of the pool's evictions
  ObjectRevisions revisions;
  std::uint64_t yarn_book_mark = 0;  // of its text, and of the last sign of life of its operator
  policy::LastEvicted evicted;       // offline work of the node
  policy::SideStates orders;         // as they stand for the node
  bool cuts_only = false;            // what might forbid growth is not known
  bool yarn_was_offered = false;     // the node carries an offer for YARN
  bool operator==(const DecisionBasis&) const = default;
};

struct NodeDecision {
  NodeDecision() = default;
  NodeDecision(model::NodeSnapshot node, DecisionBasis decided_on, policy::OfferStep step)
      : snapshot(std::move(node)),
        basis(std::move(decided_on)),
        offer(std::move(step.offer)),
        state(std::move(step.state)) {}

  model::NodeSnapshot snapshot;
  DecisionBasis basis;
  std::vector<std::string> notes;              // parts of the node that could not be read
  const policy::Pool* pool = nullptr;          // part of the settings, as the next
  const policy::Calendar* calendar = nullptr;  // the pool's
  policy::Offer offer;
  policy::OfferState state;  // to be remembered until the next decision about this node
  Standing standing;
  policy::Obeyed obeyed;  // the offer, as the node's state lets it be
  // What YARN may hand out, as the node's state lets it be; nullopt: nobody obeys, or there is nothing to say.
  std::optional<model::Resources> yarn_offer;
  std::optional<base::WallTime> yarn_drain;  // when what YARN holds beyond that ends
  // What each side is to give back, by class: for the other side, or because the class is off.
  policy::ClassesOff kubernetes_off, yarn_off;
  std::vector<policy::ClassReclaim> kubernetes_reclaim, yarn_reclaim;

  // What the node is to carry; where writes() is false, what it would be told.
  const policy::OvercommitPlan& plan() const { return obeyed.plan; }
  // For a while nothing of the offer may grow. What was not offered meanwhile comes back at the pace of growth.
  void keep_cuts_only();
  void keep_yarn_from_growing() {
    if (yarn_offer) yarn_offer = model::min(*yarn_offer, basis.yarn.told);
  }
  // The node is to carry the mark of one that is oversold. A side that is taken back sells nothing.
  bool oversold() const {
    return plan().action == policy::PlanAction::kPublish && offer.arbitrate && offer.arbitrate->rejects() &&
           standing.state.strictest() < policy::NodeState::kDraining;
  }
  bool writes() const { return obeyed.write && !standing.watched; }
  // It is not ours to write, but to cut: left to another writer with its pool, and not seen to be written by him.
  bool only_cut() const { return obeyed.write && standing.watched == model::Reason::kContestPool; }
  const policy::NodeStrategy& strategy() const { return offer.strategy; }
};

NodeDecision decide_node(const kube::Node& node, const NodeSurroundings& around);
// From what was kept of it: all but its standing and when YARN's work ends. The settings have a co-location config, and
// outlive the decision.
NodeDecision decide(model::NodeSnapshot snapshot, DecisionBasis basis, const Revision& revision,
                    policy::LineMemo* lines = nullptr);

// Until when YARN's work drains by what the node carries with this offer; nullopt: nobody says, or it is long over.
std::optional<base::WallTime> drain_in_force(const kube::Node& node, const model::YarnOffer& offer, base::WallTime now);

std::vector<model::Label> labels_of(const kube::Node& node);
// What is sold on it: its pods that hold batch or mid resources, and what YARN's book says, or else third parties.
policy::SoldNow sold_on(std::span<const PodProjection* const> pods, const kube::Node& node,
                        const model::NodeSnapshot& snapshot);
// The strategy of a node: the settings, its annotation and its labels.
policy::NodeStrategy strategy_of_node(const kube::Node& node, const policy::ColocationConfig& config,
                                      policy::Profile profile);

// What the ConfigMap says under a key; null where it does not exist. The text lives as long as the map.
policy::ConfigSource config_source(const kube::ConfigMap* map, std::string_view key);

// The fields that decide_node() reads, for decoders and caches; of pods it is PodProjection.
kube::NodeFields node_fields();
kube::NodeMetricFields metric_fields();
kube::MetaFields topology_fields();

}  // namespace tidemark::manager
