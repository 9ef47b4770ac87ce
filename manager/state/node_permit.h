// The permit of a node: the orders for it, its pool and the cluster, the mode of its pool, and whether this manager
// writes it at all. Shared by the controllers and `tidemark explain`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/reason.h"
#include "model/selector.h"
#include "policy/evict/budget/budget.h"
#include "policy/state/desired.h"
#include "policy/state/overrides.h"
#include "policy/state/state.h"
#include "policy/waterline/pools.h"

namespace tidemark::manager {

// What is left to another writer and only observed.
struct LeftToOthers {
  std::optional<model::Reason> reason;  // kStateByManager, kContestStanding, kContestObject; nullopt: it is written
  std::string writer;                   // for people: whom it was left to
  std::optional<base::Duration> again_after;  // when time alone may end that
  std::string objects;                        // which other objects of the node are left to whom (Contests::left)
};

// What a node's permit rests on beside the node. Nothing here outlives the call.
struct NodePermitInputs {
  // What was ordered for the cluster and for pools: a node that joined later is under it before it carries a mark.
  const policy::state::DesiredStates* desired = nullptr;
  const policy::evict::BudgetState* budgets = nullptr;  // null: evictions are not counted
  bool desired_known = true;   // false: orders are unknown, so a node without a mark must not grow
  bool budgets_newer = false;  // a newer version counts evictions: whether the pool may sell is not known here
  bool sold_known = true;      // false: some of what the node sold may be missing, so draining does not end by it
  const policy::state::Overrides* overrides = nullptr;  // of the water line; null: none is known
  LeftToOthers left;  // with a reason: nothing is written to the node, whatever was ordered
};

struct NodePermit {
  std::string pool;
  policy::state::NodeMarks carried;      // as the node says it
  std::optional<model::Reason> trouble;  // of reading that
  std::string problem;
  policy::state::Advanced advanced;     // with what it inherits, and without what has ended
  policy::state::EffectiveState state;  // what that comes to
  bool may_grow = true;                 // false: what was ordered, or what evictions allow, is not known
  bool budgets_newer = false;           // false: the latter is known
  bool taints = false;                  // the pool wants a taint on a node that is marked as oversold
  policy::sell::PoolGuard guard;        // what the pool's evictions let it do
  LeftToOthers left;

  // Whether anything at all may be written to the node.
  bool writes() const { return !left.reason && state.strictest() != model::NodeState::kObserve; }
};

NodePermit node_permit(const kube::Node& node, const policy::waterline::TidemarkConfig& config,
                       model::Mode model::PoolModes::* mode, const NodePermitInputs& inputs,
                       const policy::state::SoldNow& sold, base::WallTime now);

// The condition of the node. nullopt: no order ever applied to the node, so there is none.
struct StateCondition {
  bool sells = true;        // status
  std::string_view reason;  // "On", "Observed", "Draining", "Off", "OffForKubernetes", "OffForYarn", "SecondWriter",
                            // "EvictionSpike"
  std::string message;
  bool operator==(const StateCondition&) const = default;
};
inline constexpr std::string_view kSecondWriter = "SecondWriter";
inline constexpr std::string_view kEvictionSpike = "EvictionSpike";
std::optional<StateCondition> condition_of(const NodePermit& permit);
// From outside: what the manager that leads says of a second writer, by the node's condition. The rest is left open.
LeftToOthers left_to_others(const kube::Node& node);
// Whether the node says so already.
bool carries(const kube::Node& node, const StateCondition& condition);
std::string condition_patch(const StateCondition& condition, const kube::NodeCondition* before, base::WallTime now);

// One line for a terminal: what holds, who said so, why, until when.
std::string node_permit_text(const NodePermit& permit);

}  // namespace tidemark::manager
