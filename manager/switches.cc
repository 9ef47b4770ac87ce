#include "manager/switches.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace tidemark::manager {
namespace {

// Null where the controller is not here.
struct Controller {
  std::string_view name;
  bool ControllerSet::* on = nullptr;
};
constexpr Controller kControllers[] = {
    {"noderesource", &ControllerSet::node_resource},
    {"nodemetric", &ControllerSet::node_metric},
    {"nodeslo", &ControllerSet::node_slo},
    {"colocationprofile", &ControllerSet::colocation_profile},
    {"quotaprofile"},
};

// The gates of the peer's manager. `built`: looked at here. The defaults are the peer's but for two that are off there:
// an edit of the settings is checked, and pods that missed the webhook are caught up with, since nothing waits for it.
struct Gate {
  std::string_view name;
  bool enabled = false;
  bool built = false;
};
constexpr Gate kGates[] = {
    {"PodMutatingWebhook", true, true},
    {"PodValidatingWebhook", true, true},
    {"ElasticMutatingWebhook", true},
    {"ElasticValidatingWebhook", true},
    {"NodeMutatingWebhook"},
    {"NodeValidatingWebhook"},
    {"ConfigMapValidatingWebhook", true, true},
    {"ReservationMutatingWebhook"},
    {"BindingAdmissionWebhook"},
    {"WebhookFramework", true, true},
    {"ColocationProfileController", true, true},
    {"ColocationProfileSkipMutatingResources", false, true},
    {"ColocationProfileSkipValidatingPriority", false, true},
    {"EnablePodEnhancedValidator", false, true},
    {"DisableExtendedResourceSpec", false, true},
    {"MultiQuotaTree"},
    {"ElasticQuotaIgnorePodOverhead"},
    {"ElasticQuotaIgnoreTerminatingPod"},
    {"ElasticQuotaImmediateIgnoreTerminatingPod"},
    {"ElasticQuotaGuaranteeUsage"},
    {"ElasticQuotaEnableUpdateResourceKey"},
    {"DisableDefaultQuota"},
    {"SupportParentQuotaSubmitPod"},
    {"EnableQuotaAdmission"},
    {"EnableSyncGPUSharedResource", true},
    {"DisablePVCReservation"},
    {"PriorityTransformer"},
    {"PreemptionPolicyTransformer"},
};

const Gate* find_gate(std::string_view name) {
  const auto found = std::ranges::find(kGates, name, &Gate::name);
  return found == std::end(kGates) ? nullptr : found;
}

std::vector<std::string_view> gate_names() {
  std::vector<std::string_view> names;
  for (const Gate& gate : kGates) names.push_back(gate.name);
  return names;
}

}  // namespace

Result<ControllerSet> parse_controllers(std::span<const std::string> words) {
  std::vector<std::string_view> names;
  std::string known;
  for (const Controller& controller : kControllers) {
    names.push_back(controller.name);
    known += base::cat(known.empty() ? "" : ", ", controller.name);
  }
  for (const std::string_view word : words) {
    const std::string_view name = word.substr(word.starts_with('-') ? 1 : 0);
    if (word == "*" || std::ranges::find(names, name) != names.end()) continue;
    const auto meant = base::nearest(name, names);
    return fail(ErrorKind::kInvalid, "there is no controller ", base::quoted(name),
                meant ? base::cat("; did you mean ", *meant, "?") : base::cat("; there are ", known));
  }
  ControllerSet controllers;
  for (const Controller& controller : kControllers) {
    if (controller.on != nullptr) controllers.*controller.on = base::switched_on(controller.name, words);
  }
  return controllers;
}

bool FeatureGates::enabled(std::string_view name) const {
  if (const auto given = given_.find(name); given != given_.end()) return given->second;
  const Gate* gate = find_gate(name);
  return gate != nullptr && gate->enabled;
}

std::vector<std::string> FeatureGates::without_effect() const {
  std::vector<std::string> sentences;
  for (const auto& [name, enabled] : given_) {
    const Gate* gate = find_gate(name);
    if (gate == nullptr) {
      const auto meant = base::nearest(name, gate_names());
      sentences.push_back(base::cat("no feature gate ", name, " is known here",
                                    meant ? base::cat("; did you mean ", *meant, "?") : std::string()));
    } else if (!gate->built && enabled != gate->enabled) {
      sentences.push_back(base::cat("what the feature gate ", name, " switches is not here"));
    }
  }
  return sentences;
}

Result<FeatureGates> parse_feature_gates(std::span<const std::string> words) {
  FeatureGates gates;
  for (const std::string_view word : words) {
    const std::size_t equals = word.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const auto enabled = base::parse_go_bool(value);
    if (equals == 0 || !enabled) {
      return fail(ErrorKind::kInvalid, base::quoted(word), " is not NAME=true or NAME=false");
    }
    gates.given_[std::string(base::trim(word.substr(0, equals)))] = *enabled;
  }
  return gates;
}

}  // namespace tidemark::manager
