// Limits and weights in one unit for both versions: the values of v1, as in contract 7.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/group.h"

namespace tidemark::linux {

inline constexpr std::int64_t kUnlimited = -1;

inline constexpr std::int64_t kSharesMin = 2, kSharesMax = 262'144;
inline constexpr std::int64_t kWeightMin = 1, kWeightMax = 10'000;

//   weight = 1 + (shares − 2) × 9999 / 262142        shares clamped to 2..262144
//   shares = 2 + (weight − 1) × 262142 / 9999        weight clamped to 1..10000
// The first is what container runtimes write; the second is its inverse up to rounding. An idle group (cpu.idle 1) of
// v2 reads as weight 0, which is the least.
std::int64_t weight_of_shares(std::int64_t shares);
std::int64_t shares_of_weight(std::int64_t weight);

// "max", "-1", a number. v1 has no word for an unlimited memory limit: a value within a page table of 2^63 counts as
// unlimited.
Result<std::int64_t> parse_limit(std::string_view text);

// The number in a file of one number, in v1's unit: shares, quota, period, burst, bvt, qos level, idle, every limit of
// memory and pids, usage of memory and pids. kUnlimited where there is no limit. Not for files of lines.
Result<std::int64_t> parse_value(File, Version, std::string_view text);
Result<std::optional<std::int64_t>> read_value(const Group&, File, Buffer&);

// What to write for it. cpu.max of v2 gets the quota only: the kernel keeps the period.
Result<std::string> value_text(File, Version, std::int64_t value);

}  // namespace tidemark::linux
