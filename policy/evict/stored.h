// What an agent that starts needs to know of the evictions of the previous agent: the number within the hour, the tasks
// that were asked to end and their deadlines, and the forbidden tasks.
//
//   {"schema":1,"boot":"8c5c…","hour":[5400000000000],"memory_not_before":5404000000000,
//    "leaving":[{"task":"kubernetes/UID","stage":"leaving","feature":"BEMemoryEvict","reason":"TM-EVICT-001",
//                "asked":5400000000000,"since":5400000000000,"deadline":5430000000000,"lost":600,"counted":5400000000000}]}
//
// Times are nanoseconds of the machine's monotonic clock, which the next agent on it reads too; after a reboot they
// mean nothing. If a request had no answer yet, it is unknown whether it arrived: it counts as an eviction of the hour.
// The task is leaving once its provider lists it as ending; else it may be asked again at once, if still needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "policy/evict/evict.h"

namespace tidemark::policy::evict {

inline constexpr std::int64_t kEvictStoredSchema = 1;
inline constexpr std::size_t kEvictStoredBytesMax = std::size_t{1} << 20;

std::string encode_evictions(const EvictState& state, std::string_view boot);
// Total. An error for another boot, another schema, or an invalid text; too many entries are an error as well.
Result<EvictState> decode_evictions(std::string_view text, std::string_view boot);

// The state of an agent that continues: `before` and the pause of every start.
EvictState evict_state_after(EvictState before, base::MonotonicTime now);

}  // namespace tidemark::policy::evict
