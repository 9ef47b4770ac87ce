#include "policy/waterline/pools.h"

#include <algorithm>

namespace tidemark::policy::waterline {

TidemarkConfig drop_in() {
  TidemarkConfig config;
  config.rollout.staged = false;
  config.profiles.learn = false;  // Koordinator stores nothing of the kind on the API server
  config.rest.budget.breaker.watched = false;
  return config;
}

const model::Pool& pool_of(const TidemarkConfig& config, model::LabelsView labels) {
  const auto found =
      std::ranges::find_if(config.pools, [&](const model::Pool& pool) { return pool.selector.matches(labels); });
  return found == config.pools.end() ? config.rest : *found;
}

std::vector<PoolOverlap> overlaps(const TidemarkConfig& config, std::span<const NodeLabels> nodes) {
  std::vector<PoolOverlap> found;
  for (const NodeLabels& node : nodes) {
    const model::Pool* first = nullptr;
    for (const model::Pool& pool : config.pools) {
      if (pool.takes_all || !pool.selector.matches(node.labels)) continue;
      if (first == nullptr) {
        first = &pool;
        continue;
      }
      const auto same = [&](const PoolOverlap& each) { return each.pool == first->name && each.also == pool.name; };
      auto at = std::ranges::find_if(found, same);
      if (at == found.end()) at = found.insert(found.end(), {first->name, pool.name, 0, node.node});
      ++at->nodes;
      at->example = std::min(at->example, node.node);
    }
  }
  const auto place = [&](const std::string& name) {
    return std::ranges::find(config.pools, name, &model::Pool::name) - config.pools.begin();
  };
  std::ranges::sort(found, {}, [&](const PoolOverlap& each) { return std::pair(place(each.pool), place(each.also)); });
  return found;
}

std::int64_t node_evictions_of(const model::Pool& pool) {
  if (pool.budget.node_per_hour) return *pool.budget.node_per_hour;
  if (pool.budget.grants) return model::kUngrantedEvictionsPerHour;
  return pool.profile == model::Profile::kTidemark ? model::kNodeEvictionsPerHour : model::kEvictionsPerHourMax;
}

}  // namespace tidemark::policy::waterline
