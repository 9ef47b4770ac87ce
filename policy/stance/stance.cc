#include "policy/stance/stance.h"

#include "policy/state/state.h"

namespace tidemark::policy {
namespace {

using model::Reason;

struct One {
  Permit permit = Permit::kKeep;
  Reason reason = Reason::kAgentAwaits;
};

void set_all(Stance& stance, One one) {
  stance.permits.fill(one.permit);
  stance.reasons.fill(one.reason);
}

One one(const StanceInputs& inputs, NodeState state) {
  if (!inputs.known || !inputs.state_known) return {Permit::kKeep, Reason::kAgentAwaits};
  if (inputs.only_shows) return {Permit::kPutBack, Reason::kAgentObserves};
  if (inputs.holding) return {Permit::kTighten, Reason::kAgentHolds};
  if (state == NodeState::kObserve) return {Permit::kPutBack, Reason::kAgentObserves};
  return {Permit::kEnforce, Reason::kAgentEnforces};
}

}  // namespace

std::string_view to_string(Permit permit) {
  switch (permit) {
    case Permit::kKeep:
      return "keep";
    case Permit::kTighten:
      return "hold";
    case Permit::kEnforce:
      return "enforce";
    case Permit::kPutBack:
      return "observe";
  }
  return "unknown";
}

Stance stance(const StanceInputs& inputs, base::WallTime now) {
  Stance out;
  if (inputs.peer_present) {
    set_all(out, {Permit::kPutBack, Reason::kAgentPeerPresent});
    return out;
  }
  const NodeMarks none;
  const NodeMarks& marks = inputs.marks != nullptr ? *inputs.marks : none;
  const auto of = [&](Mode mode) { return effective(marks, mode, now); };
  const EffectiveState enforced = of(Mode::kEnforce);
  out.again_after = enforced.again_after;
  out.order = enforced.order;
  // Whoever draws the switch at the machine is obeyed before it is known what runs there.
  const bool off = inputs.state_known && enforced.k8s == NodeState::kOff;
  if (inputs.latched || off) {
    out.off = true;
    set_all(out, {Permit::kEnforce, inputs.latched ? Reason::kAgentLatched : Reason::kAgentOff});
    // Who draws the switch at the machine wants nothing to happen to what runs there. Where the cluster is off, what
    // still runs threatens the node as before: evictions go on where they were enforced, and begin nowhere.
    constexpr auto kEviction = static_cast<std::size_t>(model::Strategy::kEviction);
    if (inputs.latched) {
      out.permits[kEviction] = Permit::kPutBack;
    } else {
      const bool observed = inputs.modes[kEviction] == Mode::kObserve;
      const One its = one(inputs, observed ? NodeState::kObserve : NodeState::kOn);
      out.permits[kEviction] = its.permit;
      if (its.permit != Permit::kEnforce) out.reasons[kEviction] = its.reason;
    }
    // What holds all of offline work needs no list of it; what is set of each stays until there is one.
    if (!inputs.known) {
      for (const model::Strategy strategy : model::kStrategies) {
        if (strategy != model::Strategy::kCpuSuppress) out.permits[static_cast<std::size_t>(strategy)] = Permit::kKeep;
      }
    }
    return out;
  }
  for (const model::Strategy strategy : model::kStrategies) {
    const auto index = static_cast<std::size_t>(strategy);
    const One each = one(inputs, of(inputs.modes[index]).k8s);
    out.permits[index] = each.permit;
    out.reasons[index] = each.reason;
  }
  return out;
}

}  // namespace tidemark::policy
