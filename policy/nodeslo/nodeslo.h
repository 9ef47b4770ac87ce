// What a node's NodeSLO says: from the five keys of the settings, for each part
//
//   defaults ← clusterStrategy ← first matching entry of nodeStrategies        merged at load
//   (policy/nodeslo/typed_json.h) host applications: the first matching entry of nodeConfigs replaces the cluster's
//   list
//   ← nodeSlo of the node's pool ← annotation tidemark.io/settings                 where there are any
//   (policy/nodeslo/layer.h) systemStrategy.totalNetworkBandwidth ← annotation node.koordinator.sh/network-bandwidth
//   the agent's lines in resourceUsedThresholdWithBE ← calendar of the node's pool (policy/nodeslo/line.h)
//
// and the part `extensions` stays as it is on the object, but for the one key of ours in it, where that is asked for.
// No range is checked here, as in the peer: the API server's schema does that when the object is written.
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
#include "policy/config_source.h"
#include "policy/nodeslo/layer.h"
#include "policy/nodeslo/line.h"
#include "policy/nodeslo/parts.h"
#include "policy/nodeslo/typed_json.h"

namespace tidemark::policy {

// One strategy: what its own text gives, and what it is with everything below it.
struct SloStrategy {
  base::JsonObject own;
  base::JsonObject merged;
  std::string text;  // of `merged`, as it is written into the spec; "" where the spec leaves the part out
};

struct SloEntry {
  std::string name;
  model::LabelSelector selector = model::LabelSelector::nothing();
  SloStrategy strategy;
  // kConfigApplied, or kConfigSelectorUnusable where the entry is never chosen.
  model::Reason reason = model::Reason::kConfigApplied;
  std::string problem;  // says what is wrong with the selector
};

struct SloPartConfig {
  SloStrategy cluster;
  std::vector<SloEntry> entries;
};

SloPartConfig slo_defaults(SloPart part);
Result<SloPartConfig> parse_slo_part(SloPart part, std::string_view text);

// All parts; new ones hold the defaults.
struct SloConfig {
  SloConfig();
  std::array<SloPartConfig, kSloParts> parts;
  const SloPartConfig& of(SloPart part) const { return parts[static_cast<std::size_t>(part)]; }
};

// The running settings of one part, after the ConfigMap was read. A missing key means defaults, an empty text is bad
// JSON (contract 4.3), and a ConfigMap that is not there leaves what runs.
struct SloStep {
  std::optional<SloPartConfig> next;  // nullopt: what runs stays
  model::Reason reason;               // kConfigApplied, kConfigDefaults, kConfigNotFound, kConfigBadJson
  std::string problem;                // for the Warning event and the log
};
SloStep next_slo_part(SloPart part, const ConfigSource& source);

struct SloNodePart {
  std::string text;                   // "" where the spec leaves the part out
  std::optional<std::size_t> entry;   // index in SloPartConfig::entries
  std::optional<model::Reason> note;  // kSloBandwidth…, and kSloLine… where there is a calendar
  base::JsonObject strategy;          // what `text` says, before bandwidth and calendar
};
struct SloSpec {
  std::array<SloNodePart, kSloParts> parts;
  // extensions.Object.tidemark, as JSON. nullopt: nobody asks for it, so what is there stays; "": it is taken away.
  std::optional<std::string> ours;
  bool operator==(const SloSpec& other) const;
};
// `shift`: by how much the calendar of the node's pool moves the agent's lines; nullopt where it has none.
SloSpec slo_for(const SloConfig& config, std::span<const model::Label> labels,
                std::optional<std::string_view> bandwidth, std::optional<SloShift> shift = std::nullopt,
                const SloLayers& layers = {});

// The extensions of an object that has none yet.
inline constexpr std::string_view kSloNoExtensions = R"({"Object":{}})";

// The whole spec, for an object that is made.
std::string slo_spec_json(const SloSpec& spec);

// What of an object's spec counts, small enough to be kept for every node: a hash of each part as this policy would
// write it, 0 where the part is absent. Fields that the tables do not know do not count; a spec that they cannot read
// is none.
struct SloFingerprint {
  std::array<std::uint64_t, kSloParts> parts{};
  bool has_spec = false;
  bool has_extensions = false;
  bool has_object = false;  // extensions.Object
  std::uint64_t ours = 0;   // extensions.Object.tidemark; 0 where there is none
  bool operator==(const SloFingerprint&) const = default;
};
SloFingerprint slo_fingerprint(const SloSpec& spec);              // of an object as it should be
SloFingerprint slo_fingerprint_of_object(std::string_view spec);  // of one as it is; "" where it has no spec

// The JSON patch that makes an object with the fingerprint `found` say `wanted`; "" where it does. Only parts that
// differ are touched; `resource_version` is the object's, so that a change in between refuses the patch.
std::string slo_patch(const SloSpec& wanted, const SloFingerprint& found, std::string_view resource_version);

}  // namespace tidemark::policy
