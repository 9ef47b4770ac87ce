#include "policy/state/state.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tidemark::policy::state {
namespace {

using model::Reason;

struct Scope {
  const StateMark* mark;
  Reason reason;
};
// The widest first.
std::array<Scope, 3> scopes(const NodeMarks& marks) {
  return {Scope{marks.cluster ? &*marks.cluster : nullptr, Reason::kStateByCluster},
          Scope{marks.pool ? &marks.pool->mark : nullptr, Reason::kStateByPool},
          Scope{marks.node ? &*marks.node : nullptr, Reason::kStateByNode}};
}

bool orders_on(const StateMark* mark, base::WallTime now) {
  const StateOrder* order = mark == nullptr ? nullptr : in_force(*mark, now);
  return order != nullptr && order->wish == Wish::kOn;
}

void sooner(std::optional<base::Duration>& next, base::WallTime when, base::WallTime now) {
  if (when <= now || when >= kNever) return;
  const base::Duration left = when - now;
  if (!next || left < *next) next = left;
}

bool inherit_pool(NodeMarks& marks, const Inherited& inherited) {
  bool any = false;
  if (marks.pool && marks.pool->pool != inherited.pool) {
    if (!inherited.marked_pool_exists) return false;
    marks.pool.reset();
    any = true;
  }
  if (!inherited.of_pool) return any;
  return carry_pool(marks, inherited.pool, *inherited.of_pool) == CommandEffect::kSet || any;
}

// That draining is over is written down, so that a clock which is set back does not begin it again.
std::optional<Reason> end_draining(StateMark& mark, const SoldNow& sold, base::WallTime now) {
  if (mark.orders.empty()) return std::nullopt;
  StateOrder& order = mark.orders.front();
  const bool drains = order.wish == Wish::kOff && !order.drained && order.drain_until > order.since;
  if (!drains) return std::nullopt;
  if (now < order.drain_until) {
    if (order.only.has_k8s() && sold.k8s.value_or(true)) return std::nullopt;
    if (order.only.has_yarn() && sold.yarn.value_or(true)) return std::nullopt;
    // A class exists on both sides: if one of them is unknown, it may hold something there.
    const auto holds = [&](const std::string& name) {
      return !sold.k8s || !sold.yarn || std::ranges::binary_search(sold.classes, name);
    };
    if (std::ranges::any_of(order.only.classes, holds)) return std::nullopt;
  }
  order.drained = true;
  return now < order.drain_until ? Reason::kStateDrained : Reason::kStateDrainTimeOver;
}

}  // namespace

EffectiveState effective(const NodeMarks& marks, model::Mode mode, base::WallTime now) {
  EffectiveState state;
  const bool lifted =
      orders_on(marks.pool ? &marks.pool->mark : nullptr, now) || orders_on(marks.node ? &*marks.node : nullptr, now);
  if (mode == model::Mode::kObserve && !lifted) {
    state.k8s = state.yarn = model::NodeState::kObserve;
    state.decided_by = Reason::kStateByMode;
  }
  model::NodeState strictest = state.strictest();
  for (const auto& [mark, reason] : scopes(marks)) {
    const StateOrder* order = mark == nullptr ? nullptr : in_force(*mark, now);
    if (order == nullptr) continue;
    const model::NodeState ordered = state_of(*order, now);
    const model::NodeState rest = order->rest == Wish::kObserve ? model::NodeState::kObserve : model::NodeState::kOn;
    state.k8s = std::max(state.k8s, order->only.has_k8s() ? ordered : rest);
    state.yarn = std::max(state.yarn, order->only.has_yarn() ? ordered : rest);
    for (const auto& name : order->only.classes) {
      state.classes_off.push_back(name);
      if (ordered == model::NodeState::kOff) state.classes_drained.push_back(name);
    }
    const bool decides = state.strictest() > strictest || state.decided_by == Reason::kStateDefault;
    if (decides) {
      state.decided_by = reason;
      state.order = *order;
      state.pool = reason == Reason::kStateByPool ? marks.pool->pool : std::string();
      strictest = state.strictest();
    }
    if (order->until) sooner(state.again_after, *order->until, now);
    if (ordered == model::NodeState::kDraining) sooner(state.again_after, order->drain_until, now);
  }
  for (auto* names : {&state.classes_off, &state.classes_drained}) {
    std::ranges::sort(*names);
    names->erase(std::ranges::unique(*names).begin(), names->end());
  }
  return state;
}

