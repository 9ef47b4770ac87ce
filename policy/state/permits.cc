#include "policy/state/permits.h"

#include "policy/state/state.h"

namespace tidemark::policy::state {
namespace {

using model::Reason;

struct One {
  Permit permit = Permit::kKeep;
  Reason reason = Reason::kAgentAwaits;
};

One one(const PermitInputs& inputs, model::NodeState state) {
  if (!inputs.known || !inputs.state_known) return {Permit::kKeep, Reason::kAgentAwaits};
  if (inputs.only_shows) return {Permit::kRestore, Reason::kAgentObserves};
  const bool observes = state == model::NodeState::kObserve;
  // A strategy in mode observe starts nothing, and safe start loosens nothing.
  if (inputs.holding) return {observes ? Permit::kKeep : Permit::kTighten, Reason::kAgentHolds};
  if (observes) return {Permit::kRestore, Reason::kAgentObserves};
  return {Permit::kEnforce, Reason::kAgentEnforces};
}

// Without a value to keep: a strategy that is only shown stays so.
One of_eviction(const PermitInputs& inputs, model::NodeState state) {
  const One its = one(inputs, state);
  const bool kept = its.permit == Permit::kKeep && its.reason == Reason::kAgentHolds;
  return kept ? One{Permit::kRestore, Reason::kAgentObserves} : its;
}

constexpr std::size_t index_of(model::Strategy strategy) {
  return static_cast<std::size_t>(strategy);
}

bool is_observed(const PermitInputs& inputs, model::Strategy strategy) {
  return inputs.modes[index_of(strategy)] == model::Mode::kObserve;
}

// The latch of the machine is set to protect running work from actions. If the cluster is off, running work threatens
// the node as before: evictions continue if they were enforced, and start nowhere.
One eviction_when_off(const PermitInputs& inputs) {
  if (inputs.latched) return {Permit::kRestore, Reason::kAgentLatched};
  const bool observed = is_observed(inputs, model::Strategy::kEviction);
  const One its = of_eviction(inputs, observed ? model::NodeState::kObserve : model::NodeState::kOn);
  return its.permit == Permit::kEnforce ? One{Permit::kEnforce, Reason::kAgentOff} : its;
}

// Both limit offline work. `off` also applies on a node with Koordinator's agent; everything else there is that
// agent's.
bool holds_offline_work(model::Strategy strategy) {
  return strategy == model::Strategy::kCpuSuppress || strategy == model::Strategy::kBatchLimits;
}

void set_off(AgentPermits& out, const PermitInputs& inputs) {
  out.off = true;
  out.limits_cpu_alone = is_observed(inputs, model::Strategy::kBatchLimits);
  const One held{Permit::kEnforce, inputs.latched ? Reason::kAgentLatched : Reason::kAgentOff};
  for (const model::Strategy strategy : model::kStrategies) {
    One each = strategy == model::Strategy::kEviction ? eviction_when_off(inputs) : held;
    // Only limits start by an off order.
    const bool begins = is_observed(inputs, strategy) && !holds_offline_work(strategy);
    if (begins && each.permit == Permit::kEnforce) each = {Permit::kRestore, Reason::kAgentObserves};
    if (inputs.peer_present && !holds_offline_work(strategy)) each = {Permit::kRestore, Reason::kAgentPeerPresent};
    // The limit of all offline work needs no list of tasks; values of single tasks stay until there is one.
    if (!inputs.known && strategy != model::Strategy::kCpuSuppress) each.permit = Permit::kKeep;
    out.permits[index_of(strategy)] = each.permit;
    out.reasons[index_of(strategy)] = each.reason;
  }
}

}  // namespace

std::string_view to_string(Permit permit) {
  switch (permit) {
    case Permit::kKeep:
      return "keep";
    case Permit::kTighten:
      return "tighten";
    case Permit::kEnforce:
      return "enforce";
    case Permit::kRestore:
      return "restore";
  }
  return "unknown";
}

AgentPermits agent_permits(const PermitInputs& inputs, base::WallTime now) {
  AgentPermits out;
  const NodeMarks none;
  const NodeMarks& marks = inputs.marks != nullptr ? *inputs.marks : none;
  const auto of = [&](model::Mode mode) { return effective(marks, mode, now); };
  const EffectiveState enforced = of(model::Mode::kEnforce);
  out.again_after = enforced.again_after;
  out.order = enforced.order;
  if (inputs.state_known) out.evicts = eviction_order(marks, now);
  out.withdrawn = inputs.state_known && enforced.k8s >= model::NodeState::kDraining;
  // The latch of the machine applies before the tasks are known.
  const bool off = inputs.state_known && enforced.k8s == model::NodeState::kOff;
  if (inputs.latched || off) {
    set_off(out, inputs);
    return out;
  }
  for (const model::Strategy strategy : model::kStrategies) {
    const model::NodeState state = of(inputs.modes[index_of(strategy)]).k8s;
    One each = strategy == model::Strategy::kEviction ? of_eviction(inputs, state) : one(inputs, state);
    if (inputs.peer_present) each = {Permit::kRestore, Reason::kAgentPeerPresent};
    out.permits[index_of(strategy)] = each.permit;
    out.reasons[index_of(strategy)] = each.reason;
  }
  return out;
}

}  // namespace tidemark::policy::state
