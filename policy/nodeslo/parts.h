// The parts of a NodeSLO, each from its own key.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/nodeslo/slo_layer.h"
#include "policy/nodeslo/typed_json.h"

namespace tidemark::policy {

struct SloPartInfo {
  SloPart part;
  std::string_view key;    // in the ConfigMap
  std::string_view field;  // in NodeSLO.spec
  std::string_view list;   // of the entries: "nodeStrategies", "nodeConfigs"
  const ObjectSchema* schema = nullptr;
};
const std::array<SloPartInfo, kSloParts>& slo_parts();
const SloPartInfo& slo_part_info(SloPart part);

// Tidemark's part of a spec: extensions.Object.tidemark.
inline constexpr std::string_view kSloExtensions = "extensions";
inline constexpr std::string_view kSloObject = "Object";
inline constexpr std::string_view kSloOurs = "tidemark";

// The name of the list in the schema of host applications.
inline constexpr std::string_view kSloApplications = "applications";

}  // namespace tidemark::policy
