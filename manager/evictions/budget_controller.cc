#include "manager/evictions/budget_controller.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"
#include "policy/explain/budget_text.h"

namespace tidemark::manager {
namespace {

using model::Reason;

constexpr base::Duration kSyncPatience = std::chrono::minutes(1);

bool needs_operator(Reason reason) {
  return reason == Reason::kBudgetSpike || reason == Reason::kBudgetReopened ||
         reason == Reason::kBudgetPoolExhausted || reason == Reason::kBudgetOverReportGivenUp;
}

// What pools may do, without what only people look at.
std::vector<std::pair<std::string, policy::sell::PoolGuard>> guards(const policy::evict::BudgetState& state) {
  std::vector<std::pair<std::string, policy::sell::PoolGuard>> found;
  for (const auto& pool : state.pools) {
    const auto guard = policy::evict::guard_of(state, pool.pool);
    if (guard != policy::sell::PoolGuard()) found.emplace_back(pool.pool, guard);
  }
  return found;
}

// Of a pool what must not be forgotten: the rest may wait.
auto urgent(const policy::evict::BudgetState& state) {
  std::vector<std::tuple<std::string, policy::evict::Breaker, bool, bool>> found;
  for (const auto& pool : state.pools) {
    found.emplace_back(pool.pool, pool.breaker, pool.over_report.fallen_back, pool.exhausted);
  }
  return std::pair(state.request, found);
}

using Minutes = std::map<std::string, policy::evict::Series, std::less<>>;

// Whether tasks of the pool were evicted within the last hour that `stored` does not have.
bool lost_more(const Minutes& book, const Minutes& stored, const std::string& pool) {
  const auto now = book.find(pool);
  if (now == book.end()) return false;
  const auto then = stored.find(pool);
  return std::ranges::any_of(now->second.slots, [&](const policy::evict::Series::Slot& slot) {
    if (slot.ended.evicted == 0) return false;
    if (then == stored.end()) return true;
    const auto known = std::ranges::find(then->second.slots, slot.index, &policy::evict::Series::Slot::index);
    return known == then->second.slots.end() || known->ended.evicted < slot.ended.evicted;
  });
}

// Whether something was counted that `stored` does not have; what has become too old since does not matter.
bool counted_more(const policy::evict::EvictionBook& book, policy::evict::EvictionBook stored) {
  policy::evict::forget_old(stored, book.until);
  stored.until = book.until;
  return stored != book;
}

auto jobs(const policy::evict::BudgetState& state) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const auto& pool : state.pools) found.emplace_back(pool.pool, pool.jobs);
  return found;
}

}  // namespace

BudgetController::BudgetController(const Shared& shared, BudgetContext context, base::Random random)
    : shared_(shared),
      context_(std::move(context)),
      log_(shared.log),
      store_(shared, context_.config_namespace, context_.write_limit, random, [this] { store_changed(); }),
      wake_(shared_.loop),
      errors_(shared_.metrics.counter("tidemark_budgets_store_errors_total", "Failed writes of the eviction budgets.")),
      held_(shared_.metrics.gauge("tidemark_budgets_held",
                                  "1 while a newer version wrote the eviction budgets; they stay unchanged.")),
      scope_(shared_.loop) {}

void BudgetController::start() {
  store_.start();
}

net::Task<void> BudgetController::begin() {
  while (!co_await store_.wait_synced(kSyncPatience)) {
    log_.warn("waiting for the API server", {{"missing", "tidemark-budgets is not read yet"}});
  }
  const StoredBudgets& stored = store_.stored();
  if (stored.state) state_ = *stored.state;
  context_.evictions.begin(stored.counts.value_or(policy::evict::EvictionBook()));
  look_for_newer();
  begun_ = true;
  scope_.spawn(run());
}

void BudgetController::store_changed() {
  if (!begun_) return;
  look_for_newer();
  // A leader goes by what it stepped itself; only a request is news to it.
  if (!context_.leading() && store_.stored().state) take(*store_.stored().state);
  wake_.set();
}

void BudgetController::enter(NodePermitInputs& inputs) const {
  inputs.budgets = &state_;
  inputs.budgets_newer = newer_;
}

// A breaker that the newer version opened would be closed if what it wrote were taken for nothing.
void BudgetController::look_for_newer() {
  const bool before = std::exchange(newer_, store_.stored().newer);
  held_.set(newer_ ? 1 : 0);
  if (newer_ == before) return;
  newer_told_ = false;
  context_.on_change();
}

void BudgetController::take(policy::evict::BudgetState state) {
  const auto before = guards(state_);
  state_ = std::move(state);
  if (guards(state_) != before) context_.on_change();
}

net::Task<void> BudgetController::run() {
  while (true) {
    wake_.clear();
    co_await tick();
    co_await wake_.wait_for(policy::evict::kBudgetStep);
  }
}

net::Task<void> BudgetController::tick() {
  const policy::evict::EvictionBook& book = context_.evictions.book();
  // Without a view of ended tasks, a replica must not report calm.
  if (!context_.leading()) {
    hide();
    newer_told_ = false;
  } else if (newer_ && !std::exchange(newer_told_, true)) {
    shared_.recorder.record(store_.reference(), kube::EventSeverity::kWarning, "EvictionsNotRead",
                            base::cat(kBudgetsNewer, ": ", store_.stored().problem));
  }
  if (!context_.leading() || !context_.evictions.synced()) co_return;
  const auto pools = context_.pools();
  auto done = policy::evict::step(state_, {pools, book, store_.stored().requests}, shared_.loop.clock().wall());
  take(std::move(done.state));
  tell(done.changes);
  show();
  if ((context_.asked_for() || store_.exists()) && !newer_) co_await store();
}

