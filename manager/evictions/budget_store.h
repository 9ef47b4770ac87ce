// The ConfigMap `tidemark-budgets`: budgets of pools and jobs, counts, and requests of people. Written with a
// precondition on its revision, so that a former leader cannot write an old state.
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
#include "manager/shared.h"
#include "net/loop.h"
#include "policy/evict/budget/budget.h"
#include "policy/evict/budget/grants.h"

namespace tidemark::manager {

struct StoredBudgets {
  std::optional<policy::evict::BudgetState> state;
  std::optional<policy::evict::EvictionBook> counts;
  std::optional<policy::evict::OperatorGrants> grants;
  std::vector<policy::evict::ResumeRequest> requests;  // each once
  std::vector<std::string> request_keys;               // under which they are
  std::string problem;                                 // unreadable parts, one per line
  bool newer = false;  // a newer version wrote state, counts or grants: this one may not write
};
inline constexpr std::string_view kBudgetsNewer =
    "a newer version wrote the eviction budgets; they stay unchanged, and offers are only cut";
// Total: unreadable parts are omitted and reported.
StoredBudgets read_budgets(const kube::ConfigMap& map);

class BudgetStore {
 public:
  BudgetStore(const Shared& shared, std::string ns, base::Duration write_limit, base::Random random,
              std::function<void()> on_change);

  void start() { map_.start(); }  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit) { return map_.wait_synced(limit); }

  bool exists() const { return map_.exists(); }
  // The server's version or our last write, whichever is newer.
  const StoredBudgets& stored() const { return stored_; }
  kube::ObjectReference reference() const { return map_.reference(); }

  // Writes over the revision that was read; kConflict or kAlreadyExists if another writer was faster. Omitted counts
  // and grants stay. Requests that were read are removed: the state records that they were handled.
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
