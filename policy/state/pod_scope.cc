#include "policy/state/pod_scope.h"

#include <algorithm>

namespace tidemark::policy::state {
namespace {

using model::Reason;

bool takes_no_more(const StateOrder& order, std::string_view work_class, base::WallTime now) {
  if (state_of(order, now) < model::NodeState::kDraining) return false;
  return order.only.has_k8s() ||
         (!work_class.empty() && std::ranges::find(order.only.classes, work_class) != order.only.classes.end());
}

}  // namespace

PodScopeState state_for_pod(const PodScope& scope, base::WallTime now) {
  if (scope.colocation != nullptr) {
    const sell::NodeStrategy strategy = sell::strategy_for(*scope.colocation, scope.node_selector, std::nullopt);
    if (!strategy.enabled) return {true, strategy.reason, "", std::nullopt};
  }
  if (scope.desired == nullptr) return {};
  const auto ordered = [&](const StateMark* mark) -> const StateOrder* {
    const StateOrder* order = mark == nullptr ? nullptr : in_force(*mark, now);
    return order != nullptr && takes_no_more(*order, scope.work_class, now) ? order : nullptr;
  };
  if (const StateOrder* order = ordered(scope.desired->cluster ? &*scope.desired->cluster : nullptr)) {
    return {true, Reason::kStateByCluster, "", *order};
  }
  // A pool that takes every node confines no pod.
  if (scope.config == nullptr || scope.node_selector.empty()) return {};
  const model::Pool& pool = waterline::pool_of(*scope.config, scope.node_selector);
  if (pool.takes_all) return {};
  if (const StateOrder* order = ordered(scope.desired->pool(pool.name))) {
    return {true, Reason::kStateByPool, pool.name, *order};
  }
  return {};
}

}  // namespace tidemark::policy::state
