// Decides whether an edit of the settings (ConfigMap slo-controller-config) is accepted: contract 11.4, and checks that
// Koordinator lacks.
//
// An edit is rejected as a whole, with all problems at once: key, place, found value, allowed value. Only changed,
// non-empty keys are checked, so that an old mistake does not block the repair of another one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/reason.h"
#include "model/selector.h"
#include "model/settings/profile.h"

namespace tidemark::policy::settings {

inline constexpr std::size_t kSettingsProblemsMax = 50;                // reported for one edit; the rest is counted
inline constexpr std::size_t kSettingsStrategiesMax = 1000;            // node strategies of one key
inline constexpr std::size_t kSettingsTextMax = std::size_t{1} << 20;  // bytes of one key: the limit of an object

struct SettingsKey {
  std::string_view name;
  std::string_view text;
};

struct LabelledNode {
  std::string_view name;
  std::span<const model::Label> labels;
};

struct SettingsEdit {
  std::span<const SettingsKey> before;  // the ConfigMap's data as it was; empty for a new one
  std::span<const SettingsKey> after;
  std::span<const LabelledNode> nodes;  // of the cluster
  bool names_needed = false;            // node strategies must have names, each its own
  model::Profile parity = model::Profile::kKoordinator;
};

struct SettingsProblem {
  model::Reason reason = model::Reason::kSettingsInvalid;
  std::string key;    // "colocation-config"
  std::string place;  // "nodeConfigs[1].degradeTimeMinutes"; "" if it is the whole key
  std::string found;
  std::string allowed;
  bool operator==(const SettingsProblem&) const = default;
};

// Two strategies for one node: the body of Koordinator's answer.
struct StrategyConflict {
  model::Reason reason = model::Reason::kSettingsOverlap;
  std::string key;
  std::vector<std::string> strategies;
  std::vector<std::string> example_nodes;
};

struct SettingsVerdict {
  std::vector<SettingsProblem> errors;       // in Koordinator's order of checks; any rejects the edit
  std::vector<SettingsProblem> warnings;     // reported and accepted
  std::optional<StrategyConflict> conflict;  // of the first error if it is one
  std::size_t left_off = 0;                  // errors and warnings beyond the limit
  bool allowed() const { return errors.empty(); }
};

SettingsVerdict check_settings(const SettingsEdit& edit);

// Koordinator's word for it: ParseConfigFail, ConfigParamInvalid, NodeStrategiesOverlap, ExistNodeConfict (sic).
std::string_view peer_reason(model::Reason reason);

}  // namespace tidemark::policy::settings
