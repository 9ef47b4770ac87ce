// The processes of a group.
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

// The processes (or threads: File::kThreads) in the group itself, not below it. `out` is cleared first. False: the
// group is gone. Processes of another pid namespace, which read as 0, are left out.
Result<void> parse_processes(std::string_view text, std::vector<pid_t>& out);
std::size_t foreign_processes(std::string_view text);  // how many that are
Result<bool> read_processes(const Group&, File, Buffer&, std::vector<pid_t>& out);

}  // namespace tidemark::linux
