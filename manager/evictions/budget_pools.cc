#include "manager/evictions/budget_pools.h"

#include <algorithm>

#include "policy/waterline/pools.h"

namespace tidemark::manager {
namespace {

bool of_tidemark(const Revision* revision) {
  return revision->texts.tidemark.has_value();
}

bool over_reports(const model::Pool& pool) {
  const auto over = [](const model::SideConfig& side) {
    return policy::sell::over_reports(side.over_report, side.entries);
  };
  return over(pool.ledger.kubernetes) || over(pool.ledger.yarn);
}

}  // namespace

std::vector<policy::evict::BudgetPool> budget_pools(std::span<const Revision* const> in_force) {
  std::vector<policy::evict::BudgetPool> pools;
  const auto add = [&](const model::Pool& pool) {
    const auto known = std::ranges::find(pools, pool.name, &policy::evict::BudgetPool::name);
    if (known == pools.end()) {
      pools.push_back({pool.name, pool.budget, over_reports(pool)});
      pools.back().settings.node_per_hour = policy::waterline::node_evictions_of(pool);
    } else {
      known->over_reports = known->over_reports || over_reports(pool);
    }
  };
  for (const bool says_something : {true, false}) {
    for (const Revision* revision : in_force) {
      if (of_tidemark(revision) != says_something) continue;
      add(revision->tidemark.rest);
      for (const auto& pool : revision->tidemark.pools) add(pool);
    }
  }
  return pools;
}

bool any_of_tidemark(std::span<const Revision* const> in_force) {
  return std::ranges::any_of(in_force, of_tidemark);
}

}  // namespace tidemark::manager
