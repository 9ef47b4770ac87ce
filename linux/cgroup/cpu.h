// CPU time and throttling of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/group.h"
#include "linux/cpu_set.h"

namespace tidemark::linux {

// Since the group was made; with all groups below it.
Result<std::int64_t> parse_cpu_usage_ns(std::string_view text, Version);
Result<std::optional<std::int64_t>> read_cpu_usage_ns(const Group&, Buffer&);

struct CpuThrottling {
  std::int64_t periods = 0;            // periods of a group with a quota in which it ran
  std::int64_t throttled_periods = 0;  // of these, with the quota used up
  std::int64_t throttled_ns = 0;       // summed over processors
};
Result<CpuThrottling> parse_cpu_throttling(std::string_view text, Version);
Result<std::optional<CpuThrottling>> read_cpu_throttling(const Group&, Buffer&);

// kCpusetCpus: the content of the file (v1: empty until filled; v2: empty means the parent's). kCpusetCpusEffective:
// the CPUs that the group may use. kCpusetMems: NUMA nodes, in the same form.
Result<std::optional<CpuSet>> read_cpuset(const Group&, File, Buffer&);

}  // namespace tidemark::linux
