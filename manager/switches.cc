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

// The gates of the peer's manager. The defaults are the peer's but for two that are off there:
// an edit of the settings is checked, and pods that missed the webhook are caught up with, since nothing waits for it.
constexpr base::FeatureGate kGates[] = {
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
    return fail(ErrorKind::kInvalid, "there is no controller ", base::in_quotes(name),
                meant ? base::cat("; did you mean ", *meant, "?") : base::cat("; there are ", known));
  }
  ControllerSet controllers;
  for (const Controller& controller : kControllers) {
    if (controller.on != nullptr) controllers.*controller.on = base::switched_on(controller.name, words);
  }
  return controllers;
}

FeatureGates::FeatureGates() : base::FeatureGates(kGates) {}

Result<FeatureGates> parse_feature_gates(std::span<const std::string> words) {
  FeatureGates gates;
  if (auto taken = gates.take(words); !taken) return fail(std::move(taken).error());
  return gates;
}

}  // namespace tidemark::manager
