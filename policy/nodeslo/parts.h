// The parts that a NodeSLO is made of, each from a key of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/nodeslo/typed_json.h"

namespace tidemark::policy {

enum class SloPart : std::uint8_t { kThreshold, kQos, kCpuBurst, kSystem, kHostApplications };
inline constexpr std::size_t kSloParts = 5;

struct SloPartInfo {
  SloPart part;
  std::string_view key;    // in the ConfigMap
  std::string_view field;  // in NodeSLO.spec
  std::string_view list;   // of the entries: "nodeStrategies", "nodeConfigs"
  const ObjectSchema* schema = nullptr;
};
const std::array<SloPartInfo, kSloParts>& slo_parts();
const SloPartInfo& slo_part_info(SloPart part);

// Where our own word stands in a spec: extensions.Object.tidemark.
inline constexpr std::string_view kSloExtensions = "extensions";
inline constexpr std::string_view kSloObject = "Object";
inline constexpr std::string_view kSloOurs = "tidemark";

// How the schema of host applications holds their list.
inline constexpr std::string_view kSloApplications = "applications";

}  // namespace tidemark::policy
