#include "yarn_operator/hour_room.h"

#include <algorithm>

namespace tidemark::yarn_operator {

PoolHour hour_of(const policy::evict::BudgetState& state, const policy::evict::OperatorGrants& grants,
                 const std::string& pool, base::WallTime now) {
  PoolHour hour;
  const auto grant = grants.find(pool);
  if (grant != grants.end() && now < grant->second.now.until) hour.granted = grant->second.now.per_hour;
  const policy::evict::PoolBudget* budget = state.pool(pool);
  hour.used_up = budget != nullptr && budget->exhausted;
  if (budget != nullptr && budget->node_per_hour) hour.node_per_hour = *budget->node_per_hour;
  return hour;
}

void HourRoom::add_node(const std::string& name, const std::string& pool, std::int64_t preempted) {
  nodes_[name] = {pool, preempted};
  pools_[pool].preempted += preempted;
}

std::int64_t HourRoom::left(const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return 0;
  const Pool& pool = pools_.at(found->second.pool);
  if (pool.hour.used_up) return 0;
  const std::int64_t left =
      pool.hour.granted ? *pool.hour.granted - pool.preempted : pool.hour.node_per_hour - found->second.preempted;
  return std::max<std::int64_t>(left, 0);
}

void HourRoom::take(const std::string& node, std::int64_t containers) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second.preempted += containers;
  pools_.at(found->second.pool).preempted += containers;
}

model::Reason HourRoom::why_none(const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return model::Reason::kBudgetPoolExhausted;
  const PoolHour& hour = pools_.at(found->second.pool).hour;
  return hour.used_up || hour.granted ? model::Reason::kBudgetPoolExhausted : model::Reason::kEvictBudgetSpent;
}

}  // namespace tidemark::yarn_operator
