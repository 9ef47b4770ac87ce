#include "model/generation.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace tidemark::model {

std::int64_t next_generation(std::int64_t before, base::WallTime now) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now.since_epoch).count();
  return std::max({before == kMax ? kMax : before + 1, seconds, std::int64_t{1}});
}

}  // namespace tidemark::model
