// The interval of each reading, as data. Cost of a reading, one file of one group kept open, on kernel 6.18 with cold
// caches as after a second (cgroup v1; v2 is about the same):
//
//   cpuacct.usage 3 µs   cpu.stat 3.5 µs   memory.usage_in_bytes 3 µs   memory.stat 11.5 µs   memory.oom_control 3.5 µs
//   cpu.pressure 5 µs    not kept open: 5 to 6 µs more                  /proc/PID/schedstat, opened: 9 µs
//
// So the pass of each second reads only what is summed or acted on within a second: two files of each pod, 14.5 µs.
// Containers are not summed: they are read twice a minute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace tidemark::agent {

enum class Reading : std::uint8_t {
  kNodeCpu,
  kNodeMemory,
  kNodePressure,
  kNumaMemory,

  kCpu,         // of an account's group
  kMemory,      //
  kThrottling,  //
  kWorkingSet,  // a second file if memory.stat is read already
  kPressure,    // three files
  kMemoryEvents,
  kIo,        // two files on v1
  kRunQueue,  // a file of each process
  kCpi,       // descriptors: processors × 2 of each account

  kContainers,  // throttling and memory events of each container
};
inline constexpr std::size_t kReadings = 14;

struct ReadingRow {
  Reading reading;
  std::string_view name;
  base::Duration period;
};
using ReadingTable = std::array<ReadingRow, kReadings>;  // in the order of Reading

const ReadingTable& default_readings();

// A sample is current until it is older than this (contract 7.3: two collect intervals).
inline base::Duration good_for(const ReadingTable& table, Reading reading) {
  return 2 * table[static_cast<std::size_t>(reading)].period;
}

}  // namespace tidemark::agent
