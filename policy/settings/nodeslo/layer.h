// Layers above the strategies of slo-controller-config: settings of a pool (tidemark-config, `nodeSlo`), and above
// those settings of the node itself (annotation tidemark.io/settings).
//
//    nodeSlo:                                  # names and values as in NodeSLO.spec; only the differences
//      resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 55}
//      cpuBurstStrategy: {policy: auto}
//      hostApplications: [...]                 # a list replaces the one below it
//
// A text with any problem (an unknown field, a value out of range) is rejected as a whole. An omitted field is not
// reset: totalNetworkBandwidth stays, while Koordinator's own entries set it back to 0.
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/settings/slo_layer.h"
#include "policy/settings/nodeslo/parts.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::settings {

inline constexpr std::int64_t kNodeSettingsSchema = 1;
inline constexpr std::size_t kNodeSettingsBytesMax = std::size_t{16} << 10;

// Merges both: fields of `above` win.
model::SloLayer over(const model::SloLayer& below, const model::SloLayer& above);
base::JsonObject over(model::SloPart part, base::JsonObject below, const base::JsonObject& above);

// `value` may be null for a member that is absent.
model::SloLayer read_slo_layer(const Json* value, const std::string& place, waterline::Problems& problems);
Json slo_layer_json(const model::SloLayer& layer);

// The layers above the strategies on one node; either may be null.
struct SloLayers {
  const model::SloLayer* pool = nullptr;
  const model::SloLayer* node = nullptr;
};

// The annotation of a node: schema 1, YAML (which includes JSON).
struct NodeSettings {
  model::SloLayer slo;
  bool operator==(const NodeSettings&) const = default;
};
std::expected<NodeSettings, std::vector<waterline::Problem>> parse_node_settings(std::string_view text);
Json node_settings_json(const NodeSettings& settings);

}  // namespace tidemark::policy::settings
