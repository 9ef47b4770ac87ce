// What the peer's command line switches on and off beside plugins: controllers and feature gates.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// `--feature-gates=Name=true,Other=false`.
class FeatureGates {
 public:
  bool enabled(std::string_view name) const;  // as given, else the default; false where there is none
  // Gates that were given and change nothing here, a sentence each.
  std::vector<std::string> without_effect() const;

  bool operator==(const FeatureGates&) const = default;

 private:
  friend Result<FeatureGates> parse_feature_gates(std::span<const std::string> words);
  std::map<std::string, bool, std::less<>> given_;
};
// A gate that is not known is taken (one command line serves all of the peer's programs), a value that is neither true
// nor false is not.
Result<FeatureGates> parse_feature_gates(std::span<const std::string> words);

}  // namespace tidemark::manager
