// The spec of a NodeMetric (contract 3.1, 7.14), limited to safe values:
//
//    report interval = max(spec, 30 s), at most a day              absent: 60 s
//    aggregate       = max(spec, 60 s), at most kAggregateMax      absent: 300 s
//    durations       in the order of the spec, at most kDurationsMax      absent: 5, 10 and 30 minutes
//    memory          hot page cache only if the kernel reports it; that and unknown words: without page cache
//
// A duration beyond kNodeWindowMax is computed from the stored samples, if they span half of it or more; otherwise it
// is reported empty, like a cold one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace tidemark::policy::sell {

inline constexpr base::Duration kReportIntervalDefault = std::chrono::seconds(60);
inline constexpr base::Duration kReportIntervalMin = std::chrono::seconds(30);
inline constexpr base::Duration kReportIntervalMax = std::chrono::hours(24);
inline constexpr base::Duration kAggregateDefault = std::chrono::seconds(300);
inline constexpr base::Duration kAggregateMin = std::chrono::seconds(60);
inline constexpr base::Duration kAggregateMax = std::chrono::minutes(30);  // for each pod: 32 KiB
inline constexpr base::Duration kNodeWindowMax = std::chrono::hours(2);  // of the node and of the system: 128 KiB each
inline constexpr std::size_t kDurationsMax = 16;

enum class MemoryCollect : std::uint8_t { kWithoutPageCache, kWithHotPageCache, kWithPageCache };

// As in the spec.
struct CollectAsked {
  std::optional<std::int64_t> aggregate_duration_s;
  std::optional<std::int64_t> report_interval_s;
  std::vector<base::Duration> durations;
  std::string_view memory_collect_policy;
};

struct CollectInForce {
  base::Duration report_interval = kReportIntervalDefault;
  base::Duration aggregate = kAggregateDefault;
  std::vector<base::Duration> durations{std::chrono::minutes(5), std::chrono::minutes(10), std::chrono::minutes(30)};
  MemoryCollect memory = MemoryCollect::kWithoutPageCache;

  // Unsupported values of the spec: for the log, once.
  bool aggregate_cut = false;
  std::size_t durations_left_out = 0;   // beyond kDurationsMax
  std::size_t durations_not_whole = 0;  // beyond kNodeWindowMax
  bool memory_not_as_asked = false;

  base::Duration node_window() const;  // how far back samples of the node are stored
  bool operator==(const CollectInForce&) const = default;
};

// `hot_page_cache`: the kernel reports which of its pages are cold.
CollectInForce collect_in_force(const CollectAsked& asked, bool hot_page_cache);

}  // namespace tidemark::policy::sell
