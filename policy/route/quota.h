// Limits what the runs of one business use at the same time.
//
//   at the door:  refused   if queued + 1 > queued quota, or if the run alone exceeds the quota of cores
//   at the start: it waits  if running + 1 > running quota, or used cores + cores of the run > quota of cores
#pragma once

#include <cstdint>
#include <optional>

namespace tidemark::policy::route {

// nullopt: no limit.
struct Quota {
  std::optional<std::int64_t> running;  // runs that have a side
  std::optional<std::int64_t> queued;   // runs that wait for a side
  std::optional<std::int64_t> cores;    // of drivers and executors of the runs that have a side
  bool operator==(const Quota&) const = default;
};

struct QuotaUse {
  std::int64_t running = 0;
  std::int64_t queued = 0;
  std::int64_t cores = 0;
};

enum class QuotaLimit : std::uint8_t { kNone, kRunning, kQueued, kCores };

QuotaLimit limit_at_door(const Quota& quota, const QuotaUse& use, std::int64_t cores);
QuotaLimit limit_at_start(const Quota& quota, const QuotaUse& use, std::int64_t cores);

}  // namespace tidemark::policy::route