bool BudgetController::worth_storing(const policy::evict::BudgetState& wanted) const {
  const auto& stored = store_.stored().state;
  if (!stored || urgent(*stored) != urgent(wanted) || !store_.stored().requests.empty()) return true;
  const auto now = shared_.loop.clock().monotonic();
  return jobs(*stored) != jobs(wanted) && (!stored_at_ || now - *stored_at_ >= kJobsPause);
}

std::optional<std::string> BudgetController::grants_to_store() const {
  const auto wanted = context_.operator_grants();
  if (!wanted || *wanted == store_.stored().grants.value_or(policy::evict::OperatorGrants())) return std::nullopt;
  return policy::evict::encode_grants(*wanted);
}

net::Task<void> BudgetController::store() {
  const policy::evict::EvictionBook& book = context_.evictions.book();
  const bool worth = worth_storing(state_);
  auto grants = grants_to_store();
  const bool counts_due = counts_worth_storing(book, worth);
  if (!counts_due && !worth && !grants) co_return;
  auto written = co_await store_.write({policy::evict::encode_budgets(state_),
                                        counts_due ? std::optional(policy::evict::encode_counts(book)) : std::nullopt,
                                        std::move(grants)});
  if (!written) {
    errors_.add();
    log_.warn("cannot store eviction budgets; they apply anyway; retrying",
              {{"config_map", model::kBudgetsName}, {"error", written.error()}});
    co_return;
  }
  stored_at_ = shared_.loop.clock().monotonic();
  if (!counts_due) co_return;
  counts_stored_at_ = stored_at_;
}

// On change alone. `beside`: the state is written anyway.
bool BudgetController::counts_worth_storing(const policy::evict::EvictionBook& book, bool beside) const {
  const auto& stored = store_.stored().counts;
  if (!stored) return !book.classes.empty() || !book.jobs.empty() || !book.preempted.empty();
  const auto now = shared_.loop.clock().monotonic();
  const auto rested = [&](base::Duration pause) { return !counts_stored_at_ || now - *counts_stored_at_ >= pause; };
  // Where a pool may only lose so many tasks an hour, what it lost must not be forgotten.
  const auto lost = [&](const policy::evict::BudgetPool& pool) {
    return pool.settings.pool_per_hour.has_value() && (lost_more(book.minutes, stored->minutes, pool.name) ||
                                                       lost_more(book.preempted, stored->preempted, pool.name));
  };
  if ((beside || rested(kJobsPause)) && std::ranges::any_of(context_.pools(), lost)) return true;
  return rested(kCountsPause) && counted_more(book, *stored);
}

void BudgetController::tell(const std::vector<policy::evict::BudgetChange>& changes) {
  for (const auto& change : changes) {
    const std::string text = policy::explain::render_text(change);
    const bool warns = needs_operator(change.reason);
    if (warns) {
      log_.warn("evictions", {{"what", text}});
    } else {
      log_.info("evictions", {{"what", text}});
    }
    // Jobs may be many: they are in the ConfigMap, in the log, and in `tidemark report evictions`.
    if (change.reason == Reason::kBudgetJobExhausted || !(context_.asked_for() || store_.exists())) continue;
    shared_.recorder.record(store_.reference(), warns ? kube::EventSeverity::kWarning : kube::EventSeverity::kNormal,
                            policy::explain::event_reason(change), text);
  }
}

void BudgetController::show_pool(std::string_view pool, double phase, double given_up, double exhausted) {
  base::Registry& metrics = shared_.metrics;
  metrics
      .gauge("tidemark_pool_breaker_phase",
             "Whether evictions stop a pool: 0 no, 1 it sells nothing new, 2 it sells on probation.", {{"pool", pool}})
      .set(phase);
  metrics
      .gauge("tidemark_pool_over_report_given_up",
             "1 while a pool over-reports nothing because too many of its tasks are evicted.", {{"pool", pool}})
      .set(given_up);
  metrics
      .gauge("tidemark_pool_jobs_exhausted", "Jobs that were evicted as often as they may be for now.",
             {{"pool", pool}})
      .set(exhausted);
}

void BudgetController::show_rate(const policy::evict::PoolAnd& of, double ratio) {
  shared_.metrics
      .gauge("tidemark_eviction_rate_ratio", "Share of the offline tasks that ended within a day which were evicted.",
             {{"pool", of.first}, {"class", of.second}})
      .set(ratio);
}

// The values of a former leader become outdated: only the leader exports them.
void BudgetController::hide() {
  for (const auto& pool : shown_) show_pool(pool, 0, 0, 0);
  shown_.clear();
  for (const auto& of : shown_rates_) show_rate(of, 0);
  shown_rates_.clear();
}

void BudgetController::show() {
  for (const auto& pool : shown_) {
    if (state_.pool(pool) == nullptr) show_pool(pool, 0, 0, 0);
  }
  shown_.clear();
  for (const auto& pool : state_.pools) {
    show_pool(pool.pool, static_cast<double>(pool.breaker.phase), pool.over_report.fallen_back ? 1 : 0,
              static_cast<double>(pool.jobs.size()));
    shown_.push_back(pool.pool);
  }
  const policy::evict::EvictionBook& book = context_.evictions.book();
  const base::WallTime now = shared_.loop.clock().wall();
  // A class without ended tasks has no rate and exports 0.
  for (const auto& [name, series] : book.classes) shown_rates_.insert(name);
  for (const auto& pool : state_.pools) shown_rates_.emplace(pool.pool, policy::evict::kUnnamed);
  for (const auto& name : shown_rates_) {
    const auto day = policy::evict::of_day(book, name.first, name.second, now);
    show_rate(name, day.ended() == 0 ? 0 : static_cast<double>(day.evicted) / static_cast<double>(day.ended()));
  }
}

}  // namespace tidemark::manager
