// What the profiles do to a pod that is being created (contract 11.2).
//
//   profiles that match, by name ─▶ each: labels, annotations, key mappings, suffixes, scheduler, QoS, priority, patch
//     ─▶ translate native resources by class ─▶ annotation extended-resource-spec ─▶ JSON patch
//
// Randomness, objects of the API server and the rules of merging are passed in as values and functions.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/reason.h"
#include "policy/admission/profile.h"

namespace tidemark::policy::admission {

// The values that a PriorityClass gives to a pod.
struct PriorityClassValue {
  std::int32_t value = 0;
  std::string preemption_policy;  // "" keeps the pod's
};

// Strategic merge of `patch` into the pod; after an error the pod must not be used.
using MergeIntoPod = std::function<Result<void>(Json& pod, const Json& patch)>;

struct AdmissionRules {
  Parity parity = Parity::kKoordinator;
  bool translate_resources = true;     // off: gate ColocationProfileSkipMutatingResources
  bool extended_resource_spec = true;  // off: gate DisableExtendedResourceSpec
  bool priority_immutable = true;      // off: gate ColocationProfileSkipValidatingPriority
  WhileOff while_off = WhileOff::kWait;
};

struct MutationInput {
  const Json& pod;  // that passed check_pod()
  NamespaceLabels namespace_labels;
  // In any order, each with a draw in 0 … 99.
  std::span<const ColocationProfile* const> profiles;
  std::span<const int> draws;
  bool off = false;  // offline work of this pod is off (policy/state/pod_scope.h)
  std::function<std::optional<PriorityClassValue>(std::string_view name)> priority_class;
  MergeIntoPod merge;
  std::string_view off_because{};  // shown to the user whose pod is refused
};

// A warning for the user who creates the pod.
struct AdmissionNote {
  model::Reason reason = model::Reason::kAdmitSelectorUnusable;
  std::string profile;  // "" if it is about the pod alone
  std::string detail;
};

struct Mutation {
  Json pod;
  Json patch;                        // from the received pod to `pod`; an empty array if nothing changes
  std::vector<std::string> applied;  // profiles, by name
  std::vector<std::string> skipped;  // matched and not applied: by chance, or plain while off
  bool off_decided = false;          // WhileOff changed the result
  std::vector<AdmissionNote> notes;
  std::size_t diff_steps = 0;  // names compared for `patch`; 0 if nothing was changed
};

struct Refusal {
  model::Reason reason = model::Reason::kAdmitPodUnreadable;
  int http_code = 400;
  std::string profile;
  std::string detail;
};

std::expected<Mutation, Refusal> mutate_pod(const AdmissionRules& rules, const MutationInput& input);

// ---- the steps, for the reconciler that catches up ----

// The steps of one profile that can be done to a pod at any time: metadata only.
void apply_metadata(Json& pod, const ColocationProfile& profile);

// The annotation that records for the reconciler what was done: "applied" must not be applied again (a suffix would be
// appended twice), "skipped" was decided and is not drawn again. Written only if one of the two matters.
struct ProfileMark {
  std::vector<std::string> applied;
  std::vector<std::string> skipped;
  bool knows(std::string_view profile) const;
};
// Whether applying the profile twice differs from applying it once.
bool leaves_a_mark(const ColocationProfile& profile);
std::string write_mark(const ProfileMark& mark);
ProfileMark read_mark(std::string_view text);  // empty if it cannot be read

}  // namespace tidemark::policy::admission
