// Which pools have a budget of evictions, and by what settings, while nodes may go by several revisions.
#pragma once

#include <span>
#include <vector>

#include "manager/settings/revision.h"
#include "policy/budget/budget.h"

namespace tidemark::manager {

// Every pool that a node may be in by one of these revisions, which are told oldest first. One that several name goes
// by the oldest that is of a tidemark-config, for an edit cannot loosen its own leash; it over-reports where any says
// so.
std::vector<policy::BudgetPool> budget_pools(std::span<const Revision* const> in_force);

// Whether any of them is of a tidemark-config: without one nothing goes by evictions.
bool any_of_tidemark(std::span<const Revision* const> in_force);

}  // namespace tidemark::manager
