// The numbers of orders and offers.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tidemark::model {

// One above `before`, and not below the time: so a node that was deleted and created again does not start from 1.
std::int64_t next_generation(std::int64_t before, base::WallTime now);

}  // namespace tidemark::model
