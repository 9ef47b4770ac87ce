// Chooses the strategy of a node: reads `colocation-config`, keeps the last good one, and merges for each node
//
//    defaults ← cluster ← first matching entry of nodeConfigs ← node annotation ← ratio labels
//
// Merging is by field: present values override, null and absent do not, an empty list does not, an explicit 0 or false
// does. Field names match in any case, as in Go's decoder. Unknown fields are ignored.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/reason.h"
#include "model/selector.h"
#include "model/settings/config_source.h"
#include "model/settings/profile.h"
#include "model/strategy.h"
#include "policy/sell/overcommit/amplification.h"
#include "policy/sell/overcommit/normalization.h"
#include "policy/sell/overcommit/plugins.h"

namespace tidemark::policy::sell {

struct NodeEntry {
  std::string name;
  model::LabelSelector selector = model::LabelSelector::nothing();
  model::ColocationStrategy strategy;  // complete: merged over the cluster's when it was read
  // kConfigApplied; kConfigEntryInvalid if a value is out of range, and this is the cluster's strategy instead;
  // kConfigSelectorUnusable if the entry can never match.
  model::Reason reason = model::Reason::kConfigApplied;
  std::string problem;  // the problem and its place; empty: none
};

struct ColocationConfig {
  model::ColocationStrategy cluster;
  std::vector<NodeEntry> nodes;
};

// kConfigBadJson or kConfigInvalid.
struct ConfigRefusal {
  model::Reason reason;
  Error error;
};
std::expected<ColocationConfig, ConfigRefusal> parse_colocation_config(std::string_view text);

// The running configuration, passed back by the caller.
struct ConfigState {
  std::optional<ColocationConfig> config;  // nullopt: unavailable, decide nothing
  bool error = false;                      // do not touch existing NodeMetric specs
};

struct ConfigStep {
  ConfigState state;
  model::Reason reason;  // kConfigApplied, kConfigDefaults, kConfigNotFound, kConfigBadJson, kConfigInvalid
  std::string problem;   // for the Warning event (only bad JSON has one) and the log
};

// A ConfigMap that vanishes later leaves the running configuration as it is; one that never was means defaults.
ConfigStep next_config(const ConfigState& state, const model::ConfigSource& source);

// A ratio label as a percentage: "0.29" is 28 (times 100 in double, truncated). nullopt if it is not a number of 0 or
// more.
std::optional<std::int64_t> percent_of_ratio(std::string_view text);

// The ranges that each value must be in; the error names the first one that is not.
Result<void> check_strategy(const model::ColocationStrategy& strategy);

struct NodeStrategy {
  model::ColocationStrategy values;
  bool enabled = false;  // for overcommit: the cluster's and the node's switch; a node can only switch itself off
  model::Reason reason = model::Reason::kDisabledByCluster;  // kConfigApplied, kDisabledByCluster or kDisabledForNode
  std::optional<std::size_t> entry;                          // index in ColocationConfig::nodes
  std::vector<model::Reason> ignored;                        // the node's own settings that could not be read
  // Settings of the process, not of the node; the caller sets them.
  PluginSet plugins;
  model::Profile profile = model::Profile::kKoordinator;
  // The settings that the node gets; null: they cannot be used, and there were none before.
  std::shared_ptr<const NormalizationSettings> normalization = default_settings<NormalizationSettings>();
  NormalizationSwitch normalization_switch = NormalizationSwitch::kAsSettingsSay;
  std::shared_ptr<const AmplificationSettings> amplification = default_settings<AmplificationSettings>();
};

// `profile: tidemark` rejects an annotation with a value out of range; Koordinator accepts it.
NodeStrategy strategy_for(const ColocationConfig& config, model::LabelsView labels,
                          std::optional<std::string_view> annotation,
                          model::Profile profile = model::Profile::kKoordinator);

// All settings of overcommit. Null: they are invalid, and there were none before.
struct OvercommitSettings {
  const ColocationConfig& colocation;
  const NormalizationConfig* normalization = nullptr;
  const AmplificationConfig* amplification = nullptr;
  PluginSet plugins{};
  model::Profile profile = model::Profile::kKoordinator;
};
NodeStrategy strategy_for(const OvercommitSettings& settings, model::LabelsView labels,
                          std::optional<std::string_view> annotation);

}  // namespace tidemark::policy::sell
