#include "policy/explain/budget_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/explain/why.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;
using model::Reason;

constexpr std::size_t kJobsShown = 20;  // lines of text; JSON has all

std::string seconds_text(base::Duration duration) {
  return base::format_go_duration(std::chrono::floor<std::chrono::seconds>(std::max(duration, base::Duration(0))));
}

struct Job {
  std::string pool;
  std::string name;
  evict::JobEvictions evictions;
  bool exhausted = false;
};

std::vector<Job> jobs_of(const evict::EvictionBook& book, const evict::BudgetState& state, std::string_view pool,
                         base::WallTime now) {
  std::vector<Job> jobs;
  for (const auto& [name, series] : book.jobs) {
    if (!pool.empty() && name.first != pool) continue;
    const auto* budget = state.pool(name.first);
    const bool exhausted = budget != nullptr && std::ranges::binary_search(budget->jobs, name.second);
    jobs.push_back({name.first, name.second, evict::of_job(series, now), exhausted});
  }
  std::ranges::sort(jobs, [](const Job& a, const Job& b) {
    if (a.evictions.day != b.evictions.day) return a.evictions.day > b.evictions.day;
    return std::pair(a.pool, a.name) < std::pair(b.pool, b.name);
  });
  return jobs;
}

Json ended_json(const evict::Ended& ended) {
  Json out = Json::object({{"evicted", ended.evicted}, {"finished", ended.finished}});
  if (ended.ended() > 0) {
    out["rate"] = Json(static_cast<double>(ended.evicted) / static_cast<double>(ended.ended()));
  }
  return out;
}

}  // namespace

std::string breaker_text(const evict::Breaker& breaker, base::WallTime now) {
  switch (breaker.phase) {
    case evict::BreakerPhase::kClosed:
      return "sells as its settings say";
    case evict::BreakerPhase::kOpen: {
      const base::Duration left = breaker.cool_down - (now - breaker.since);
      return cat("sells nothing new since ", base::format_rfc3339(breaker.since), " (", breaker.seen.evicted, " of ",
                 breaker.seen.ended(), " tasks that ended were evicted), ",
                 left > base::Duration(0) ? cat("for another ", seconds_text(left)) : "until evictions are low again");
    }
    case evict::BreakerPhase::kProbation:
      return cat("sells again since ", base::format_rfc3339(breaker.since), ", on probation");
  }
  return "";
}

Json breaker_json(const evict::Breaker& breaker) {
  Json out = Json::object({{"phase", Json(to_string(breaker.phase))}});
  if (breaker.phase != evict::BreakerPhase::kClosed) {
    out["since"] = Json(base::format_rfc3339(breaker.since));
    out["coolDown"] = Json(base::format_go_duration(breaker.cool_down));
    out["seen"] = ended_json(breaker.seen);
  }
  return out;
}

std::string rate_text(const evict::Ended& ended) {
  if (ended.ended() == 0) return "none ended";
  const std::int64_t permille = ended.evicted * 1000 / ended.ended();
  return cat(permille / 10, ".", permille % 10, " %");
}

std::string render_text(const evict::BudgetChange& change) {
  std::string text =
      cat("pool ", change.pool, change.job.empty() ? "" : ", job ", change.job, ": ", why(change.reason));
  if (!change.job.empty()) return cat(text, ": ", change.seen.evicted, " evictions within an hour");
  if (change.reason == Reason::kBudgetPoolExhausted) {
    return cat(text, ": ", change.seen.evicted,
               " within an hour, with the containers that YARN preempted for more timely work");
  }
  return cat(text, ": ", change.seen.evicted, " of ", change.seen.ended(), " tasks that ended were evicted");
}

std::string_view event_reason(const evict::BudgetChange& change) {
  switch (change.reason) {
    case Reason::kBudgetSpike:
    case Reason::kBudgetReopened:
      return "EvictionsStopPool";
    case Reason::kBudgetProbation:
    case Reason::kBudgetResumed:
      return "PoolOnProbation";
    case Reason::kBudgetPoolExhausted:
    case Reason::kBudgetJobExhausted:
      return "EvictionsExhausted";
    case Reason::kBudgetOverReportGivenUp:
      return "OverReportGivenUp";
    case Reason::kBudgetOverReportBack:
      return "OverReportBack";
    default:
      return "PoolSells";
  }
}

std::string operator_grant_text(const evict::OperatorGrants& grants, std::string_view pool, base::WallTime now) {
  const auto at = grants.find(pool);
  if (at == grants.end() || at->second.now.until <= now) return "";
  return cat(at->second.now.per_hour, " an hour until ", base::format_rfc3339(at->second.now.until));
}

