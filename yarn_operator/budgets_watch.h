// Reads `tidemark-budgets` of the manager: the operator's grants, and the pools that have used up their hour. Without
// valid content (an older manager, another manager, or unreadable text) the operator has no grant.
#pragma once

#include <functional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "net/task.h"
#include "policy/evict/budget/budget.h"
#include "policy/evict/budget/grants.h"
#include "yarn_operator/hour_room.h"

namespace tidemark::yarn_operator {

class BudgetsWatch {
 public:
  BudgetsWatch(const kube::InformerParts& parts, kube::Interner& interner, const std::string& ns,
               std::function<void()> on_change);

  net::Task<void> run() { return maps_.run(); }
  bool synced() const { return maps_.synced(); }
  PoolHour of(const std::string& pool, base::WallTime now) const;

 private:
  void take(const kube::ConfigMap* map);

  base::Log log_;
  policy::evict::BudgetState state_;
  policy::evict::OperatorGrants grants_;
  kube::Informer<kube::ConfigMap> maps_;
};

}  // namespace tidemark::yarn_operator
