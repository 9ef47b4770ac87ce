#include "manager/forecast/forecast_pools.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "manager/capacity/decide.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::manager {

std::vector<ForecastPool> forecast_pools(const kube::Informer<kube::Node>& nodes, const Settings& settings) {
  std::map<std::string_view, const kube::Node*> first;
  nodes.for_each([&](const kube::ObjectKey&, const kube::Node& node) {
    const policy::Pool& pool = settings.pool_of(node);
    if (!pool.calendar) return;
    const auto [at, added] = first.try_emplace(pool.name, &node);
    if (!added && node.meta.name.view() < at->second->meta.name.view()) at->second = &node;
  });
  std::vector<ForecastPool> pools;
  for (const auto& [name, node] : first) {
    const Revision& revision = settings.for_node(*node);
    const policy::Pool& pool = policy::pool_of(revision.tidemark, node->meta.labels);
    if (!pool.calendar || !revision.colocation.config || pool.name != name) continue;
    const auto strategy = strategy_of_node(*node, *revision.colocation.config, pool.profile);
    pools.push_back({pool.name, &revision.tidemark.calendars[*pool.calendar],
                     strategy.values.cpu_reclaim_threshold_percent, strategy.values.memory_reclaim_threshold_percent});
  }
  return pools;
}

bool has_motion(const Settings& settings) {
  const auto moves = [](const policy::Pool& pool) { return pool.profile == policy::Profile::kTidemark; };
  return std::ranges::any_of(settings.in_force(), [&](const Revision* revision) {
    return moves(revision->tidemark.rest) || std::ranges::any_of(revision->tidemark.pools, moves);
  });
}

}  // namespace tidemark::manager
