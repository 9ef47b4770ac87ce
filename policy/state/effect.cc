#include "policy/state/effect.h"

#include <utility>

namespace tidemark::policy::state {
namespace {

using model::ExtendedResources;
using model::Resources;

template <class Amount>
std::optional<Amount> zero_if(const std::optional<Amount>& there) {
  return there ? std::optional(Amount{0}) : std::nullopt;
}

ExtendedResources amounts(model::NodeState state, const sell::OvercommitPlan& plan, const ExtendedResources& on_node) {
  switch (state) {
    case model::NodeState::kOn:
      return plan.action == sell::PlanAction::kHold ? on_node : plan.publish;
    case model::NodeState::kObserve:
      return on_node;
    case model::NodeState::kDraining:
      return {zero_if(on_node.batch_cpu), zero_if(on_node.batch_memory), zero_if(on_node.mid_cpu),
              zero_if(on_node.mid_memory)};
    case model::NodeState::kOff:
      return {};
  }
  return {};
}

std::optional<Resources> origin(model::NodeState state, const sell::OvercommitPlan& plan,
                                const std::optional<Resources>& on_node) {
  switch (state) {
    case model::NodeState::kOn:
      return plan.action == sell::PlanAction::kHold ? on_node : plan.origin;
    case model::NodeState::kObserve:
      return on_node;
    case model::NodeState::kDraining:
    case model::NodeState::kOff:
      break;
  }
  return Resources();
}

}  // namespace

Obeyed obey(sell::OvercommitPlan plan, const SideStates& state, const OnNode& on_node, const sell::PluginSet& plugins) {
  if (state.strictest() == model::NodeState::kOn) return {std::move(plan), true};
  if (state.strictest() == model::NodeState::kObserve) return {std::move(plan), false};
  sell::OvercommitPlan out = plan;
  out.publish = amounts(state.k8s, plan, on_node.published);
  out.origin = origin(state.yarn, plan, on_node.origin);
  // A part of the manager that is off touches none of its values, here neither.
  if (!plugins.batch_resource) {
    out.publish.batch_cpu = on_node.published.batch_cpu;
    out.publish.batch_memory = on_node.published.batch_memory;
    out.origin = std::nullopt;
  }
  if (!plugins.mid_resource) {
    out.publish.mid_cpu = on_node.published.mid_cpu;
    out.publish.mid_memory = on_node.published.mid_memory;
  }
  const bool both_off = state.k8s == model::NodeState::kOff && state.yarn == model::NodeState::kOff;
  out.action = both_off ? sell::PlanAction::kReset : sell::PlanAction::kPublish;
  out.reason = reason_of(state);
  return {std::move(out), true};
}

}  // namespace tidemark::policy::state
