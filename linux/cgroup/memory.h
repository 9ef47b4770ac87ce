// Memory of a group: its use, the kinds of memory, and its events.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/group.h"

namespace tidemark::linux {

// Bytes, with all groups below; counts where the name says so. What this kernel does not tell has no value.
struct MemoryStat {
  std::optional<std::int64_t> anon;  // v1: rss
  std::optional<std::int64_t> file;  // v1: cache
  std::optional<std::int64_t> shmem;
  std::optional<std::int64_t> mapped_file;
  std::optional<std::int64_t> dirty_file;
  std::optional<std::int64_t> writeback_file;
  std::optional<std::int64_t> inactive_anon;
  std::optional<std::int64_t> active_anon;
  std::optional<std::int64_t> inactive_file;
  std::optional<std::int64_t> active_file;
  std::optional<std::int64_t> unevictable;
  std::optional<std::int64_t> slab_reclaimable;  // v2
  std::optional<std::int64_t> fault_count;
  std::optional<std::int64_t> major_fault_count;
  std::optional<std::int64_t> refault_file_count;  // pages of files that were pushed out and wanted again
};

// An error when it has none of the lines that every kernel has: then it is no memory.stat.
Result<MemoryStat> parse_memory_stat(std::string_view text, Version);
Result<std::optional<MemoryStat>> read_memory_stat(const Group&, Buffer&);

// As the kubelet counts it, and evicts by it:  max(usage − inactive_file, 0).
std::int64_t working_set_bytes(std::int64_t usage_bytes, std::int64_t inactive_file_bytes);

// Both files read one after the other; nullopt as soon as one says that the group is gone.
struct MemoryUse {
  std::int64_t usage_bytes = 0;
  std::int64_t working_set_bytes = 0;
  MemoryStat stat;
};
Result<std::optional<MemoryUse>> read_memory_use(const Group&, Buffer&);

// Counts since the group was made. v1 knows oom_kill (in a group itself, not below it) and how often the limit was hit.
struct MemoryEvents {
  std::optional<std::int64_t> low, high, max, oom, oom_kill, oom_group_kill;
};
Result<MemoryEvents> parse_memory_events(std::string_view text, Version);
Result<std::optional<MemoryEvents>> read_memory_events(const Group&, Buffer&);

}  // namespace tidemark::linux
