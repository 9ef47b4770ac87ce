#include "policy/evict/budget/budget.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tidemark::policy::evict {
namespace {

using model::Reason;

// Counts are below 2^50 (policy/evict/budget/book.h), so these products do not overflow.
bool spike(const Ended& seen, const model::BreakerSettings& settings) {
  return seen.evicted >= settings.at_least && seen.evicted * 100 > seen.ended() * settings.rate_percent;
}

bool half_spike(const Ended& seen, const model::BreakerSettings& settings) {
  return seen.evicted >= (settings.at_least + 1) / 2 && seen.evicted * 200 > seen.ended() * settings.rate_percent;
}

struct Turn {
  Breaker breaker;
  std::optional<Reason> reason;
};

Turn turn(Breaker breaker, const BudgetObservation& seen, const BudgetPool& pool, bool resumed, base::WallTime now) {
  const model::BreakerSettings& settings = pool.settings.breaker;
  if (!settings.watched) {
    if (breaker.phase == BreakerPhase::kClosed) return {{}, std::nullopt};
    return {{}, Reason::kBudgetSwitchedOff};
  }
  breaker.since = std::min(breaker.since, now);  // a clock that was set back must not keep it open forever
  const Ended window = lately(seen.book, pool.name, settings.window, {}, now);
  const base::Duration passed = now - breaker.since;
  switch (breaker.phase) {
    case BreakerPhase::kClosed:
      if (!spike(window, settings)) return {{}, std::nullopt};
      return {{BreakerPhase::kOpen, now, std::chrono::floor<std::chrono::seconds>(settings.cool_down), window},
              Reason::kBudgetSpike};
    case BreakerPhase::kOpen:
      if (resumed) return {{BreakerPhase::kProbation, now, breaker.cool_down, window}, Reason::kBudgetResumed};
      if (passed < breaker.cool_down || half_spike(window, settings)) return {breaker, std::nullopt};
      return {{BreakerPhase::kProbation, now, breaker.cool_down, window}, Reason::kBudgetProbation};
    case BreakerPhase::kProbation: {
      // The minute in which it began counts for the time before.
      const Ended since = lately(seen.book, pool.name, settings.window, breaker.since + kMinute, now);
      if (half_spike(since, settings)) {
        const auto longest = settings.cool_down * kCoolDownGrowthMax;
        const base::Duration next = std::clamp(breaker.cool_down * 2, settings.cool_down, longest);
        return {{BreakerPhase::kOpen, now, std::chrono::floor<std::chrono::seconds>(next), since},
                Reason::kBudgetReopened};
      }
      if (passed < settings.cool_down) return {breaker, std::nullopt};
      return {{}, Reason::kBudgetClosed};
    }
  }
  return {{}, std::nullopt};
}

void look_at_jobs(PoolBudget& budget, const BudgetObservation& seen, const BudgetPool& pool, base::WallTime now,
                  std::vector<BudgetChange>& changes) {
  struct Exhausted {
    std::int64_t day;
    std::string name;
    std::int64_t hour;
  };
  std::vector<Exhausted> exhausted;
  const auto& jobs = seen.book.jobs;
  for (auto at = jobs.lower_bound(PoolAnd{pool.name, ""}); at != jobs.end() && at->first.first == pool.name; ++at) {
    const JobEvictions job = of_job(at->second, now);
    if (allowance(job, pool.settings.job_per_hour).left == 0)
      exhausted.push_back({job.day, at->first.second, job.hour});
  }
  std::ranges::sort(exhausted, [](const Exhausted& a, const Exhausted& b) {
    return a.day != b.day ? a.day > b.day : a.name < b.name;
  });
  if (exhausted.size() > kJobsTold) exhausted.resize(kJobsTold);
  std::vector<std::string> names;
  for (const auto& job : exhausted) {
    names.push_back(job.name);
    if (!std::ranges::binary_search(budget.jobs, job.name)) {
      changes.push_back({Reason::kBudgetJobExhausted, pool.name, job.name, {job.hour, 0}});
    }
  }
  std::ranges::sort(names);
  budget.jobs = std::move(names);
}

PoolBudget look_at(PoolBudget budget, const BudgetObservation& seen, const BudgetPool& pool, bool resumed,
                   base::Duration passed, base::WallTime now, std::vector<BudgetChange>& changes) {
  auto turned = turn(budget.breaker, seen, pool, resumed, now);
  budget.breaker = turned.breaker;
  if (turned.reason) {
    const Ended window = lately(seen.book, pool.name, pool.settings.breaker.window, {}, now);
    const bool opens = *turned.reason == Reason::kBudgetSpike || *turned.reason == Reason::kBudgetReopened;
    changes.push_back({*turned.reason, pool.name, "", opens ? budget.breaker.seen : window});
  }

  if (pool.over_reports) {
    const Ended day = of_day(seen.book, pool.name, now);
    const auto guarded = sell::guard_over_report(budget.over_report, {}, {day.evicted, day.finished},
                                                 std::chrono::floor<std::chrono::seconds>(passed).count());
    if (guarded.state.fallen_back != budget.over_report.fallen_back) {
      changes.push_back({guarded.state.fallen_back ? Reason::kBudgetOverReportGivenUp : Reason::kBudgetOverReportBack,
                         pool.name, "", day});
    }
    budget.over_report = guarded.state;
  } else {
    budget.over_report = {};
  }

  const std::int64_t used = used_of_hour(seen.book, pool.name, now);
  const bool exhausted = pool.settings.pool_per_hour && used >= *pool.settings.pool_per_hour;
  if (exhausted && !budget.exhausted) changes.push_back({Reason::kBudgetPoolExhausted, pool.name, "", {used, 0}});
  budget.exhausted = exhausted;
  budget.node_per_hour = pool.settings.node_per_hour;
  look_at_jobs(budget, seen, pool, now, changes);
  return budget;
}

}  // namespace

