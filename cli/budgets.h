// `tidemark report budgets`: what evictions let each pool and its jobs do. `tidemark report evictions`: how many tasks
// were evicted, by pool, class and job. `tidemark resume pool NAME`: a pool that evictions stopped sells again.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

enum class BudgetsOf : std::uint8_t { kBudgets, kEvictions };

struct BudgetsOptions {
  BudgetsOf about = BudgetsOf::kBudgets;
  std::string pool;  // only this one; empty: all
  std::string config_namespace = "koordinator-system";
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);
};

// The whole output. kNotFound where no manager has stored anything yet.
net::Task<Result<std::string>> report_budgets(net::EventLoop& loop, kube::Client& client, BudgetsOptions options);

struct ResumePoolOptions {
  std::string pool;
  std::string why;
  std::string id;  // of this request; names who asks
  bool dry_run = false;
  base::Duration wait{0};  // for the manager to have done it; 0: not at all
  std::string config_namespace = "koordinator-system";
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);
};

// Errors: the pool does not exist (with those that do), or is not stopped.
net::Task<Result<std::string>> resume_pool(net::EventLoop& loop, kube::Client& client, ResumePoolOptions options);

}  // namespace tidemark::cli
