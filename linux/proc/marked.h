// Processes that belong together without a group: each was started with a variable of one value in its environment, or
// is in the session of such a process. A container of YARN's DefaultContainerExecutor is found (CONTAINER_ID) and
// killed this way.
//
// A process that waits for the session is excluded: a NodeManager starts a script, which starts the container in its
// own session, waits, and keeps its exit code. The script has the mark too, and gets time to end with the container.
//
// A process that clears its environment is found while another one of its session is marked; one that also leaves the
// session is not found: only a group holds everything.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/kill.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

inline constexpr std::size_t kEnvironmentBytesMax = std::size_t{1} << 20;  // of a process; further ones are not read

struct MarkedProcess {
  pid_t pid = 0;
  std::int64_t start_ticks = 0;  // since the start of the machine
  std::int64_t cpu_ticks = 0;    // its own, and of its children that ended
  std::int64_t resident_pages = 0;
  bool waits = false;  // for the others, as above: nothing that it uses is the container's
};

// Value of the variable → its processes, by pid. One scan of all processes of the machine; processes that end meanwhile
// or cannot be read are left out. Process 1 and the caller are in no container.
using MarkedProcesses = std::map<std::string, std::vector<MarkedProcess>, std::less<>>;
Result<MarkedProcesses> find_marked(const Folder& proc, std::string_view variable, pid_t self, Buffer& buffer);

// Sends SIGKILL to all processes with that value, in rounds until there are none: an unseen process may have forked
// meanwhile.
Result<KillReport> kill_marked(const Folder& proc, std::string_view variable, std::string_view value, KillRim& rim);
// `signal` once to each that does not only wait and is not in `spared`.
Result<KillReport> signal_marked(const Folder& proc, std::string_view variable, std::string_view value, int signal,
                                 const std::set<pid_t>& spared, KillRim& rim);

// Parts of it, for tests and fuzzers.
struct ProcessStat {
  pid_t parent = 0;
  pid_t session = 0;
  bool ended = false;  // only its parent has not looked yet
  MarkedProcess use;   // without its pid
};
Result<ProcessStat> parse_process_stat(std::string_view stat);
// "A=1\0B=2\0": "" if there is no such name.
std::string_view variable_in(std::string_view environment, std::string_view name);

}  // namespace tidemark::linux
