#include "cli/yarn/yarn_hour.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "manager/evictions/budget_store.h"
#include "model/names.h"
#include "operate/get.h"
#include "policy/evict/budget/budget.h"
#include "policy/explain/budget_text.h"
#include "policy/explain/why.h"
#include "yarn_operator/preempted_containers.h"

namespace tidemark::cli {

net::Task<Result<YarnHour>> read_yarn_hour(kube::Client& client, std::string config_namespace, const kube::Node& node,
                                           std::string pool, base::WallTime now, base::Duration limit) {
  kube::Interner interner;
  TM_CO_TRY(const auto map,
            co_await operate::config_map(client, config_namespace, std::string(model::kBudgetsName), limit, interner));
  const manager::StoredBudgets stored = map ? manager::read_budgets(*map) : manager::StoredBudgets();
  const auto grants = stored.grants.value_or(policy::evict::OperatorGrants());
  YarnHour hour;
  hour.preempted_here = yarn_operator::PreemptedContainers().containers(node, now);
  // What the manager has not counted yet stands on this node.
  hour.preempted_in_pool =
      std::max(hour.preempted_here,
               policy::evict::preempted_lately(stored.counts.value_or(policy::evict::EvictionBook()), pool, now));
  if (auto text = policy::explain::operator_grant_text(grants, pool, now); !text.empty())
    hour.granted = std::move(text);
  yarn_operator::HourRoom room;
  const std::string here(node.meta.name);
  const auto of_pool = yarn_operator::hour_of(stored.state.value_or(policy::evict::BudgetState()), grants, pool, now);
  hour.per_node = of_pool.node_per_hour;
  room.add_pool(pool, of_pool);
  room.add_node(here, pool, hour.preempted_here);
  room.add_node("", pool, hour.preempted_in_pool - hour.preempted_here);  // all others
  hour.left = room.left(here);
  hour.why_none = room.why_none(here);
  hour.pool = std::move(pool);
  co_return hour;
}

std::string yarn_hour_text(const YarnHour& hour) {
  std::string text =
      hour.granted
          ? base::cat("granted ", *hour.granted, " in the pool, ", hour.preempted_in_pool, " used")
          : base::cat("no grant: ", hour.per_node, " an hour of each node, ", hour.preempted_here, " used here");
  return text + (hour.left > 0 ? "" : base::cat("; the rest waits: ", policy::explain::why(hour.why_none)));
}

Json yarn_hour_json(const YarnHour& hour) {
  Json out = Json::object({{"pool", Json(hour.pool)},
                           {"preemptedHere", hour.preempted_here},
                           {"preemptedInPool", hour.preempted_in_pool},
                           {"left", hour.left}});
  if (hour.granted) out["granted"] = Json(*hour.granted);
  if (hour.left == 0) out["why"] = policy::explain::why_json(hour.why_none);
  return out;
}

}  // namespace tidemark::cli
