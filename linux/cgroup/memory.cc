#include "linux/cgroup/memory.h"

#include <algorithm>

#include "base/text.h"
#include "linux/cgroup/reading.h"
#include "linux/scan.h"

namespace tidemark::linux {

Result<MemoryStat> parse_memory_stat(std::string_view text, Version version) {
  MemoryStat out;
  if (version == Version::kV1) {
    // Without "total_" they count the group alone, and a pod's processes are in the groups of its containers.
    TM_TRY_VOID(parse_fields(text, {{"total_rss", &out.anon},
                                    {"total_cache", &out.file},
                                    {"total_shmem", &out.shmem},
                                    {"total_mapped_file", &out.mapped_file},
                                    {"total_dirty", &out.dirty_file},
                                    {"total_writeback", &out.writeback_file},
                                    {"total_inactive_anon", &out.inactive_anon},
                                    {"total_active_anon", &out.active_anon},
                                    {"total_inactive_file", &out.inactive_file},
                                    {"total_active_file", &out.active_file},
                                    {"total_unevictable", &out.unevictable},
                                    {"total_pgfault", &out.fault_count},
                                    {"total_pgmajfault", &out.major_fault_count},
                                    {"total_workingset_refault_file", &out.refault_file_count}}));
  } else {
    TM_TRY_VOID(parse_fields(text, {{"anon", &out.anon},
                                    {"file", &out.file},
                                    {"shmem", &out.shmem},
                                    {"file_mapped", &out.mapped_file},
                                    {"file_dirty", &out.dirty_file},
                                    {"file_writeback", &out.writeback_file},
                                    {"inactive_anon", &out.inactive_anon},
                                    {"active_anon", &out.active_anon},
                                    {"inactive_file", &out.inactive_file},
                                    {"active_file", &out.active_file},
                                    {"unevictable", &out.unevictable},
                                    {"slab_reclaimable", &out.slab_reclaimable},
                                    {"pgfault", &out.fault_count},
                                    {"pgmajfault", &out.major_fault_count},
                                    {"workingset_refault_file", &out.refault_file_count}}));
  }
  if (!out.anon || !out.file || !out.inactive_file) {
    return fail(ErrorKind::kInvalid, "lines of anonymous, file and inactive file memory are wanted, found ",
                base::in_quotes(text));
  }
  return out;
}

Result<std::optional<MemoryStat>> read_memory_stat(const Group& group, Buffer& buffer) {
  return read_parsed(group, File::kMemoryStat, buffer,
                     [&](std::string_view text) { return parse_memory_stat(text, *group.version(File::kMemoryStat)); });
}

std::int64_t working_set_bytes(std::int64_t usage_bytes, std::int64_t inactive_file_bytes) {
  return std::max<std::int64_t>(usage_bytes - inactive_file_bytes, 0);
}

Result<std::optional<MemoryUse>> read_memory_use(const Group& group, Buffer& buffer) {
  TM_TRY(const auto usage, read_parsed(group, File::kMemoryUsage, buffer, parse_number_file));
  if (!usage) return std::nullopt;
  TM_TRY(const auto stat, read_memory_stat(group, buffer));
  if (!stat) return std::nullopt;
  return MemoryUse{*usage, working_set_bytes(*usage, *stat->inactive_file), *stat};
}

Result<MemoryEvents> parse_memory_events(std::string_view text, Version version) {
  MemoryEvents out;
  if (version == Version::kV1) {
    std::optional<std::int64_t> under_oom;
    TM_TRY_VOID(parse_fields(text, {{"under_oom", &under_oom}, {"oom_kill", &out.oom_kill}}));
    if (under_oom) return out;  // kernels before 4.13 do not count kills
  } else {
    TM_TRY_VOID(parse_fields(text, {{"low", &out.low},
                                    {"high", &out.high},
                                    {"max", &out.max},
                                    {"oom", &out.oom},
                                    {"oom_kill", &out.oom_kill},
                                    {"oom_group_kill", &out.oom_group_kill}}));
    if (out.max && out.oom_kill) return out;
  }
  return fail(ErrorKind::kInvalid, "lines of memory events are wanted, found ", base::in_quotes(text));
}

Result<std::optional<MemoryEvents>> read_memory_events(const Group& group, Buffer& buffer) {
  TM_TRY(auto events, read_parsed(group, File::kMemoryEvents, buffer, [&](std::string_view text) {
           return parse_memory_events(text, *group.version(File::kMemoryEvents));
         }));
  if (!events || group.version(File::kMemoryEvents) == Version::kV2) return events;
  TM_TRY(events->max, read_parsed(group, File::kMemoryFailures, buffer, parse_number_file));
  if (!events->max) return std::nullopt;
  return events;
}

}  // namespace tidemark::linux
