// Koordinator's feature gates for the agent, used if no manager configures the node (contract 7.1).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/feature_gates.h"
#include "base/result.h"
#include "model/node_strategy.h"
#include "policy/evict/gap.h"

namespace tidemark::agent {

inline constexpr std::string_view kCpiGate = "CPICollector";

class FeatureGates : public base::FeatureGates {
 public:
  FeatureGates();
  policy::evict::EvictSwitches evictions() const;
  bool lets(model::Strategy strategy) const;  // false: only decided and shown
  // Gates that are on and have no effect here: "CPUBurst, RdtResctrl". With Koordinator's agent they have one.
  std::string on_without_effect() const;
};
Result<FeatureGates> parse_feature_gates(std::span<const std::string> words);

}  // namespace tidemark::agent
