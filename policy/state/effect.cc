#include "policy/state/effect.h"

#include <utility>

namespace tidemark::policy {
namespace {

using model::ExtendedResources;
using model::Resources;

template <class Amount>
std::optional<Amount> zero_if(const std::optional<Amount>& there) {
  return there ? std::optional(Amount{0}) : std::nullopt;
}

ExtendedResources amounts(NodeState state, const OvercommitPlan& plan, const ExtendedResources& on_node) {
  switch (state) {
    case NodeState::kOn:
      return plan.action == PlanAction::kHold ? on_node : plan.publish;
    case NodeState::kObserve:
      return on_node;
    case NodeState::kDraining:
      return {zero_if(on_node.batch_cpu), zero_if(on_node.batch_memory), zero_if(on_node.mid_cpu),
              zero_if(on_node.mid_memory)};
    case NodeState::kOff:
      return {};
  }
  return {};
}

std::optional<Resources> origin(NodeState state, const OvercommitPlan& plan, const std::optional<Resources>& on_node) {
  switch (state) {
    case NodeState::kOn:
      return plan.action == PlanAction::kHold ? on_node : plan.origin;
    case NodeState::kObserve:
      return on_node;
    case NodeState::kDraining:
    case NodeState::kOff:
      break;
  }
  return Resources();
}

}  // namespace

Obeyed obey(OvercommitPlan plan, const SideStates& state, const OnNode& on_node, const PluginSet& plugins) {
  if (state.strictest() == NodeState::kOn) return {std::move(plan), true};
  if (state.strictest() == NodeState::kObserve) return {std::move(plan), false};
  OvercommitPlan out = plan;
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
  const bool both_off = state.k8s == NodeState::kOff && state.yarn == NodeState::kOff;
  out.action = both_off ? PlanAction::kReset : PlanAction::kPublish;
  out.reason = reason_of(state);
  return {std::move(out), true};
}

}  // namespace tidemark::policy
