// /proc/meminfo: memory of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct MemoryInfo {  // bytes
  std::int64_t total = 0;
  std::int64_t available = 0;  // what could be had without swapping: free, and most of what can be reclaimed
  std::optional<std::int64_t> free, buffers, cached, dirty, reclaimable_slab, swap_total, swap_free, hugepages_total;
  std::optional<std::int64_t> anonymous, swap_cached, inactive_file;

  // As the triggers of eviction and the report count it: total − available.
  std::int64_t used() const { return total - available; }
  // The working set as a kubelet counts it and evicts by it: the usage of the root group less inactive_file. It
  // includes recently read files, which are available anyway.
  //
  //   version 1     usage = anonymous pages + the page cache (the kernel's count of the root group)
  //   version 2     the root group has no count of its own: by the kubelet's version it is that sum or total − free, of
  //                 which the larger one is taken here
  //
  // nullopt: the kernel lacks one of these.
  std::optional<std::int64_t> working_set(Version memory_groups) const;
};

Result<MemoryInfo> parse_memory_info(std::string_view text);
Result<MemoryInfo> read_memory_info(const Folder& proc, Buffer&);

// "MemTotal:       24684084 kB" with the name and colon already off: bytes. Also for files of NUMA nodes.
std::optional<std::int64_t> parse_kib_as_bytes(std::string_view rest);

}  // namespace tidemark::linux
