// What the marks of a node come to, and how they go on by themselves.
//
//   in force on a side (Kubernetes, YARN)  =  the strictest of: cluster, pool, node
//   where neither its pool nor the node itself was ordered on:  and of what the pool's mode says
//
//   on < observe < draining < off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/pools/pools.h"
#include "policy/state/mark.h"

namespace tidemark::policy {

// What of it decides about numbers.
struct SideStates {
  NodeState k8s = NodeState::kOn;
  NodeState yarn = NodeState::kOn;
  std::vector<std::string> classes_off;      // further classes of work that are off or drain, on either side
  std::vector<std::string> classes_drained;  // those of them whose time to drain is over

  // The whole in one word, as the label has it.
  NodeState strictest() const { return k8s > yarn ? k8s : yarn; }
  bool operator==(const SideStates&) const = default;
};

struct EffectiveState : SideStates {
  // Who decided: kStateDefault, kStateByMode, kStateByNode, kStateByPool, kStateByCluster. Of several that are equally
  // strict the widest, since that is what must be lifted last.
  model::Reason decided_by = model::Reason::kStateDefault;
  std::optional<StateOrder> order;  // of who decided; nullopt: nobody ordered anything that is in force
  std::string pool;                 // of kStateByPool

  // Time alone changes it: look again after this.
  std::optional<base::Duration> again_after;

  bool operator==(const EffectiveState&) const = default;
};

// Total. `mode` is what the settings say of the node's pool where nobody ordered anything.
EffectiveState effective(const NodeMarks& marks, Mode mode, base::WallTime now);

// What it is, as one reason: kStateOn, Observed, Draining, Off, OffK8s, OffYarn.
model::Reason reason_of(const SideStates& state);

// The label to write beside the marks: of orders alone, since settings are not copied onto nodes.
NodeState label_of(const NodeMarks& marks, base::WallTime now);

// An order for this one node. `generation` is drawn once for a command, above what the node carried when it was first
// read; a node that has a larger one by now was ordered something later by somebody else, and is left alone.
struct NodeCommanded {
  NodeMarks marks;
  CommandEffect effect = CommandEffect::kSet;
};
NodeCommanded command_node(const NodeMarks& marks, const StateCommand& command, std::int64_t generation,
                           base::WallTime now);

// The copy of what the cluster, or the node's pool, was ordered. kAlready where the node has it, kSuperseded where it
// has a later one.
CommandEffect carry_cluster(NodeMarks& marks, const StateMark& mark);
CommandEffect carry_pool(NodeMarks& marks, std::string_view pool, const StateMark& mark);

// What is wanted of a node beyond its own marks: what new nodes inherit.
struct Inherited {
  std::optional<StateMark> cluster;
  std::string_view pool;             // the one it is in
  std::optional<StateMark> of_pool;  // what was ordered for it
  // The pool that its mark names still exists. Where it does not, the mark is held: a pool that vanished from the
  // settings must not let its nodes loose.
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
  std::vector<model::Reason> reasons;  // what happened: kStateInherited, Ended, Drained, DrainTimeOver; empty: nothing
};

// The marks after what the cluster and the pool say was copied, orders that ended were dropped, and `drained` was noted
// where draining is over: nothing is sold any more, or its time is up. The generation of NodeMarks is left to whoever
// writes. Applied twice it changes nothing the second time.
Advanced advance(const NodeMarks& marks, const Inherited& inherited, const SoldNow& sold, base::WallTime now);

}  // namespace tidemark::policy
