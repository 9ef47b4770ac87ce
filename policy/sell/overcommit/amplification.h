// Resource amplification: the factor by which the node webhook multiplies the kubelet's native resources. Reads
// `resource-amplification-config` and decides the annotation of a node:
//
//    ratio(cpu)   = configured (default 1) × the normalization ratio on the node, if above 1
//    ratio(other) = configured
//
// The normalization ratio is the one on the node before this pass, so a change arrives one pass later. A ratio below 1
// is an error. Text: {"cpu":1.50,"memory":1.20}, two decimals, sorted by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/reason.h"
#include "model/settings/profile.h"
#include "policy/sell/overcommit/chosen.h"

namespace tidemark::policy::sell {

struct AmplificationSettings {
  bool enable = false;
  std::map<std::string, double, std::less<>> ratios;  // by resource
  bool operator==(const AmplificationSettings&) const = default;
};
using AmplificationConfig = ChosenConfig<AmplificationSettings>;
Result<AmplificationConfig> parse_amplification_config(std::string_view text);

enum class AnnotationAction : std::uint8_t { kKeep, kSet, kRemove };

struct AmplifiedResource {
  std::string resource;
  std::optional<double> configured;
  double ratio = 1;
  bool operator==(const AmplifiedResource&) const = default;
};

struct AmplificationPlan {
  model::Reason reason = model::Reason::kAmplificationUndecided;
  AnnotationAction action = AnnotationAction::kKeep;
  std::string text;                           // with kSet
  std::vector<AmplifiedResource> ratios;      // sorted by name
  std::optional<double> normalization_ratio;  // that the cpu ratio was multiplied by
  bool operator==(const AmplificationPlan&) const = default;
};

struct AmplificationInput {
  const AmplificationSettings* settings = nullptr;           // null: they are invalid, and there were none before
  std::optional<std::string_view> normalization_annotation;  // on the node now
};
// If undecidable, the annotation is removed, as in Koordinator; with `profile: tidemark` it stays.
AmplificationPlan amplification(const AmplificationInput& input, model::Profile profile);

}  // namespace tidemark::policy::sell
