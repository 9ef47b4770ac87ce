#include "policy/settings/config/budget_form.h"

#include "policy/evict/budget/book.h"

namespace tidemark::policy::settings {
namespace {

constexpr std::int64_t kPerHourMax = 1'000'000;
constexpr base::Duration kCoolDownMax = std::chrono::hours(24);

}  // namespace

void read_evict_lines(waterline::Form& form, model::EvictSettings& into) {
  form.integer("memoryPressurePercent", into.memory_pressure_percent, 1, model::kPressureMax_percent);
  form.integer("diskFreePercent", into.disk_free_percent, 1, model::kDiskFreeMax_percent);
  form.integer("inodesFreePercent", into.inodes_free_percent, 1, model::kDiskFreeMax_percent);
  if (const auto choice = form.choice("yarn", {"class", "preempt"})) into.yarn_by_class = *choice == 0;
}

void read_evictions(waterline::Form& form, model::BudgetSettings& budget, model::EvictSettings& node,
                    waterline::Problems& problems) {
  waterline::Form each(form.member("evictions"), form.place("evictions"), problems);
  each.integer("perJobHour", budget.job_per_hour, 1, kPerHourMax);
  if (each.has("perNodeHour")) {
    std::int64_t limit = model::kEvictionsPerHourMax;
    each.integer("perNodeHour", limit, 1, model::kEvictionsPerHourMax);
    budget.node_per_hour = limit;
  }
  if (each.has("perPoolHour")) {
    std::int64_t limit = kPerHourMax;
    each.integer("perPoolHour", limit, 1, kPerHourMax);
    budget.pool_per_hour = limit;
  }
  each.boolean("grants", budget.grants);
  if (budget.grants && !budget.pool_per_hour) {
    each.problem("grants", "needs perPoolHour");
  }
  if (each.has("backOff")) {
    base::Duration pause{0};
    each.duration("backOff", pause, base::Duration(0), model::kBackOffMax);
    budget.back_off = pause;
  }
  waterline::Form breaker(each.member("breaker"), each.place("breaker"), problems);
  model::BreakerSettings& settings = budget.breaker;
  breaker.boolean("watched", settings.watched);
  breaker.duration("window", settings.window, evict::kMinute, evict::kMinutesKept);
  breaker.integer("atLeast", settings.at_least, 1, kPerHourMax);
  breaker.integer("ratePercent", settings.rate_percent, 0, 99);
  breaker.duration("coolDown", settings.cool_down, evict::kMinute, kCoolDownMax);
  breaker.finish();
  waterline::Form agent(each.member("node"), each.place("node"), problems);
  agent.duration("grace", node.grace, model::kEvictGraceMin, model::kEvictGraceMax);
  read_evict_lines(agent, node);
  agent.finish();
  each.finish();
}

}  // namespace tidemark::policy::settings
