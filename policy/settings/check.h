// Whether an edit of the settings (ConfigMap slo-controller-config) is let in: contract 11.4, and what the peer
// forgets.
//
// An edit is refused whole, and everything that is wrong with it is told at once: key, place, what was found, what is
// allowed. Only keys that changed and are not empty are looked at, so that an old mistake does not stand in the way of
// mending another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/reason.h"
#include "model/selector.h"
#include "policy/admission/parity.h"

namespace tidemark::policy {

inline constexpr std::size_t kSettingsProblemsMax = 50;                // told of one edit; the rest is counted
inline constexpr std::size_t kSettingsStrategiesMax = 1000;            // node strategies of one key
inline constexpr std::size_t kSettingsTextMax = std::size_t{1} << 20;  // bytes of one key: what an object may have

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
  Parity parity = Parity::kKoordinator;
};

struct SettingsProblem {
  model::Reason reason = model::Reason::kSettingsInvalid;
  std::string key;    // "colocation-config"
  std::string place;  // "nodeConfigs[1].degradeTimeMinutes"; "" where it is the whole key
  std::string found;
  std::string allowed;
  bool operator==(const SettingsProblem&) const = default;
};

// Two strategies for one node: the body that the peer answers with.
struct StrategyConflict {
  model::Reason reason = model::Reason::kSettingsOverlap;
  std::string key;
  std::vector<std::string> strategies;
  std::vector<std::string> example_nodes;
};

struct SettingsVerdict {
  std::vector<SettingsProblem> errors;       // in the order in which the peer looks; any refuses the edit
  std::vector<SettingsProblem> warnings;     // told, and let in
  std::optional<StrategyConflict> conflict;  // of the first error where that is one
  std::size_t left_off = 0;                  // more of either than are told
  bool allowed() const { return errors.empty(); }
};

SettingsVerdict check_settings(const SettingsEdit& edit);

// The peer's word for it: ParseConfigFail, ConfigParamInvalid, NodeStrategiesOverlap, ExistNodeConfict (sic).
std::string_view peer_reason(model::Reason reason);

}  // namespace tidemark::policy
