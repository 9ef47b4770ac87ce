// Applies a profile to a pod that was created while the webhook was down (contract 11.2, the profile controller). The
// API server allows few changes of an existing pod:
//
//   done       labels, annotations, key mappings, suffixes, QoS and priority labels; from the patch: metadata,
//              images, added tolerations, and activeDeadlineSeconds if it was unset
//   left       scheduler name, priority class, resources, and the rest of the patch
//
// Only pending pods without a node are changed: a profile does not change a running pod.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "policy/admission/mutate.h"
#include "policy/admission/profile.h"

namespace tidemark::policy::admission {

struct CatchUpInput {
  const Json& pod;  // that passed check_pod()
  NamespaceLabels namespace_labels;
  std::span<const ColocationProfile* const> profiles;
  Parity parity = Parity::kKoordinator;
  MergeIntoPod merge;
  // Offline work of this pod is off: skip profiles that would make it offline work, unless it is to wait.
  bool off = false;
  WhileOff while_off = WhileOff::kWait;
};

struct CatchUp {
  Json patch;                        // a merge patch of the pod; null if there is nothing to do
  std::vector<std::string> applied;  // profiles whose changes are in the patch
  std::vector<std::string> left;     // places that a profile would have set and that cannot be changed any more
};

CatchUp catch_up(const CatchUpInput& input);

// Whether the reconciler applies this profile to this pod, as far as it can be decided without the pod itself.
// - Trap: in Koordinator no pod selector matches no pod here, but every pod in the webhook (Parity::kTidemark: every
// pod, if the profile names namespaces).
// - A selector that cannot be evaluated does not match.
// - A pod that is older than the profile did not miss it, unless the profile is controller-managed.
// - Chance is drawn once for a pod, from its uid.
bool catches_up(const ColocationProfile& profile, std::span<const model::Label> pod_labels,
                const NamespaceLabels& namespace_labels, std::optional<base::WallTime> pod_created,
                std::string_view pod_uid, Parity parity);

// Pending, unassigned and not being deleted.
bool may_catch_up(const Json& pod);

}  // namespace tidemark::policy::admission
