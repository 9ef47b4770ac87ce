// Computes how many containers may still end on a node within the hour for more timely work
// (yarn_operator/node_reclaim.h). Pure.
//
//   the operator has a grant for the pool   the grant minus what it ended in the pool within the hour
//   it has none                             for each node as its agent has it (node_evictions_of() of policy/waterline)
//   the pool has used up its hour           nothing, whichever program used it
//
// The ResourceManager chooses the job, so the hour of a job is not considered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/evict/budget/budget.h"
#include "policy/evict/budget/grants.h"

namespace tidemark::yarn_operator {

// As the manager publishes it.
struct PoolHour {
  std::optional<std::int64_t> granted;                             // to the operator, per hour
  bool used_up = false;                                            // the whole budget of the pool
  std::int64_t node_per_hour = model::kUngrantedEvictionsPerHour;  // without a grant; until it is published
};

// From the ConfigMap `tidemark-budgets`.
PoolHour hour_of(const policy::evict::BudgetState& state, const policy::evict::OperatorGrants& grants,
                 const std::string& pool, base::WallTime now);

class HourRoom {
 public:
  // The pool must be added first.
  void add_pool(const std::string& name, PoolHour hour) { pools_[name] = {hour, 0}; }
  // `preempted`: containers that ended on it for this reason within the hour.
  void add_node(const std::string& name, const std::string& pool, std::int64_t preempted);

  std::int64_t left(const std::string& node) const;  // 0 for a node that was not added
  void take(const std::string& node, std::int64_t containers);
  model::Reason why_none(const std::string& node) const;  // if nothing is left

 private:
  struct Pool {
    PoolHour hour;
    std::int64_t preempted = 0;
  };
  struct Node {
    std::string pool;
    std::int64_t preempted = 0;
  };
  std::map<std::string, Pool> pools_;
  std::map<std::string, Node> nodes_;
};

}  // namespace tidemark::yarn_operator
