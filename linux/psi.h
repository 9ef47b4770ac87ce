// Pressure (PSI): how much of the time work stood still for want of CPU, memory, disk or because of interrupts. The
// same text for the machine (/proc/pressure/cpu) and for a group (cpu.pressure).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

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

// Asks the kernel to tell when pressure passes a line, instead of looking again and again.
struct PressureLimit {
  bool full = false;           // all tasks stood still, instead of at least one
  std::int64_t stall_us = 0;   // so much standing still …
  std::int64_t window_us = 0;  // … within so much time: 500 ms to 10 s, and stall ≤ window
};

// The descriptor polls POLLPRI once a window at most while the line is passed, and POLLERR when the group is gone.
class PressureTrigger {
 public:
  // `file`: a pressure file, opened to read and write, which the trigger keeps: a file has one trigger.
  // kUnsupported: pressure is switched off; kInvalid: the window or the stall is out of range; kDenied: without
  // CAP_SYS_RESOURCE a window is a multiple of 2 s.
  static Result<PressureTrigger> arm(Fd file, const PressureLimit&, const Place&);
  int fd() const { return fd_.get(); }

 private:
  explicit PressureTrigger(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace tidemark::linux
