// Lists the pools with an eviction budget and their settings while nodes use several revisions.
#pragma once

#include <span>
#include <vector>

#include "manager/settings/revision.h"
#include "policy/evict/budget/budget.h"

namespace tidemark::manager {

// Every pool that a node may be in by one of these revisions, oldest first. A pool in several revisions uses the
// oldest one with a tidemark-config, because an edit must not loosen its own limit. It over-reports if any revision
// says so. `node_per_hour` is set: as the agents of the pool have it.
std::vector<policy::evict::BudgetPool> budget_pools(std::span<const Revision* const> in_force);

// Whether any revision has a tidemark-config; without one, evictions have no effect.
bool any_of_tidemark(std::span<const Revision* const> in_force);

}  // namespace tidemark::manager
