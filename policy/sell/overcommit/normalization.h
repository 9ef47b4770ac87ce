// CPU normalization: the value of a CPU of this node, in CPUs of the cluster's reference machine. Reads
// `cpu-normalization-config` and decides the ratio of a node:
//
//    ratio = 1.00                                     switched off by the node's label, else by the settings
//          = ratioModel[CPU model][hyper-threading, turbo]
//          = defaultRatio                             the settings have no ratio for this CPU model
//
// It is within 1.00 and 5.00 and has two decimals; batch-cpu is multiplied by it (overcommit.h, zones.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/reason.h"
#include "model/settings/profile.h"
#include "model/topology.h"
#include "policy/sell/overcommit/chosen.h"

namespace tidemark::policy::sell {

struct ModelRatios {
  std::optional<double> base;  // neither hyper-threading nor turbo
  std::optional<double> hyper_thread;
  std::optional<double> turbo;
  std::optional<double> hyper_thread_turbo;
  bool operator==(const ModelRatios&) const = default;
};

struct NormalizationSettings {
  bool enable = false;
  std::optional<double> default_ratio;
  std::map<std::string, ModelRatios, std::less<>> models;  // by CPU model
  bool operator==(const NormalizationSettings&) const = default;
};
using NormalizationConfig = ChosenConfig<NormalizationSettings>;
Result<NormalizationConfig> parse_normalization_config(std::string_view text);

// The node's label `cpu-normalization-enabled`.
enum class NormalizationSwitch : std::uint8_t { kAsSettingsSay, kOn, kOff, kUnreadable };
NormalizationSwitch parse_normalization_switch(std::optional<std::string_view> label);

constexpr std::int64_t kRatioPercentMin = 100;
constexpr std::int64_t kRatioPercentMax = 500;

struct NormalizationPlan {
  model::Reason reason = model::Reason::kNormalizationUndecided;
  // In hundredths: 125 is 1.25. nullopt: no ratio, batch-cpu is not multiplied.
  std::optional<std::int64_t> ratio_percent;
  // False if no decision was possible: then the annotation stays as it is.
  bool annotate = false;
  bool operator==(const NormalizationPlan&) const = default;
};

struct NormalizationInput {
  const NormalizationSettings* settings = nullptr;  // null: they cannot be used, and there were none before
  NormalizationSwitch by_label = NormalizationSwitch::kAsSettingsSay;
  const model::TopologyView* topology = nullptr;  // null if there is none
  std::optional<std::string_view> annotation;     // on the node now
};
NormalizationPlan normalization(const NormalizationInput& input, model::Profile profile);

// "1.25": two decimals.
std::string ratio_text(std::int64_t ratio_percent);
// A number above 0, as the annotation carries it.
std::optional<double> parse_ratio(std::string_view annotation);

}  // namespace tidemark::policy::sell
