// The ConfigMap `tidemark-config-revisions`: what was in force, what is being rolled out, and what a person asked for.
// It is written with a precondition on its revision, so that a leader which lost its lease cannot put an old state
// back.
#pragma once

#include <functional>

#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/maps/owned_map.h"
#include "manager/shared.h"
#include "net/loop.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::manager {

class RevisionStore {
 public:
  RevisionStore(const Shared& shared, std::string ns, base::Duration write_limit, base::Random random,
                std::function<void()> on_change);

  void start() { map_.start(); }  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit) { return map_.wait_synced(limit); }

  bool exists() const { return map_.exists(); }
  // As the server has it, or as our last write left it, whichever is newer.
  const policy::settings::Stored& stored() const { return stored_; }
  kube::ObjectReference reference() const { return map_.reference(); }

  // Writes this to the server. An error leaves the server unchanged; kConflict if another writer was faster.
  net::Task<Result<void>> write(const policy::settings::RevisionBook& book,
                                const policy::settings::RolloutState& state);

 private:
  void take(const kube::ConfigMap* map);

  base::Log log_;
  policy::settings::Stored stored_;
  WatchedMap map_;
};

}  // namespace tidemark::manager
