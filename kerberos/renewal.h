// When to log in again. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace tidemark::kerberos {

// After four fifths of a ticket's life, as Hadoop's own clients; not more than once in `kLoginsApart`.
inline constexpr base::Duration kLoginsApart = std::chrono::seconds(1);
// A login that failed is tried again sooner than that, and slower the more often it fails.
inline constexpr base::Duration kRetryMax = std::chrono::minutes(1);

base::Duration until_renewal(std::int64_t begin_s, std::int64_t end_s, base::WallTime now);
// `failures`: in a row, one at least.
base::Duration until_retry(int failures);

}  // namespace tidemark::kerberos
