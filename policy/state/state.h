// Combines the marks of a node into its state, and advances them.
//
//    in force on a side (Kubernetes, YARN)  =  the strictest of the orders for the cluster, the pool and the node
//
// The mode of the pool counts too, unless the pool or the node itself was ordered on.
//
//    on < observe < draining < off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/evict/left_over.h"
#include "policy/state/mark.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::state {

// The part of it that decides about numbers.
struct SideStates {
  model::NodeState k8s = model::NodeState::kOn;
  model::NodeState yarn = model::NodeState::kOn;
  std::vector<std::string> classes_off;      // further classes of work that are off or drain, on either side
  std::vector<std::string> classes_drained;  // those of them whose drain time is over

  // The whole as one value of the label.
  model::NodeState strictest() const { return k8s > yarn ? k8s : yarn; }
  bool operator==(const SideStates&) const = default;
};

struct EffectiveState : SideStates {
  // The deciding scope: kStateDefault, kStateByMode, kStateByNode, kStateByPool, kStateByCluster. Of several equally
  // strict ones the widest, since that must be lifted last.
  model::Reason decided_by = model::Reason::kStateDefault;
  std::optional<StateOrder> order;  // the deciding order; nullopt: no order in force
  std::string pool;                 // of kStateByPool

  // Time alone changes it: run again after this.
  std::optional<base::Duration> again_after;

  bool operator==(const EffectiveState&) const = default;
};

// Total. `mode` is the mode of the node's pool, used without an order.
EffectiveState effective(const NodeMarks& marks, model::Mode mode, base::WallTime now);

// The order in force that evicts the running offline work of the node; of several, the first time and the shortest
// grace. nullopt: none evicts.
std::optional<evict::EvictionOrder> eviction_order(const NodeMarks& marks, base::WallTime now);

// The state as one reason: kStateOn, Observed, Draining, Off, OffK8s, OffYarn.
model::Reason reason_of(const SideStates& state);

// The label to write beside the marks: of orders alone, since settings are not copied onto nodes.
model::NodeState label_of(const NodeMarks& marks, base::WallTime now);

// An order for this one node. `generation` is chosen once per command, above the node's when it was first read; a node
// that has a larger one by now got a later order, and is left alone.
struct NodeCommanded {
  NodeMarks marks;
  CommandEffect effect = CommandEffect::kSet;
};
NodeCommanded command_node(const NodeMarks& marks, const StateCommand& command, std::int64_t generation,
                           base::WallTime now);

// The copy of the orders for the cluster, or the node's pool. kAlready if the node has it, kSuperseded if it has a
// later one.
CommandEffect carry_cluster(NodeMarks& marks, const StateMark& mark);
CommandEffect carry_pool(NodeMarks& marks, std::string_view pool, const StateMark& mark);

// The desired state of a node beyond its own marks: what new nodes inherit.
struct Inherited {
  std::optional<StateMark> cluster;
  std::string_view pool;             // the one it is in
  std::optional<StateMark> of_pool;  // the orders for it
  // The pool that its mark names still exists. If not, the mark stays: a pool that vanished from the settings must not
  // switch its nodes on.
  bool marked_pool_exists = false;
};

// Whether anything of the side is sold: bound and not over, terminating included. Unknown counts as sold.
struct SoldNow {
  std::optional<bool> k8s;
  std::optional<bool> yarn;
  std::vector<std::string> classes{};  // those that hold something on either side; sorted
};

struct Advanced {
  NodeMarks marks;
  std::vector<model::Reason> reasons;  // kStateInherited, Ended, Drained, DrainTimeOver; empty: no change
};

// The marks after the orders for the cluster and the pool were copied, expired orders were dropped, and `drained` was
// noted if draining is over: nothing is sold any more, or its time is up. The caller sets the generation of NodeMarks.
// Idempotent.
Advanced advance(const NodeMarks& marks, const Inherited& inherited, const SoldNow& sold, base::WallTime now);

}  // namespace tidemark::policy::state
