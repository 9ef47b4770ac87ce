// What both sides of the bench agree on: which NodeManager is on which node, and what YARN is to have of it. A step is
// one change of all nodes; no total is the same in two steps that follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.h"

namespace tidemark::bench {

inline constexpr std::int32_t kNmPort = 45454;
inline constexpr std::int64_t kStepsMax = 1000;

// Numbers, since a ResourceManager looks names up when their NodeManagers register.
inline std::string nm_host(std::size_t node) {
  return base::cat("127.", 1 + node / 62'500, ".", node / 250 % 250, ".", 1 + node % 250);
}

inline std::int64_t yarn_memory_mib(std::size_t node, std::int64_t step) {
  return 8192 + 64 * static_cast<std::int64_t>(node % 16) + 128 * step;
}

inline std::int32_t yarn_vcores(std::size_t node, std::int64_t step) {
  return 4 + static_cast<std::int32_t>(node % 8) + static_cast<std::int32_t>(step % 2);
}

}  // namespace tidemark::bench
