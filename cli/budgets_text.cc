#include "cli/budgets_text.h"

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "policy/explain/budget_text.h"

namespace tidemark::cli {

using base::cat;

std::string render_budgets(operate::BudgetsReport report, BudgetsOf about, const std::string& pool, bool json,
                           base::WallTime now) {
  policy::evict::BudgetState& state = report.state;
  const policy::evict::EvictionBook book = report.counts.value_or(policy::evict::EvictionBook());
  std::string out;
  if (about == BudgetsOf::kBudgets) {
    std::erase_if(state.pools,
                  [&](const policy::evict::PoolBudget& each) { return !pool.empty() && each.pool != pool; });
    if (json) return policy::explain::budgets_json(state, book, report.grants, now).dump_pretty() + "\n";
    out = policy::explain::budgets_text(state, book, report.grants, now);
  } else {
    if (json) return policy::explain::evictions_json(book, state, pool, now).dump_pretty() + "\n";
    out = policy::explain::evictions_text(book, state, pool, now);
    if (out.empty()) out = "no task ended within the last day\n";
    if (report.counts) out += cat("as of ", base::format_rfc3339(book.until), "\n");
  }
  for (const auto& note : report.notes) out += cat("note: ", note, "\n");
  return out;
}

std::string render_resumed(const operate::ResumePoolOptions& options, bool done, bool json) {
  if (json) {
    return Json::object({{"schema", 1},
                         {"pool", Json(options.pool)},
                         {"dryRun", Json(options.dry_run)},
                         {"done", Json(done)},
                         {"request", Json(options.id)}})
               .dump_pretty() +
           "\n";
  }
  const std::string_view what = options.dry_run ? "would be asked to sell again (dry run, nothing was written)"
                                : done          ? "sells again, on probation"
                                                : "was asked to sell again";
  return cat("pool ", options.pool, " ", what, "\n");
}

}  // namespace tidemark::cli