std::optional<evict::EvictionOrder> eviction_order(const NodeMarks& marks, base::WallTime now) {
  std::optional<evict::EvictionOrder> found;
  for (const auto& [mark, reason] : scopes(marks)) {
    const StateOrder* order = mark == nullptr ? nullptr : in_force(*mark, now);
    if (order == nullptr || order->wish != Wish::kOff || !order->evict) continue;
    if (!found) found = {order->since, order->grace};
    found = {std::min(found->since, order->since), std::min(found->grace, order->grace)};
  }
  return found;
}

Reason reason_of(const SideStates& state) {
  if (state.strictest() == model::NodeState::kOn) return Reason::kStateOn;
  if (state.strictest() == model::NodeState::kObserve) return Reason::kStateObserved;
  if (state.k8s <= model::NodeState::kObserve) return Reason::kStateOffYarn;
  if (state.yarn <= model::NodeState::kObserve) return Reason::kStateOffK8s;
  return state.k8s == model::NodeState::kOff && state.yarn == model::NodeState::kOff ? Reason::kStateOff
                                                                                     : Reason::kStateDraining;
}

model::NodeState label_of(const NodeMarks& marks, base::WallTime now) {
  return effective(marks, model::Mode::kEnforce, now).strictest();
}

NodeCommanded command_node(const NodeMarks& marks, const StateCommand& command, std::int64_t generation,
                           base::WallTime now) {
  if (marks.node && marks.node->generation >= generation) return {marks, CommandEffect::kSuperseded};
  auto commanded = policy::state::command(marks.node, command, generation, now);
  NodeCommanded out{marks, commanded.effect};
  if (commanded.effect == CommandEffect::kSet) out.marks.node = std::move(commanded.mark);
  return out;
}

// A copy of the same generation stays: it may contain more, that it is drained or that an order expired.
CommandEffect carry_cluster(NodeMarks& marks, const StateMark& mark) {
  if (marks.cluster && marks.cluster->generation >= mark.generation) {
    return marks.cluster->generation > mark.generation ? CommandEffect::kSuperseded : CommandEffect::kAlready;
  }
  marks.cluster = mark;
  return CommandEffect::kSet;
}

CommandEffect carry_pool(NodeMarks& marks, std::string_view pool, const StateMark& mark) {
  if (marks.pool && marks.pool->pool == pool && marks.pool->mark.generation >= mark.generation) {
    return marks.pool->mark.generation > mark.generation ? CommandEffect::kSuperseded : CommandEffect::kAlready;
  }
  marks.pool = PoolMark{std::string(pool), mark};
  return CommandEffect::kSet;
}

Advanced advance(const NodeMarks& marks, const Inherited& inherited, const SoldNow& sold, base::WallTime now) {
  Advanced out{marks, {}};
  const bool from_cluster = inherited.cluster && carry_cluster(out.marks, *inherited.cluster) == CommandEffect::kSet;
  const bool from_pool = inherit_pool(out.marks, inherited);
  if (from_cluster || from_pool) out.reasons.push_back(Reason::kStateInherited);
  const auto note = [&](Reason reason) {
    if (std::ranges::count(out.reasons, reason) == 0) out.reasons.push_back(reason);
  };
  for (StateMark* mark :
       {out.marks.cluster ? &*out.marks.cluster : nullptr, out.marks.pool ? &out.marks.pool->mark : nullptr,
        out.marks.node ? &*out.marks.node : nullptr}) {
    if (mark == nullptr) continue;
    if (drop_ended(*mark, now)) note(Reason::kStateEnded);
    if (const auto over = end_draining(*mark, sold, now)) note(*over);
  }
  return out;
}

}  // namespace tidemark::policy::state
