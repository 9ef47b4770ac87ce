// The content of a node's NodeSLO: from the five keys of the settings, for each part
//
//    defaults ← clusterStrategy ← first matching entry of nodeStrategies          merged when the settings are read
//    ← nodeSlo of the pool ← annotation tidemark.io/settings, if present          policy/settings/nodeslo/layer.h
//    host applications: the first matching entry of nodeConfigs replaces the list of the cluster
//    systemStrategy.totalNetworkBandwidth ← annotation node.koordinator.sh/network-bandwidth
//    thresholds of resourceUsedThresholdWithBE ← calendar of the pool             policy/settings/nodeslo/line.h
//
// The part `extensions` of the object stays, except Tidemark's one key in it. Ranges are not checked here, as in
// Koordinator: the schema of the API server checks them on write.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/reason.h"
#include "model/selector.h"
#include "model/settings/config_source.h"
#include "policy/settings/nodeslo/layer.h"
#include "policy/settings/nodeslo/line.h"
#include "policy/settings/nodeslo/parts.h"
#include "policy/settings/nodeslo/typed_json.h"

namespace tidemark::policy::settings {

// One strategy: the fields of its own text, and the result of merging it over the layers below.
struct SloStrategy {
  base::JsonObject own;
  base::JsonObject merged;
  std::string text;  // of `merged`, as written into the spec; "" if the spec omits the part
};

struct SloEntry {
  std::string name;
  model::LabelSelector selector = model::LabelSelector::nothing();
  SloStrategy strategy;
  // kConfigApplied, or kConfigSelectorUnusable if the entry can never match.
  model::Reason reason = model::Reason::kConfigApplied;
  std::string problem;  // the problem of the selector
};

struct SloPartConfig {
  SloStrategy cluster;
  std::vector<SloEntry> entries;
};

SloPartConfig slo_defaults(model::SloPart part);
Result<SloPartConfig> parse_slo_part(model::SloPart part, std::string_view text);

// All parts; new ones hold the defaults.
struct SloConfig {
  SloConfig();
  std::array<SloPartConfig, model::kSloParts> parts;
  const SloPartConfig& of(model::SloPart part) const { return parts[static_cast<std::size_t>(part)]; }
};

// The settings in force of one part, after the ConfigMap was read. A missing key means defaults, an empty text is bad
// JSON (contract 4.3), and a missing ConfigMap keeps the settings in force.
struct SloStep {
  std::optional<SloPartConfig> next;  // nullopt: the settings in force stay
  model::Reason reason;               // kConfigApplied, kConfigDefaults, kConfigNotFound, kConfigBadJson
  std::string problem;                // for the Warning event and the log
};
SloStep next_slo_part(model::SloPart part, const model::ConfigSource& source);

struct SloNodePart {
  std::string text;                   // "" if the spec omits the part
  std::optional<std::size_t> entry;   // index in SloPartConfig::entries
  std::optional<model::Reason> note;  // kSloBandwidth…, and kSloLine… with a calendar
  base::JsonObject strategy;          // the content of `text` before bandwidth and calendar
};
struct SloSpec {
  std::array<SloNodePart, model::kSloParts> parts;
  // extensions.Object.tidemark, as JSON. nullopt: not managed, stays as it is; "": removed.
  std::optional<std::string> ours;
  bool operator==(const SloSpec& other) const;
};
// `shift`: how far the calendar of the node's pool moves the agent's thresholds; nullopt without a calendar.
SloSpec slo_for(const SloConfig& config, std::span<const model::Label> labels,
                std::optional<std::string_view> bandwidth, std::optional<SloShift> shift = std::nullopt,
                const SloLayers& layers = {});

// The extensions of an object that has none yet.
inline constexpr std::string_view kSloNoExtensions = R"({"Object":{}})";

// The whole spec, for a new object.
std::string slo_spec_json(const SloSpec& spec);

// The relevant content of an object's spec, small enough to keep for every node: a hash of each part as this policy
// would write it, 0 if the part is absent. Fields unknown to the tables do not count; an unreadable spec counts as
// none.
struct SloFingerprint {
  std::array<std::uint64_t, model::kSloParts> parts{};
  bool has_spec = false;
  bool has_extensions = false;
  bool has_object = false;  // extensions.Object
  std::uint64_t ours = 0;   // extensions.Object.tidemark; 0 if absent
  bool operator==(const SloFingerprint&) const = default;
};
SloFingerprint slo_fingerprint(const SloSpec& spec);              // of the desired object
SloFingerprint slo_fingerprint_of_object(std::string_view spec);  // of the present object; "" if it has no spec

// The JSON patch that turns an object with the fingerprint `found` into `wanted`; "" if they match. It changes only
// parts that differ; `resource_version` is the object's, so that a change in between rejects the patch.
std::string slo_patch(const SloSpec& wanted, const SloFingerprint& found, std::string_view resource_version);

}  // namespace tidemark::policy::settings
