// What an agent that starts anew has to know of the evictions of the one before it: how many there were within the
// hour, whom it told to end and until when, who may not go.
//
//   {"schema":1,"boot":"8c5c…","hour":[5400000000000],"memory_not_before":5404000000000,
//    "leaving":[{"task":"kubernetes/UID","stage":"leaving","feature":"BEMemoryEvict","reason":"TM-EVICT-001",
//                "asked":5400000000000,"since":5400000000000,"deadline":5430000000000,"lost":600,"counted":5400000000000}]}
//
// Times are nanoseconds of the machine's monotonic clock, which the next agent on it reads too; of another life of the
// machine they say nothing. Of one that was asked and had not answered nobody knows whether it was told: it counts, and
// leaves where it is listed as ending; else it is asked again where that is still needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "policy/evict/evict.h"

namespace tidemark::policy {

inline constexpr std::int64_t kEvictStoredSchema = 1;
inline constexpr std::size_t kEvictStoredBytesMax = std::size_t{1} << 20;

std::string encode_evictions(const EvictState& state, std::string_view boot);
// Total. An error for what is of another life of the machine, of another schema, or no such text; what is too much of
// anything is refused as well.
Result<EvictState> decode_evictions(std::string_view text, std::string_view boot);

// With which an agent goes on from the one before it: `before` and the pause of every start.
EvictState evict_state_after(EvictState before, base::MonotonicTime now);

}  // namespace tidemark::policy
