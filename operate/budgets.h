// What evictions let each pool and its jobs do, how many tasks were evicted, and an order to a pool that evictions
// stopped: sell again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "policy/evict/budget/budget.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::operate {

struct BudgetsQuestion {
  std::string pool;  // that has to exist; empty: any
  std::string config_namespace = "koordinator-system";
  base::Duration limit = std::chrono::seconds(30);
};

struct BudgetsReport {
  policy::evict::BudgetState state;
  std::optional<policy::evict::EvictionBook> counts;  // of tasks that ended; nullopt: none stored
  policy::evict::OperatorGrants grants;               // of the yarn-operator
  std::vector<std::string> notes;
};

// kNotFound if no manager has stored anything yet.
net::Task<Result<BudgetsReport>> read_budgets(kube::Client& client, BudgetsQuestion question);

struct ResumePoolOptions {
  std::string pool;
  std::string why;
  std::string id;  // of this request; contains its author
  bool dry_run = false;
  base::Duration wait{0};  // for the manager to have done it; 0: not at all
  std::string config_namespace = "koordinator-system";
  base::Duration limit = std::chrono::seconds(30);
};

// Whether the manager has resumed it; false: it was asked to. Errors: the pool does not exist (with those that do), or
// is not stopped.
net::Task<Result<bool>> resume_pool(net::EventLoop& loop, kube::Client& client, ResumePoolOptions options);

}  // namespace tidemark::operate
