// The ConfigMap `tidemark-budgets`: what evictions let pools and jobs do, what was counted, and what a person asked
// for. Written with a precondition on its revision, so that a leader which lost its lease cannot put an old state back.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "net/loop.h"
#include "policy/budget/budget.h"

namespace tidemark::manager {

struct StoredBudgets {
  std::optional<policy::BudgetState> state;
  std::optional<policy::EvictionBook> counts;
  std::optional<policy::ResumeRequest> request;
  std::string problem;  // parts that could not be read, one a line
};
// Total: what cannot be read is left out and told.
StoredBudgets read_budgets(const kube::ConfigMap& map);

class BudgetStore {
 public:
  BudgetStore(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::Writer& writer,
              kube::Interner& interner, const base::Log& log, base::Registry& metrics, base::Random random,
              const std::string& ns, base::Duration write_limit, std::function<void()> on_change);

  void start();  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit) { return maps_.wait_synced(limit); }

  bool exists() const { return object_.has_value(); }
  // As the server has it, or as our last write left it, whichever is newer.
  const StoredBudgets& stored() const { return stored_; }
  kube::ObjectReference reference() const;

  // Over the revision that was read: kConflict or kAlreadyExists where somebody was quicker. Without `counts` they
  // stay.
  net::Task<Result<void>> write(std::string state, std::optional<std::string> counts);

 private:
  void take(const kube::ConfigMap* map);

  std::string ns_;
  kube::Writer& writer_;
  kube::Interner& interner_;
  base::Log log_;
  base::Duration write_limit_;
  kube::Informer<kube::ConfigMap> maps_;
  std::function<void()> on_change_;
  struct Object {
    std::string uid;
    std::string resource_version;
  };
  std::optional<Object> object_;
  StoredBudgets stored_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
