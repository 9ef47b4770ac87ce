// The parts of a NodeSLO, each from its own key.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/settings/slo_layer.h"
#include "policy/settings/nodeslo/typed_json.h"

namespace tidemark::policy::settings {

struct SloPartInfo {
  model::SloPart part;
  std::string_view key;    // in the ConfigMap
  std::string_view field;  // in NodeSLO.spec
  std::string_view list;   // of the entries: "nodeStrategies", "nodeConfigs"
  const ObjectSchema* schema = nullptr;
};
const std::array<SloPartInfo, model::kSloParts>& slo_parts();
const SloPartInfo& slo_part_info(model::SloPart part);

// Tidemark's part of a spec: extensions.Object.tidemark.
inline constexpr std::string_view kSloExtensions = "extensions";
inline constexpr std::string_view kSloObject = "Object";
inline constexpr std::string_view kSloOurs = "tidemark";

// The name of the list in the schema of host applications.
inline constexpr std::string_view kSloApplications = "applications";

}  // namespace tidemark::policy::settings
