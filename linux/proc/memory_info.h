// /proc/meminfo: memory of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

struct MemoryInfo {  // bytes
  std::int64_t total = 0;
  std::int64_t available = 0;  // what could be had without swapping: free, and most of what can be reclaimed
  std::optional<std::int64_t> free, buffers, cached, dirty, reclaimable_slab, swap_total, swap_free, hugepages_total;

  // As the triggers of eviction and the report count it: total − available.
  std::int64_t used() const { return total - available; }
};

Result<MemoryInfo> parse_memory_info(std::string_view text);
Result<MemoryInfo> read_memory_info(const Folder& proc, Buffer&);

// "MemTotal:       24684084 kB" with the name and colon already off: bytes. Also for files of NUMA nodes.
std::optional<std::int64_t> parse_kib_as_bytes(std::string_view rest);

}  // namespace tidemark::linux
