// How fast a group may read from and write to a disk, in bytes a second.
//
//   v1   blkio.throttle.read_bps_device, …write…   limits the processes of the group itself: each child group has its
//                                                  own limit. Writes through the page cache are not limited.
//   v2   io.max                                    limits the group with all below it, including its page cache
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct IoLimit {  // nullopt: none
  std::optional<std::int64_t> read_bytes_s;
  std::optional<std::int64_t> write_bytes_s;
  bool operator==(const IoLimit&) const = default;
};

struct DiskNumber {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string text() const;  // "8:16"
  auto operator<=>(const DiskNumber&) const = default;
};

// The whole disk on which a folder is: a kernel takes no limit for a partition. kUnsupported: not a block device
// (network, memory, layered). `sys_root`: /sys.
Result<DiskNumber> disk_of(const std::string& folder, const std::string& sys_root, Buffer&);

// `group`: its folder. kUnsupported: it, or the file, is not there.
Result<IoLimit> read_io_limit(const std::string& group, Version, DiskNumber, Buffer&);
Result<void> write_io_limit(const std::string& group, Version, DiskNumber, const IoLimit&);

// What that file says of one disk.
Result<std::optional<std::int64_t>> parse_throttle_v1(std::string_view text, DiskNumber);
Result<IoLimit> parse_io_max(std::string_view text, DiskNumber);

}  // namespace tidemark::linux
