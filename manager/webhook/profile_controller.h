// Catches up: pods that wait for a node, that a ClusterColocationProfile matches, and that were created while the
// webhook was away, get from the profile what the API server still lets be changed (policy/admission/catch_up.h).
// Leader only, at a bounded rate; each write holds only for the revision of the pod that it was decided on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/recorder.h"
#include "kube/work_queue.h"
#include "manager/shared.h"
#include "manager/webhook/admission_handlers.h"
#include "manager/webhook/webhook_objects.h"
#include "net/loop.h"
#include "policy/admission/catch_up.h"

namespace tidemark::manager {

struct ProfileControllerOptions {
  policy::admission::Parity parity = policy::admission::Parity::kKoordinator;
  bool by_default = false;  // also for profiles that are not labelled config.koordinator.sh/controller-managed
  base::Duration interval = std::chrono::seconds(30);
  double updates_per_second = 10;
  std::int64_t update_burst = 100;
  policy::admission::WhileOff while_off = policy::admission::WhileOff::kWait;
};

struct ProfileContext {
  kube::Informer<ProfileObject>& profiles;
  kube::Informer<NamespaceObject>& namespaces;
  ScopeOfPod scope_of;
  std::function<bool()> leading;
};

class ProfileController {
 public:
  ProfileController(const Shared& shared, ProfileContext context, base::Random random,
                    ProfileControllerOptions options);

  void start();     // until destroyed; after the caches of profiles and namespaces were started
  void look_all();  // leadership may have changed
  const kube::WorkQueue& queue() const { return queue_; }

 private:
  net::Task<void> look_now_and_then();
  net::Task<void> work();
  net::Task<Result<void>> catch_up(std::string key);
  void tell_denied(const std::string& key, const Error& error);
  std::vector<const policy::admission::ColocationProfile*> matching(const PendingPod& pod) const;
  // Which profiles, of which revision, a pod was last looked at for; 0 where none matches.
  std::uint64_t fingerprint(const PendingPod& pod) const;

  net::EventLoop& loop_;
  kube::Reader& reader_;
  kube::Writer& writer_;
  kube::EventRecorder& recorder_;
  ProfileContext context_;
  base::Log log_;
  ProfileControllerOptions options_;
  kube::Informer<PendingPod> pods_;
  kube::WorkQueue queue_;
  base::TokenBucket updates_;
  std::unordered_map<std::string, std::uint64_t> looked_at_;  // by uid; of pods that still wait
  std::optional<base::MonotonicTime> denied_told_;
  base::Counter& caught_up_;
  base::Counter& failed_;
  net::Scope scope_;  // last: its tasks use everything above
};

// Whether the webhooks are not asked about pods of this namespace (manager/webhook/webhook_configurations.cc).
bool exempt_namespace(std::string_view name, const kube::TextMap& labels);

}  // namespace tidemark::manager
