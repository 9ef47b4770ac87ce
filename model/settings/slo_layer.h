// The parts of a NodeSLO, and a layer of settings above the strategies of slo-controller-config.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/json.h"

namespace tidemark::model {

enum class SloPart : std::uint8_t { kThreshold, kQos, kCpuBurst, kSystem, kHostApplications };
inline constexpr std::size_t kSloParts = 5;

struct SloLayer {
  // By part, only the fields of its text; of host applications {"applications": […]}.
  std::array<std::optional<base::JsonObject>, kSloParts> parts;

  const base::JsonObject* of(SloPart part) const;
  bool empty() const;
  bool operator==(const SloLayer& other) const;
};

}  // namespace tidemark::model
