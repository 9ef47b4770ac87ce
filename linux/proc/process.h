// /proc/<pid>: what of a process an agent asks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

// Of the process's first thread, since it began.
struct RunQueue {
  std::int64_t ran_ns = 0;
  std::int64_t waited_ns = 0;  // ready to run, and no processor free for it
  std::int64_t times_run = 0;
};
Result<RunQueue> parse_schedstat(std::string_view text);
// nullopt: the process is gone.
Result<std::optional<RunQueue>> read_schedstat(const Folder& proc, pid_t, Buffer&);

// When it began, in ticks since the start of the machine: pid and this together name a process for good.
Result<std::int64_t> parse_start_ticks(std::string_view stat);
Result<std::optional<std::int64_t>> read_start_ticks(const Folder& proc, pid_t, Buffer&);

// /proc/<pid>/status: the owner of the process.
struct ProcessOwner {
  std::int64_t uid = 0;  // that its rights go by, as this user namespace numbers it
  bool ended = false;    // only its parent has not looked yet
  bool nested = false;   // it is in a nested pid namespace, as in most containers
};
Result<ProcessOwner> parse_process_owner(std::string_view status);
Result<std::optional<ProcessOwner>> read_process_owner(const Folder& proc, pid_t, Buffer&);

// /proc/<pid>/status: whether the process catches or ignores that signal, which would otherwise end it.
Result<bool> parse_handles(std::string_view status, int signal);
Result<std::optional<bool>> read_handles(const Folder& proc, pid_t, int signal, Buffer&);

// Pids of processes whose program has this name (the kernel keeps 15 letters), except the caller. Scans all processes
// of the machine, some ten microseconds each.
Result<std::vector<pid_t>> find_named(const Folder& proc, std::string_view name, Buffer& buffer);

}  // namespace tidemark::linux