const PoolBudget* BudgetState::pool(std::string_view name) const {
  const auto at = std::ranges::lower_bound(pools, name, {}, &PoolBudget::pool);
  return at == pools.end() || at->pool != name ? nullptr : &*at;
}

JobAllowance allowance(const JobEvictions& job, std::int64_t per_hour) {
  const std::int64_t before = std::max<std::int64_t>(job.day - job.hour, 0);
  const std::int64_t allowed = std::max<std::int64_t>(per_hour - before / kJobAgeing, 1);
  return {allowed, std::max<std::int64_t>(allowed - std::max<std::int64_t>(job.hour, 0), 0)};
}

BudgetStep step(const BudgetState& state, const BudgetObservation& seen, base::WallTime now) {
  now = {std::chrono::floor<std::chrono::seconds>(now.since_epoch)};  // the stored precision
  BudgetStep out;
  out.state.looked = now;
  out.state.request = state.request;
  std::vector<const ResumeRequest*> asked;
  for (const ResumeRequest& request : seen.requests) {
    out.state.taken.push_back(request.id);
    if (request.id != state.request && !std::ranges::binary_search(state.taken, request.id)) asked.push_back(&request);
  }
  std::ranges::sort(out.state.taken);
  out.state.taken.erase(std::ranges::unique(out.state.taken).begin(), out.state.taken.end());
  const auto later = [](const ResumeRequest* a, const ResumeRequest* b) {
    return a->at != b->at ? a->at < b->at : a->id < b->id;
  };
  if (!asked.empty()) out.state.request = (*std::ranges::max_element(asked, later))->id;
  // Bounds what one pass counts as calm: the time without passes may not have been calm.
  const auto passed = std::clamp(now - state.looked, base::Duration(0), kCalmStepMax);
  std::vector<const BudgetPool*> pools;
  for (const BudgetPool& pool : seen.pools) pools.push_back(&pool);
  std::ranges::sort(pools, {}, &BudgetPool::name);
  for (const BudgetPool* pool : pools) {
    PoolBudget before;
    if (const auto* known = state.pool(pool->name)) before = *known;
    before.pool = pool->name;
    const bool resumed = std::ranges::find(asked, pool->name, &ResumeRequest::pool) != asked.end();
    out.state.pools.push_back(look_at(std::move(before), seen, *pool, resumed, passed, now, out.changes));
  }
  return out;
}

sell::PoolGuard guard_of(const BudgetState& state, std::string_view pool) {
  const auto* budget = state.pool(pool);
  if (budget == nullptr) return {};
  return {budget->breaker.phase == BreakerPhase::kOpen, budget->over_report.fallen_back};
}

std::string_view to_string(BreakerPhase phase) {
  switch (phase) {
    case BreakerPhase::kClosed:
      return "closed";
    case BreakerPhase::kOpen:
      return "open";
    case BreakerPhase::kProbation:
      return "probation";
  }
  return "";
}

}  // namespace tidemark::policy::evict
