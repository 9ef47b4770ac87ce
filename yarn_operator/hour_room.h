// How many containers may still end on a node within the hour for more timely work (yarn_operator/dues.h). Pure.
//
//   the operator has a grant of the pool    what is left of it: whatever it had end in the pool within the hour is off
//   it has none                             kLocalEvictionsPerHour of each node, as an agent without a grant
//   the pool has used up its hour           nothing, by whoever it was used up
//
// Which job loses is the ResourceManager's choice, so no job's hour is looked at here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/budget/budget.h"
#include "policy/budget/grants.h"

namespace tidemark::yarn_operator {

// As the manager tells it.
struct PoolHour {
  std::optional<std::int64_t> granted;  // to the operator, an hour
  bool used_up = false;                 // all of the pool's
};

// As the ConfigMap `tidemark-budgets` has it.
PoolHour hour_of(const policy::BudgetState& state, const policy::OperatorGrants& grants, const std::string& pool,
                 base::WallTime now);

class HourRoom {
 public:
  // The pool's first.
  void add_pool(const std::string& name, PoolHour hour) { pools_[name] = {hour, 0}; }
  // `given_back`: containers that ended on it for this within the hour.
  void add_node(const std::string& name, const std::string& pool, std::int64_t given_back);

  std::int64_t left(const std::string& node) const;  // of a node that was not added: nothing
  void take(const std::string& node, std::int64_t containers);
  model::Reason why_none(const std::string& node) const;  // where nothing is left

 private:
  struct Pool {
    PoolHour hour;
    std::int64_t given_back = 0;
  };
  struct Node {
    std::string pool;
    std::int64_t given_back = 0;
  };
  std::map<std::string, Pool> pools_;
  std::map<std::string, Node> nodes_;
};

}  // namespace tidemark::yarn_operator
