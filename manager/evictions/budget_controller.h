// Carries out policy/evict/budget: the leader steps the budgets of pools and jobs, stores and publishes them. Every
// replica
// uses the stored state, so that a new leader continues it.
//
// Without tidemark-config nothing is written, because Koordinator leaves no such object.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/recorder.h"
#include "manager/evictions/budget_store.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/shared.h"
#include "manager/state/node_permit.h"
#include "net/loop.h"
#include "policy/evict/budget/budget.h"

namespace tidemark::manager {

struct BudgetContext {
  EvictionWatch& evictions;
  std::function<std::optional<policy::evict::OperatorGrants>()> operator_grants;  // nullopt: not known now
  // Pools of the settings in force on any node, and whether any setting comes from a tidemark-config.
  std::function<std::vector<policy::evict::BudgetPool>()> pools;
  std::function<bool()> asked_for;
  std::function<bool()> leading;
  std::function<void()> on_change;  // permissions of pools changed
  std::string config_namespace;
  base::Duration write_limit;
};

class BudgetController {
 public:
  static constexpr base::Duration kCountsPause =
      std::chrono::minutes(10);                                           // between two writes that only update counts
  static constexpr base::Duration kJobsPause = std::chrono::seconds(30);  // of jobs that are exhausted, or not

  BudgetController(const Shared& shared, BudgetContext context, base::Random random);

  void start();  // until destroyed
  // Called when nodes and settings are read: starts counting from the stored state.
  net::Task<void> begin();

  // Valid until the loop runs again.
  void enter(NodePermitInputs& inputs) const;
  const policy::evict::BudgetState& state() const { return state_; }
  const std::optional<policy::evict::OperatorGrants>& stored_grants() const { return store_.stored().grants; }

 private:
  net::Task<void> run();
  net::Task<void> tick();
  void store_changed();
  void take(policy::evict::BudgetState state);
  bool counts_worth_storing(const policy::evict::EvictionBook& book, bool beside) const;
  bool worth_storing(const policy::evict::BudgetState& wanted) const;
  // nullopt: the stored grants are current.
  std::optional<std::string> grants_to_store() const;
  net::Task<void> store();
  void look_for_newer();
  void tell(const std::vector<policy::evict::BudgetChange>& changes);
  void show();
  void show_pool(std::string_view pool, double phase, double given_up, double exhausted);
  void show_rate(const policy::evict::PoolAnd& of, double ratio);
  void hide();

  Shared shared_;
  BudgetContext context_;
  base::Log log_;
  BudgetStore store_;
  policy::evict::BudgetState state_;
  bool begun_ = false;
  bool newer_told_ = false;                              // in this term
  bool newer_ = false;                                   // a newer version wrote the store; it stays unchanged
  std::optional<base::MonotonicTime> stored_at_;         // our last write of state
  std::optional<base::MonotonicTime> counts_stored_at_;  // of counts
  net::Event wake_;
  base::Counter& errors_;
  base::Gauge& held_;
  std::vector<std::string> shown_;                // pools with gauges
  std::set<policy::evict::PoolAnd> shown_rates_;  // and classes
  net::Scope scope_;                              // last: its tasks use everything above
};

}  // namespace tidemark::manager
