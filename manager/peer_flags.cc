#include "manager/peer_flags.h"

namespace tidemark::manager {
namespace {

using Kind = base::PeerFlag::Kind;

constexpr std::string_view kQuota = "quotas are not here";
constexpr std::string_view kBinding = "there is no webhook on bindings";
constexpr std::string_view kWatched = "what is needed is watched, and nothing read again by the clock";
constexpr std::string_view kLooked =
    "all pods that wait are looked at after each --colocation-profile-reconcile-interval";

constexpr base::PeerFlag kFlags[] = {
    // Another kind would be a second leader beside the Lease's.
    {"leader-elect-resource-lock", Kind::kOnly, "leases", "always a Lease"},
    {"namespace", Kind::kText, "",
     "pods of all namespaces are followed: what pods of another one use must not be sold"},
    {"enable-pprof", Kind::kSwitch, "false", base::kNoProfiles},
    {"pprof-addr", Kind::kText, "", base::kNoProfiles},
    {"gpu-shared-node-selector", Kind::kText, "", "GPU resources are not here"},
    {"colocation-profile-force-update-pod-duration", Kind::kText, "", kLooked},
    {"colocation-profile-expire-pod-cache-duration", Kind::kText, "", kWatched},
    {"pod-enhanced-validator-reconcile-interval", Kind::kText, "", kWatched},
    {"binding-admission-user-name", Kind::kText, "", kBinding},
    {"binding-admission-dry-run", Kind::kSwitch, "true", kBinding},
    {"binding-admission-namespaces", Kind::kText, "", kBinding},
    {"binding-admission-exclude-namespaces", Kind::kText, base::kAnyValue, kBinding},
    {"binding-admission-bypass-labels", Kind::kText, base::kAnyValue, kBinding},
    {"binding-admission-bypass-annotations", Kind::kText, base::kAnyValue, kBinding},
    {"quota-update-max-retries", Kind::kText, "", kQuota},
    {"quota-update-retry-jitter", Kind::kText, "", kQuota},
    {"quota-update-max-total-jitter", Kind::kText, "", kQuota},
    {"quota-update-conflict-fresh-get", Kind::kSwitch, "false", kQuota},
};

}  // namespace

std::span<const base::PeerFlag> peer_flags() {
  return kFlags;
}

}  // namespace tidemark::manager
