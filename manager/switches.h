// What the peer's command line switches on and off beside plugins: controllers and feature gates.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/feature_gates.h"
#include "base/result.h"

namespace tidemark::manager {

// `--controllers`, read as the peer reads it (base::switched_on).
struct ControllerSet {
  bool node_resource = true;       // "noderesource": batch and mid resources
  bool node_metric = true;         // "nodemetric"
  bool node_slo = true;            // "nodeslo"
  bool colocation_profile = true;  // "colocationprofile": pods that missed the webhook

  bool operator==(const ControllerSet&) const = default;
};
// An unknown name is kInvalid: misspelt, it would leave on what was to be off. Controllers of the peer that are not
// here may be named.
Result<ControllerSet> parse_controllers(std::span<const std::string> words);

class FeatureGates : public base::FeatureGates {
 public:
  FeatureGates();
};
Result<FeatureGates> parse_feature_gates(std::span<const std::string> words);

}  // namespace tidemark::manager
