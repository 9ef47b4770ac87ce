// Renders the eviction limits of pools and jobs.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "policy/evict/budget/book.h"
#include "policy/evict/budget/budget.h"
#include "policy/evict/budget/grants.h"

namespace tidemark::policy::explain {

// "pool night: evictions of the pool spiked … [TM-BUDGET-001]: 25 of 60 tasks that ended were evicted".
std::string render_text(const evict::BudgetChange& change);
std::string_view event_reason(const evict::BudgetChange& change);

// "sells nothing new since …, for another 12m0s", and the same for programs.
std::string breaker_text(const evict::Breaker& breaker, base::WallTime now);
Json breaker_json(const evict::Breaker& breaker);

// Lines for each pool: the breaker, reached limits, the rate of the last day, the limits of YARN's operator.
std::string budgets_text(const evict::BudgetState& state, const evict::EvictionBook& book,
                         const evict::OperatorGrants& grants, base::WallTime now);
Json budgets_json(const evict::BudgetState& state, const evict::EvictionBook& book, const evict::OperatorGrants& grants,
                  base::WallTime now);

// "30 an hour until …"; "" if it has none now.
std::string operator_grant_text(const evict::OperatorGrants& grants, std::string_view pool, base::WallTime now);

// By pool and class, and the jobs with most evictions; only one pool if it is named.
std::string evictions_text(const evict::EvictionBook& book, const evict::BudgetState& state, std::string_view pool,
                           base::WallTime now);
Json evictions_json(const evict::EvictionBook& book, const evict::BudgetState& state, std::string_view pool,
                    base::WallTime now);

// "2.5 %" of ended tasks; "none ended".
std::string rate_text(const evict::Ended& ended);

}  // namespace tidemark::policy::explain
