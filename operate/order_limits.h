// Defaults and limits of orders, for `tidemark off|on|observe` and for the console.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tidemark::operate {

inline constexpr base::Duration kDrainDefault = std::chrono::minutes(15);
inline constexpr base::Duration kDrainMax = std::chrono::hours(24 * 30);
inline constexpr base::Duration kLastsMax = std::chrono::hours(24 * 365);
inline constexpr base::Duration kGraceMin = std::chrono::seconds(1);
inline constexpr base::Duration kGraceMax = std::chrono::hours(1);
inline constexpr base::Duration kEvictWait = std::chrono::minutes(10);  // beyond the grace
inline constexpr std::int64_t kPerMinuteMax = 1'000'000;

}  // namespace tidemark::operate
