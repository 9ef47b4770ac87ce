// The ConfigMap `tidemark-budgets`: what evictions let pools and jobs do, what was counted, and what a person asked
// for. Written with a precondition on its revision, so that a leader which lost its lease cannot put an old state back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/maps/owned_map.h"
#include "net/loop.h"
#include "policy/budget/budget.h"
#include "policy/budget/grants.h"

namespace tidemark::manager {

struct StoredBudgets {
  std::optional<policy::BudgetState> state;
  std::optional<policy::EvictionBook> counts;
  std::optional<policy::OperatorGrants> grants;
  std::vector<policy::ResumeRequest> requests;  // each once
  std::vector<std::string> request_keys;        // under which they are
  std::string problem;                          // parts that could not be read, one a line
  bool newer = false;                           // a newer version wrote state, counts or grants: this one may not write
};
inline constexpr std::string_view kBudgetsNewer =
    "a newer version wrote the eviction budgets; they stay unchanged, and offers are only cut";
// Total: what cannot be read is left out and told.
StoredBudgets read_budgets(const kube::ConfigMap& map);

class BudgetStore {
 public:
  BudgetStore(const WatchedMap::Context& context, const base::Log& log, base::Random random,
              std::function<void()> on_change);

  void start() { map_.start(); }  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit) { return map_.wait_synced(limit); }

  bool exists() const { return map_.exists(); }
  // As the server has it, or as our last write left it, whichever is newer.
  const StoredBudgets& stored() const { return stored_; }
  kube::ObjectReference reference() const { return map_.reference(); }

  // Over the revision that was read: kConflict or kAlreadyExists where somebody was quicker. Counts and grants that are
  // not given stay. The requests that were read go: the state says that they were taken up.
  struct Texts {
    std::string state;
    std::optional<std::string> counts, grants;
  };
  net::Task<Result<void>> write(Texts texts);

 private:
  void take(const kube::ConfigMap* map);

  base::Log log_;
  StoredBudgets stored_;
  WatchedMap map_;
};

}  // namespace tidemark::manager
