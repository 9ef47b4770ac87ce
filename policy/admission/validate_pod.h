// Which pods are refused (contract 11.3).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/reason.h"
#include "policy/admission/mutate.h"

namespace tidemark::policy::admission {

// ConfigMap koordinator-system/pod-enhanced-validator-config: labels that pods must carry.
struct RequiredLabels {
  std::string name;
  std::vector<std::string> labels;
  std::vector<std::string> exempt_namespaces;
};
struct EnhancedValidation {
  bool enable = false;
  std::vector<RequiredLabels> rules;
};
// `enable` and `rules` are the ConfigMap's data of that name; "" if missing.
Result<EnhancedValidation> read_enhanced_validation(std::string_view enable, std::string_view rules);

struct ValidationInput {
  const Json& pod;                  // that passed check_pod()
  const Json* before = nullptr;     // on UPDATE; it passed check_pod() too
  std::string_view namespace_name;  // of the request: a pod being created may not carry it yet
  // What the reconciler that catches up may do does not violate the rules on changes.
  NamespaceLabels namespace_labels;
  std::span<const ColocationProfile* const> profiles;
  MergeIntoPod merge;
  const EnhancedValidation* enhanced = nullptr;
};

struct PodViolation {
  model::Reason reason = model::Reason::kPodQosImmutable;
  std::string field;   // "metadata.labels[koordinator.sh/qosClass]"
  std::string found;   // "" if absent
  std::string wanted;  // the expected value
  bool operator==(const PodViolation&) const = default;
};

// Returns all violations, not only the first. An UPDATE is refused only for what it breaks itself: a pod that was wrong
// before can still be labelled, and lose its finalizers. A pod that is being deleted is not checked.
std::vector<PodViolation> validate_pod(const AdmissionRules& rules, const ValidationInput& input);

}  // namespace tidemark::policy::admission
