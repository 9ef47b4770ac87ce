// Small facts of the machine: which start of it this is, and how much waits to run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct Load {
  // Hundredths of tasks that run or wait for a disk, averaged over 1, 5 and 15 minutes.
  std::int64_t minute1_centi = 0, minutes5_centi = 0, minutes15_centi = 0;
  std::int64_t running = 0;  // threads that run or are ready to, now
  std::int64_t threads = 0;
};
Result<Load> parse_load(std::string_view text);
Result<Load> read_load(const Folder& proc, Buffer&);

// Differs after each boot of the machine: then kernel settings from before are gone.
Result<std::string> parse_boot_id(std::string_view text);
Result<std::string> read_boot_id(const Folder& proc, Buffer&);

}  // namespace tidemark::linux
