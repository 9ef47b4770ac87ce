#include "policy/sell/overcommit/normalization.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"

namespace tidemark::policy::sell {
namespace {

using model::Reason;

constexpr std::array<std::pair<std::string_view, std::optional<double> ModelRatios::*>, 4> kRatios{{
    {"baseRatio", &ModelRatios::base},
    {"hyperThreadEnabledRatio", &ModelRatios::hyper_thread},
    {"turboEnabledRatio", &ModelRatios::turbo},
    {"hyperThreadTurboEnabledRatio", &ModelRatios::hyper_thread_turbo},
}};

Result<ModelRatios> read_model(std::string_view model, const Json& document) {
  ModelRatios ratios;
  if (document.is_null()) return ratios;
  if (!document.is_object()) return wrong_type(base::in_quotes(model), "an object of ratios", document);
  for (const auto& [key, value] : document.as_object()) {
    if (value.is_null()) continue;
    for (const auto& [name, member] : kRatios) {
      if (!same_name(key, name)) continue;
      TM_TRY(ratios.*member, number(base::cat(base::in_quotes(model), ".", key), value));
    }
  }
  return ratios;
}

// The models of the node's entry are added to those of the cluster; the entry wins for a model in both.
Result<NormalizationSettings> merged(NormalizationSettings settings, const Json& document) {
  if (document.is_null()) return settings;
  if (!document.is_object()) return wrong_type("strategy", "an object", document);
  for (const auto& [key, value] : document.as_object()) {
    if (value.is_null()) continue;
    if (same_name(key, "enable")) {
      TM_TRY(settings.enable, boolean(key, value));
    } else if (same_name(key, "defaultRatio")) {
      TM_TRY(settings.default_ratio, number(key, value));
    } else if (same_name(key, "ratioModel")) {
      if (!value.is_object()) return wrong_type(key, "an object with a member for each CPU model", value);
      for (const auto& [model, ratios] : value.as_object()) {
        TM_TRY(settings.models[model], read_model(model, ratios));
      }
    }
  }
  return settings;
}

std::optional<double> of_model(const ModelRatios& ratios, const model::CpuBasicInfo& cpu) {
  if (cpu.hyper_thread && cpu.turbo) return ratios.hyper_thread_turbo;
  if (cpu.hyper_thread) return ratios.hyper_thread;
  if (cpu.turbo) return ratios.turbo;
  return ratios.base;
}

// Rounded to two decimals as printing does: the exact value of the double, half to even.
std::int64_t to_percent(double ratio) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), ratio, std::chars_format::fixed, 2).ptr;
  std::int64_t percent = 0;
  for (const char* at = text.data(); at != end; ++at) {
    if (*at != '.') percent = percent * 10 + (*at - '0');
  }
  return percent;
}

NormalizationPlan decided(Reason reason, double ratio) {
  // Not a number is out of range too.
  if (!(ratio >= kRatioPercentMin / 100.0 && ratio <= kRatioPercentMax / 100.0)) {
    return {Reason::kNormalizationOutOfRange, std::nullopt, false};
  }
  return {reason, to_percent(ratio), true};
}

NormalizationPlan undecided(Reason reason) {
  return {reason, std::nullopt, false};
}

NormalizationPlan decide(const NormalizationInput& input) {
  if (input.settings == nullptr) return undecided(Reason::kNormalizationUnavailable);
  if (input.by_label == NormalizationSwitch::kUnreadable) return undecided(Reason::kNormalizationLabelUnreadable);
  const bool enabled = input.by_label == NormalizationSwitch::kAsSettingsSay
                           ? input.settings->enable
                           : input.by_label == NormalizationSwitch::kOn;
  if (!enabled) return {Reason::kNormalizationOff, kRatioPercentMin, true};

  if (input.topology == nullptr) return undecided(Reason::kNormalizationCpuUnknown);
  if (!input.topology->cpu) {
    return undecided(input.topology->cpu_info_unreadable ? Reason::kNormalizationCpuUnreadable
                                                         : Reason::kNormalizationCpuUnknown);
  }
  const auto found = input.settings->models.find(input.topology->cpu->model);
  if (found != input.settings->models.end()) {
    if (const auto ratio = of_model(found->second, *input.topology->cpu)) {
      return decided(Reason::kNormalizationByModel, *ratio);
    }
  }
  if (input.settings->default_ratio) return decided(Reason::kNormalizationDefault, *input.settings->default_ratio);
  return undecided(Reason::kNormalizationNoRatio);
}

}  // namespace

Result<NormalizationConfig> parse_normalization_config(std::string_view text) {
  return parse_chosen<NormalizationSettings>(text, model::kNormalizationConfigKey, merged);
}

NormalizationSwitch parse_normalization_switch(std::optional<std::string_view> label) {
  if (!label) return NormalizationSwitch::kAsSettingsSay;
  // The values that Go's ParseBool accepts.
  for (const std::string_view word : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (*label == word) return NormalizationSwitch::kOn;
  }
  for (const std::string_view word : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (*label == word) return NormalizationSwitch::kOff;
  }
  return NormalizationSwitch::kUnreadable;
}

NormalizationPlan normalization(const NormalizationInput& input, model::Profile profile) {
  NormalizationPlan plan = decide(input);
  if (plan.ratio_percent || profile == model::Profile::kKoordinator || !input.annotation) return plan;
  // Pods were sold by the ratio that the node carries, and its agent scales by it.
  const auto carried = parse_ratio(*input.annotation);
  if (carried && *carried >= kRatioPercentMin / 100.0 && *carried <= kRatioPercentMax / 100.0) {
    plan.ratio_percent = to_percent(*carried);
  }
  return plan;
}

std::string ratio_text(std::int64_t ratio_percent) {
  const std::int64_t rest = ratio_percent % 100;
  return base::cat(ratio_percent / 100, rest < 10 ? ".0" : ".", rest);
}

std::optional<double> parse_ratio(std::string_view annotation) {
  const auto ratio = base::parse_double(annotation);
  return ratio && *ratio > 0 ? ratio : std::nullopt;
}

}  // namespace tidemark::policy::sell
