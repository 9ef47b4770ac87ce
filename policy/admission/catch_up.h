// What a profile still does to a pod that was created while the webhook was away (contract 11.2, the profile
// controller). The API server lets little of a pod be changed after its creation:
//
//   done       labels, annotations, key mappings, suffixes, QoS and priority labels; of the patch what is metadata,
//              images, tolerations that are added, and activeDeadlineSeconds where there was none
//   left       scheduler name, priority class, resources, and all else of the patch
//
// Only pods that are pending and have no node are looked at: a profile does not change what already runs.
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

namespace tidemark::policy {

struct CatchUpInput {
  const Json& pod;  // that passed check_pod()
  NamespaceLabels namespace_labels;
  std::span<const ColocationProfile* const> profiles;
  Parity parity = Parity::kKoordinator;
  MergeIntoPod merge;
  // Offline work of this pod is off: profiles that would make it that are left out, but where it is to wait.
  bool off = false;
  WhileOff while_off = WhileOff::kWait;
};

struct CatchUp {
  Json patch;                        // a merge patch of the pod; null where nothing is to be done
  std::vector<std::string> applied;  // profiles whose work is in the patch
  std::vector<std::string> left;     // places that a profile would have set and that cannot be changed any more
};

CatchUp catch_up(const CatchUpInput& input);

// Whether the reconciler takes this pod for this profile; what can be told without the pod itself.
//   - Trap: for the peer no pod selector means none here, where the webhook takes it for all (Parity::kTidemark: all,
//   if
//     the profile names namespaces).
//   - A selector that cannot be evaluated has not matched.
//   - A pod that is older than the profile was not missed by anybody, unless the profile is controller-managed.
//   - Chance is drawn once for a pod, from its uid.
bool catches_up(const ColocationProfile& profile, std::span<const model::Label> pod_labels,
                const NamespaceLabels& namespace_labels, std::optional<base::WallTime> pod_created,
                std::string_view pod_uid, Parity parity);

// Pending, unassigned and not on its way out.
bool may_catch_up(const Json& pod);

}  // namespace tidemark::policy
