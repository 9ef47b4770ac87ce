// The processes of a group: their number, its limit, and their pids.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/group.h"

namespace tidemark::linux {

struct Pids {
  std::int64_t count = 0;                     // processes and threads, with all groups below
  std::int64_t limit = 0;                     // kUnlimited: none
  std::optional<std::int64_t> refused_count;  // forks that the limit refused
};
Result<std::optional<Pids>> read_pids(const Group&, Buffer&);

// The processes (or threads: File::kThreads) in the group itself, not below it. `out` is cleared first. False: the
// group is gone. Processes of another pid namespace, which read as 0, are left out.
Result<void> parse_processes(std::string_view text, std::vector<pid_t>& out);
std::size_t foreign_processes(std::string_view text);  // how many that are
Result<bool> read_processes(const Group&, File, Buffer&, std::vector<pid_t>& out);

}  // namespace tidemark::linux
