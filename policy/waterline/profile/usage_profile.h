// The use of one pod of a workload by the hour of the day, from the samples of all its pods in the last seven days.
//
//    sample   current use of a pod                                  one byte each of CPU and memory (log_scale.h)
//    hour     p50, p95 and the largest of an hour's samples         kept for 7 × 24 hours
//    result   of an hour of the day: p50  the middle one of the days' p50 (the upper of two)
//                                    p95  the largest of the days' p95: no less than the p95 of all their samples
//                                    max  the largest
//
// Percentiles are by nearest rank: of n samples in order the one at ceil(n × p %). Hours are those of UTC. A day is
// forgotten after seven days. A clock that is set back counts into the last hour, and after more than a day starts
// again; one that jumps ahead forgets what would have aged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/resources.h"
#include "policy/waterline/profile/log_scale.h"

namespace tidemark::policy::waterline {

inline constexpr std::int64_t kProfileDays = 7;
inline constexpr std::int64_t kHoursADay = 24;
inline constexpr std::int64_t kProfileSchema = 1;  // of encode_profile()
inline constexpr std::int64_t kProfilePolicyVersion = 1;

// The samples of one hour. All 0: none.
struct HourUsage {
  LogCode cpu_p50 = 0, cpu_p95 = 0, cpu_max = 0;
  LogCode memory_p50 = 0, memory_p95 = 0, memory_max = 0;
  bool seen = false;
  bool operator==(const HourUsage&) const = default;
};

// The count of each code: exact for any order; at most 255 entries.
class CodeCounts {
 public:
  void add(LogCode code, std::uint32_t times = 1);
  std::uint64_t total() const;
  LogCode percentile(std::uint32_t percent) const;  // 0 if nothing was counted
  LogCode largest() const { return entries_.empty() ? LogCode{0} : static_cast<LogCode>(entries_.back().code); }
  void clear() { entries_.clear(); }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }
  bool operator==(const CodeCounts&) const = default;

 private:
  static constexpr std::uint32_t kTimesMax = (1U << 24) - 1;
  struct Entry {
    std::uint32_t code : 8;
    std::uint32_t times : 24;  // saturates
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries_;  // by code
};

struct UsageProfile {
  std::int64_t last_day = 0;                                            // days since 1970 of the newest hour
  std::array<std::array<HourUsage, kHoursADay>, kProfileDays> hours{};  // by day modulo 7
  std::int64_t current_hour = -1;  // hours since 1970 of the samples below; -1: none yet
  CodeCounts cpu;
  CodeCounts memory;

  std::size_t bytes() const { return sizeof(UsageProfile) + cpu.bytes() + memory.bytes(); }
  bool operator==(const UsageProfile&) const = default;
};
// A budget for each of thousands: 7 × 24 hours at 7 bytes, and the hour that runs.
static_assert(sizeof(UsageProfile) <= 1280);

// Adds one pod's current use. Returns true if an hour was completed, or the first one began: then it is worth storing.
bool add_sample(UsageProfile& profile, const model::Resources& use, base::WallTime now);

struct UsageAt {
  model::Resources p50;
  model::Resources p95;
  model::Resources max;
  std::int64_t days = 0;  // on how many of the last seven this hour was seen
  bool operator==(const UsageAt&) const = default;
};
std::optional<UsageAt> usage_at(const UsageProfile& profile, std::int64_t hour_of_day, base::WallTime now);
std::optional<UsageAt> usage_now(const UsageProfile& profile, base::WallTime now);
// Over all hours of the day; p50 is the largest of theirs.
std::optional<UsageAt> usage_of_all_hours(const UsageProfile& profile, base::WallTime now);
std::int64_t hours_seen(const UsageProfile& profile, base::WallTime now);  // of the last 7 × 24

// The same profile gives the same bytes. The current hour is stored as far as it is complete.
std::string encode_profile(const UsageProfile& profile);
Result<UsageProfile> decode_profile(std::string_view bytes);
// The larger value of each hour: merges samples of another process.
void merge_profile(UsageProfile& into, const UsageProfile& other);

}  // namespace tidemark::policy::waterline
