// Pressure (PSI): how much of the time work stood still for want of CPU, memory, disk or because of interrupts. The
// same text for the machine (/proc/pressure/cpu) and for a group (cpu.pressure).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct PressureLine {
  // Hundredths of a percent of the last 10, 60 and 300 seconds: 10000 is all of the time.
  std::int32_t avg10_centi = 0;
  std::int32_t avg60_centi = 0;
  std::int32_t avg300_centi = 0;
  std::int64_t total_us = 0;  // since the start of the machine or of the group
};

struct Pressure {
  std::optional<PressureLine> some;  // at least one task waited; missing for interrupts
  std::optional<PressureLine> full;  // all did; missing for CPU before 5.13
};

Result<Pressure> parse_pressure(std::string_view text);

// `proc`: /proc; `resource`: pressure/cpu, pressure/memory, pressure/io, pressure/irq. kUnsupported: the kernel was
// built or started without PSI, or does not measure this resource.
Result<Pressure> read_pressure(const Folder& proc, const char* resource, Buffer&);

}  // namespace tidemark::linux