std::string budgets_text(const evict::BudgetState& state, const evict::EvictionBook& book,
                         const evict::OperatorGrants& grants, base::WallTime now) {
  std::string out;
  for (const auto& pool : state.pools) {
    out += cat("pool ", pool.pool, ": ", breaker_text(pool.breaker, now), "\n");
    const evict::Ended day = evict::of_day(book, pool.pool, now);
    out += cat("  last day: ", day.evicted, " evicted, ", day.finished, " finished, ", rate_text(day), "\n");
    const std::string granted = operator_grant_text(grants, pool.pool, now);
    const std::int64_t preempted = evict::preempted_lately(book, pool.pool, now);
    if (!granted.empty() || preempted > 0) {
      out += cat("  preempted by YARN for more timely work: ", preempted,
                 " in the last hour; granted to its operator: ", granted.empty() ? "nothing" : granted, "\n");
    }
    if (pool.over_report.fallen_back) out += cat("  over-report: ", why(Reason::kBudgetOverReportGivenUp), "\n");
    if (pool.exhausted) out += cat("  ", why(Reason::kBudgetPoolExhausted), "\n");
    for (const auto& job : pool.jobs) out += cat("  ", job, ": ", why(Reason::kBudgetJobExhausted), "\n");
  }
  return out;
}

Json budgets_json(const evict::BudgetState& state, const evict::EvictionBook& book, const evict::OperatorGrants& grants,
                  base::WallTime now) {
  Json pools = Json::array();
  for (const auto& pool : state.pools) {
    Json jobs = Json::array();
    for (const auto& job : pool.jobs) jobs.as_array().push_back(Json(job));
    Json told =
        Json::object({{"pool", Json(pool.pool)},
                      {"breaker", breaker_json(pool.breaker)},
                      {"overReportGivenUp", Json(pool.over_report.fallen_back)},
                      {"exhausted", Json(pool.exhausted)},
                      {"jobsExhausted", std::move(jobs)},
                      {"lastHour", Json::object({{"used", evict::used_of_hour(book, pool.pool, now)},
                                                 {"preempted", evict::preempted_lately(book, pool.pool, now)}})},
                      {"lastDay", ended_json(evict::of_day(book, pool.pool, now))}});
    if (pool.node_per_hour) told["perNodeHour"] = Json(*pool.node_per_hour);
    const auto grant = grants.find(pool.pool);
    if (grant != grants.end() && grant->second.now.until > now) {
      told["yarnOperator"] = Json::object(
          {{"perHour", grant->second.now.per_hour}, {"until", Json(base::format_rfc3339(grant->second.now.until))}});
    }
    pools.as_array().push_back(std::move(told));
  }
  return Json::object({{"schema", 1},
                       {"report", "budgets"},
                       {"at", Json(base::format_rfc3339(state.looked))},
                       {"pools", std::move(pools)}});
}

std::string evictions_text(const evict::EvictionBook& book, const evict::BudgetState& state, std::string_view pool,
                           base::WallTime now) {
  std::string out;
  for (const auto& [name, series] : book.classes) {
    if (!pool.empty() && name.first != pool) continue;
    const evict::Ended day = evict::of_day(book, name.first, name.second, now);
    out += cat("pool ", name.first, ", class ", name.second, ": ", day.evicted, " evicted, ", day.finished,
               " finished, ", rate_text(day), "\n");
  }
  const auto jobs = jobs_of(book, state, pool, now);
  std::size_t shown = 0;
  for (const auto& job : jobs) {
    if (++shown > kJobsShown) continue;
    out +=
        cat("  job ", job.name, " (pool ", job.pool, "): ", job.evictions.hour, " evictions within an hour, ",
            job.evictions.day, " within a day", job.exhausted ? cat(": ", why(Reason::kBudgetJobExhausted)) : "", "\n");
  }
  if (shown > kJobsShown) out += cat("  and ", shown - kJobsShown, " more jobs; -o json shows all\n");
  if (book.left_out > 0) out += cat("  and ", book.left_out, " evictions of jobs without their own count\n");
  return out;
}

Json evictions_json(const evict::EvictionBook& book, const evict::BudgetState& state, std::string_view pool,
                    base::WallTime now) {
  Json classes = Json::array();
  for (const auto& [name, series] : book.classes) {
    if (!pool.empty() && name.first != pool) continue;
    classes.as_array().push_back(
        Json::object({{"pool", Json(name.first)},
                      {"class", Json(name.second)},
                      {"lastDay", ended_json(evict::of_day(book, name.first, name.second, now))}}));
  }
  Json jobs = Json::array();
  for (const auto& job : jobs_of(book, state, pool, now)) {
    jobs.as_array().push_back(Json::object({{"pool", Json(job.pool)},
                                            {"job", Json(job.name)},
                                            {"lastHour", job.evictions.hour},
                                            {"lastDay", job.evictions.day},
                                            {"exhausted", Json(job.exhausted)}}));
  }
  return Json::object({{"schema", 1},
                       {"report", "evictions"},
                       {"at", Json(base::format_rfc3339(book.until))},
                       {"classes", std::move(classes)},
                       {"jobs", std::move(jobs)},
                       {"leftOut", book.left_out}});
}

}  // namespace tidemark::policy::explain
