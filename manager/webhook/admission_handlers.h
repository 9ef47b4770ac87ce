// From an admission request to its answer: looks up what the policies need and asks them.
//
// Works on every replica: it reads caches and writes nothing. What a cache does not have yet (a namespace made a moment
// ago) is asked of the API server.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "manager/evictions/eviction_limits.h"
#include "manager/settings/revision.h"
#include "manager/webhook/admission_review.h"
#include "manager/webhook/webhook_objects.h"
#include "net/loop.h"
#include "policy/admission/mutate.h"
#include "policy/admission/validate_pod.h"
#include "policy/state/pod_scope.h"
#include "policy/waterline/pools.h"

namespace tidemark::manager {

inline constexpr base::Duration kLookupLimit = std::chrono::seconds(2);  // of one object that no cache has
// Look-ups of such objects in a second, with a burst: many new pods must not use up the controllers' request budget.
inline constexpr double kLookupsPerSecond = 5;
inline constexpr std::int64_t kLookupsBurst = 20;
inline constexpr base::Duration kMissingKept = std::chrono::seconds(5);  // a PriorityClass that is not there
inline constexpr std::size_t kMissingMax = 1000;
// Evictions by agents that are checked in a second, with a burst; one more must be repeated later. Each is one GET of a
// pod, less than what the API server itself reads and writes for an eviction that is let go. A surge on ten thousand
// nodes, each with one eviction, is through one replica within 20 s, sooner than an agent stops waiting
// (policy::kBusyFor); what is above the rate costs no look-up.
inline constexpr double kEvictionsPerSecond = 500;
inline constexpr std::int64_t kEvictionsBurst = 1000;

struct AdmissionSettings {
  policy::admission::AdmissionRules rules;
  std::string config_namespace;
  std::string config_name;
  bool names_needed = false;          // node strategies must be named
  bool reconcile_by_default = false;  // pods are caught up with for all profiles
  ZonesOf zones;
  std::string agent_account;  // the user that node agents are; "": there are none
};

struct AdmissionCaches {
  const kube::Informer<ProfileObject>& profiles;
  const kube::Informer<NamespaceObject>& namespaces;
  const kube::Informer<PriorityClassObject>& priority_classes;
  const kube::Informer<kube::Node>& nodes;  // with all labels
};

// Whether offline work of a pod is off, and by whom.
using ScopeOfPod = std::function<policy::state::PodScopeState(const Json& pod)>;

struct AdmissionContext {
  kube::Reader& reader;
  kube::Reader&
      ahead;  // for what cannot wait behind the controllers' calls: a node under pressure waits for the answer
  kube::Interner& interner;
  const base::Clock& clock;
  AdmissionCaches caches;
  ScopeOfPod scope_of;
  std::function<const policy::admission::EnhancedValidation*()> enhanced;
  MayNotGo may_not_go;
};

// The rules by which Kubernetes merges a patch into a pod.
Result<void> merge_into_pod(Json& pod, const Json& patch);

class AdmissionHandlers {
 public:
  AdmissionHandlers(AdmissionContext context, AdmissionSettings settings, base::Random random)
      : context_(std::move(context)), settings_(std::move(settings)), random_(random) {}

  net::Task<AdmissionAnswer> mutate_pod(AdmissionRequest request);
  net::Task<AdmissionAnswer> validate_pod(AdmissionRequest request);
  net::Task<AdmissionAnswer> validate_config_map(AdmissionRequest request);
  // Of node agents alone. The pod is asked of the API server each time: what the manager caches of pods has no uid, and
  // by its name it may be an earlier one, of another node.
  net::Task<AdmissionAnswer> validate_eviction(AdmissionRequest request);
  static AdmissionAnswer busy_eviction();  // too many evictions are checked: retry later

 private:
  // nullopt where neither the cache nor the API server knows.
  net::Task<std::optional<std::vector<model::Label>>> namespace_labels(std::string name);
  net::Task<std::optional<policy::admission::PriorityClassValue>> priority_class(std::string name);
  std::vector<const policy::admission::ColocationProfile*> profiles() const;
  AdmissionAnswer check_settings(const AdmissionRequest& request) const;
  AdmissionAnswer check_tidemark_config(const AdmissionRequest& request) const;
  std::vector<policy::waterline::PoolOverlap> pool_overlaps(const policy::waterline::TidemarkConfig& config) const;

  AdmissionContext context_;
  AdmissionSettings settings_;
  base::Random random_;
  base::TokenBucket lookups_{kLookupsPerSecond, kLookupsBurst};
  base::TokenBucket evictions_{kEvictionsPerSecond, kEvictionsBurst};
  std::map<std::string, base::MonotonicTime, std::less<>> missing_;  // PriorityClasses, and until when not to ask
};

}  // namespace tidemark::manager
