// Disk reads and writes of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/group.h"

namespace tidemark::linux {

// Counted since the group was made, with all groups below it; per device, where stacked devices (a volume and the disk
// under it) count the same bytes each.
struct DeviceIo {
  std::int32_t major = 0;
  std::int32_t minor = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
  std::optional<std::int64_t> read_count;
  std::optional<std::int64_t> write_count;
  std::optional<std::int64_t> discard_bytes;
};

// `out` is cleared first and keeps its room, so that a pass allocates nothing once it has seen every device.
Result<void> parse_io_v2(std::string_view text, std::vector<DeviceIo>& out);
// Either file of v1: bytes first, which makes the devices; then the counts of operations, which only adds to them.
Result<void> parse_io_bytes_v1(std::string_view text, std::vector<DeviceIo>& out);
Result<void> parse_io_counts_v1(std::string_view text, std::vector<DeviceIo>& out);

// False: the group is gone.
Result<bool> read_io(const Group&, Buffer&, std::vector<DeviceIo>& out);

}  // namespace tidemark::linux
