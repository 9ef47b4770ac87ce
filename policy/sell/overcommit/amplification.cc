#include "policy/sell/overcommit/amplification.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "model/names.h"
#include "policy/sell/overcommit/normalization.h"

namespace tidemark::policy::sell {
namespace {

using model::Reason;

constexpr std::string_view kCpu = "cpu";
// No real ratio is larger; it bounds the text as well.
constexpr double kAmplificationMax = 1e15;

Result<AmplificationSettings> merged_amplification(AmplificationSettings settings, const Json& document) {
  if (document.is_null()) return settings;
  if (!document.is_object()) return wrong_type("strategy", "an object", document);
  for (const auto& [key, value] : document.as_object()) {
    if (value.is_null()) continue;
    if (same_name(key, "enable")) {
      TM_TRY(settings.enable, boolean(key, value));
    } else if (same_name(key, "resourceAmplificationRatio")) {
      if (!value.is_object()) return wrong_type(key, "an object of ratios", value);
      for (const auto& [resource, ratio] : value.as_object()) {
        double& into = settings.ratios[resource];
        into = 0;
        if (ratio.is_null()) continue;
        TM_TRY(into, number(base::cat(key, ".", resource), ratio));
      }
    }
  }
  return settings;
}

AmplificationPlan undecided(Reason reason, model::Profile profile) {
  AmplificationPlan plan;
  plan.reason = reason;
  plan.action = profile == model::Profile::kTidemark ? AnnotationAction::kKeep : AnnotationAction::kRemove;
  return plan;
}

std::string two_decimals(double ratio) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), ratio, std::chars_format::fixed, 2).ptr;
  return {text.data(), end};
}

std::string format(const std::vector<AmplifiedResource>& ratios) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  for (const auto& each : ratios) json.key(each.resource).raw(two_decimals(each.ratio));
  json.end_object();
  return out;
}

}  // namespace

Result<AmplificationConfig> parse_amplification_config(std::string_view text) {
  return parse_chosen<AmplificationSettings>(text, model::kAmplificationConfigKey, merged_amplification);
}

AmplificationPlan amplification(const AmplificationInput& input, model::Profile profile) {
  if (input.settings == nullptr) return undecided(Reason::kAmplificationUnavailable, profile);
  AmplificationPlan plan;
  std::map<std::string, AmplifiedResource, std::less<>> ratios;
  if (input.settings->enable) {
    for (const auto& [resource, ratio] : input.settings->ratios) ratios[resource] = {resource, ratio, ratio};
  }
  if (input.normalization_annotation) {
    plan.normalization_ratio = parse_ratio(*input.normalization_annotation);
    if (!plan.normalization_ratio) return undecided(Reason::kAmplificationRatioUnreadable, profile);
  }

  const auto configured = ratios.find(kCpu);
  const double cpu = (configured != ratios.end() && configured->second.ratio > 0 ? configured->second.ratio : 1.0) *
                     plan.normalization_ratio.value_or(1.0);
  // A configured ratio of 1 or less stays as it is; below 1 it is rejected.
  if (cpu > 1) {
    auto& entry = ratios[std::string(kCpu)];
    entry.resource = kCpu;
    entry.ratio = cpu;
  }

  for (const auto& [resource, entry] : ratios) {
    if (entry.ratio < 1) return undecided(Reason::kAmplificationBelowOne, profile);
    if (!(entry.ratio <= kAmplificationMax)) return undecided(Reason::kAmplificationTooLarge, profile);
    plan.ratios.push_back(entry);
  }
  plan.action = plan.ratios.empty() ? AnnotationAction::kRemove : AnnotationAction::kSet;
  plan.reason = plan.ratios.empty() ? Reason::kAmplificationNone : Reason::kAmplificationApplied;
  if (!plan.ratios.empty()) plan.text = format(plan.ratios);
  return plan;
}

}  // namespace tidemark::policy::sell
