// Counters of the processor for a group of processes (perf_event_open in its cgroup mode): cycles an instruction tell
// whether a neighbour takes the caches away, where a PMU exists.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "linux/cpu_set.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

enum class PerfEvent : std::uint8_t {
  kCycles,        // hardware
  kInstructions,  // hardware
  kTaskClock,     // software: nanoseconds on a processor; there on every kernel with perf
};

inline constexpr std::size_t kPerfEventsMax = 4;

struct PerfCounts {
  // In the order in which they were asked for, summed over processors; scaled up where the PMU was shared in turns.
  std::array<std::int64_t, kPerfEventsMax> values{};
  std::int64_t enabled_ns = 0;  // the group ran
  // Of that, with counters. Less: the values are estimates, and too low where a processor never gave the group any;
  // 0: nothing was counted, and the values say nothing.
  std::int64_t running_ns = 0;
};

// Open for a while (a window of some seconds a minute): each processor costs a descriptor for each event, and a switch
// between groups costs the time to save the counters.
class PerfCounters {
 public:
  // `group`: the directory of the group in the hierarchy of perf_event, or of v2. All events of a processor count at
  // the same time or none of them does. kUnsupported: this machine has no such counter, with the reason; kDenied:
  // perf_event_paranoid forbids it.
  static Result<PerfCounters> open(const Directory& group, const CpuSet& cpus, std::span<const PerfEvent> events);

  // Since they were opened.
  Result<PerfCounts> read() const;

 private:
  struct OnCpu {
    Fd leader;
    std::vector<Fd> others;
  };
  std::vector<OnCpu> cpus_;
  std::size_t events_ = 0;
};

// Adds the counts of one CPU. Both times 0: the group never ran there. Only the second 0: it ran without a counter,
// which must show in the sum.
void add_perf_reading(PerfCounts& sum, std::uint64_t enabled_ns, std::uint64_t running_ns,
                      std::span<const std::uint64_t> values);

// The values as if they had counted all of the time:  value × enabled / running.
std::int64_t scaled_perf_value(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns);

}  // namespace tidemark::linux
