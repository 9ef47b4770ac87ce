// Amounts of a specification as values of a kernel (contract 7.2), in v1's units.
//
//   shares = milli × 1024 / 1000       within 2 … 262144; nothing said: 2
//   quota  = milli × 100000 / 1000     microseconds in 100 ms; at least 1000; nothing said, or 0: no limit
//   quota  = ⌈quota / ratio⌉           where a core of this node counts for more than one
//
// The peer divides in floating point: where the exact quotient is a whole number, its answer may be one microsecond
// more. Ours is exact. A quota below 1000 is refused by every kernel, so the ratio does not lead there either.
#pragma once

#include <cstdint>
#include <optional>

#include "model/resources.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

inline constexpr std::int64_t kQuotaPerMilli_us = 100;                  // microseconds in 100 ms
inline constexpr std::int64_t kQuotaMax = (std::int64_t{1} << 44) - 1;  // the kernel counts with 20 bits more

std::int64_t shares_of(std::optional<model::CpuMilli> request);
// `ratio_percent`: in hundredths, 125 is 1.25; up to 100 nothing is divided.
std::int64_t quota_of(std::optional<model::CpuMilli> limit, std::int64_t ratio_percent = 100);
std::int64_t memory_limit_of(std::optional<model::MemoryBytes> limit);

}  // namespace tidemark::policy
