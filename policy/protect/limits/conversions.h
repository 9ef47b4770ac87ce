// Converts amounts of a specification to kernel values (contract 7.2), in v1's units.
//
//   shares = milli × 1024 / 1000       within 2 … 262144; unset: 2
//   quota  = milli × 100000 / 1000     microseconds in 100 ms; at least 1000; unset, or 0: no limit
//   quota  = ⌈quota / ratio⌉           if a core of this node counts for more than one
//
// Koordinator divides in floating point: if the exact quotient is a whole number, its result may be one microsecond
// larger. Ours is exact. Every kernel refuses a quota below 1000, so the ratio does not go below it.
#pragma once

#include <cstdint>
#include <optional>

#include "model/resources.h"
#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

inline constexpr std::int64_t kQuotaPerMilli_us = 100;                  // microseconds in 100 ms
inline constexpr std::int64_t kQuotaMax = (std::int64_t{1} << 44) - 1;  // the kernel counts with 20 more bits

std::int64_t shares_of(std::optional<model::CpuMilli> request);
// `ratio_percent`: in hundredths, 125 is 1.25; up to 100 there is no division.
std::int64_t quota_of(std::optional<model::CpuMilli> limit, std::int64_t ratio_percent = 100);
std::int64_t memory_limit_of(std::optional<model::MemoryBytes> limit);

}  // namespace tidemark::policy::protect
