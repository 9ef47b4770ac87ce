// Eviction budgets and counts, and the answer of `tidemark resume pool`, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "operate/budgets.h"

namespace tidemark::cli {

enum class BudgetsOf : std::uint8_t { kBudgets, kEvictions };

// The whole output. `pool`: only this one; empty: all.
std::string render_budgets(operate::BudgetsReport report, BudgetsOf about, const std::string& pool, bool json,
                           base::WallTime now);

// `done`: the manager has resumed the pool.
std::string render_resumed(const operate::ResumePoolOptions& options, bool done, bool json);

}  // namespace tidemark::cli
