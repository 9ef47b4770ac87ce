// /proc/diskstats: activity of the machine's disks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

// Since the start of the machine; disks, their partitions and stacked devices alike.
struct Disk {
  std::int32_t major = 0;
  std::int32_t minor = 0;
  std::string name;
  std::int64_t read_count = 0, read_bytes = 0, read_ms = 0;
  std::int64_t write_count = 0, write_bytes = 0, write_ms = 0;
  std::int64_t in_flight = 0;
  std::int64_t busy_ms = 0;  // with at least one request under way
};

// `out` keeps its room and that of its names.
Result<void> parse_disks(std::string_view text, std::vector<Disk>& out);
Result<void> read_disks(const Folder& proc, Buffer&, std::vector<Disk>& out);

}  // namespace tidemark::linux
