// The ConfigMap `tidemark-config-revisions`: what was in force, what is being rolled out, and what a person asked for.
// It is written with a precondition on its revision, so that a leader which lost its lease cannot put an old state
// back.
#pragma once

#include <cstdint>
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
#include "policy/rollout/stored.h"

namespace tidemark::manager {

class RevisionStore {
 public:
  RevisionStore(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::Writer& writer,
                kube::Interner& interner, const base::Log& log, base::Registry& metrics, base::Random random,
                const std::string& ns, base::Duration write_limit, std::function<void()> on_change);

  void start();  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit);

  bool exists() const { return object_.has_value(); }
  // As the server has it, or as our last write left it, whichever is newer.
  const policy::Stored& stored() const { return stored_; }
  kube::ObjectReference reference() const;

  // Brings the server to this. An error leaves it as it is; kConflict where somebody else wrote.
  net::Task<Result<void>> write(const policy::RevisionBook& book, const policy::RolloutState& state);

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
  policy::Stored stored_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
