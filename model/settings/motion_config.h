// How fast the offers of a pool move.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace tidemark::model {

struct MotionConfig {
  // Shares of the node's capacity, so that one setting fits small nodes and large ones.
  std::int64_t dead_band_permille = 10;
  std::int64_t slew_permille_per_minute = 100;

  base::Duration hold = std::chrono::minutes(5);
  base::Duration decay_step = std::chrono::minutes(5);
  std::int64_t decay_steps = 6;
  base::Duration forget = std::chrono::hours(24);

  bool operator==(const MotionConfig&) const = default;
};

}  // namespace tidemark::model
