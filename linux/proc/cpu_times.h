// /proc/stat: what each processor spent its time on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

// Ticks since the start of the machine. Time as a guest's host is within user and nice.
struct CpuTimes {
  std::int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;

  // The node's use: without I/O wait, idle and steal time.
  std::int64_t busy() const { return user + nice + system + irq + softirq; }
};

struct MachineCpuTimes {
  CpuTimes all;
  struct One {
    int cpu = 0;
    CpuTimes times;
  };
  std::vector<One> each;  // processors that are on; cleared first, keeps its room
};

Result<void> parse_cpu_times(std::string_view text, MachineCpuTimes& out);
Result<void> read_cpu_times(const Folder& proc, Buffer&, MachineCpuTimes& out);

std::int64_t ticks_per_second();

}  // namespace tidemark::linux
