// /proc/<pid>/oom_score_adj: how soon a kernel that is out of memory ends the process; -1000 (never) … 1000 (first). A
// child begins with its parent's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

Result<std::int64_t> parse_oom_score_adj(std::string_view text);
// nullopt: the process is gone.
Result<std::optional<std::int64_t>> read_oom_score_adj(const Folder& proc, pid_t, Buffer&);

// One process, held open by its folder in /proc: reads and writes reach only that process, even if its pid is reused.
class HeldProcess {
 public:
  // nullopt: it does not exist. `proc` outlives it.
  static Result<std::optional<HeldProcess>> open(const Folder& proc, pid_t pid);

  pid_t pid() const { return pid_; }
  // nullopt of each: it has ended.
  Result<std::optional<std::int64_t>> start_ticks(Buffer&) const;
  Result<std::optional<std::int64_t>> oom_score_adj(Buffer&) const;

  // False: it has ended. kDenied: a process of another user, without CAP_DAC_OVERRIDE; or a value below the last one
  // that was set with CAP_SYS_RESOURCE, without that capability.
  Result<bool> set_oom_score_adj(std::int64_t value) const;

 private:
  HeldProcess(const Folder& proc, pid_t pid, Directory folder) : proc_(&proc), pid_(pid), folder_(std::move(folder)) {}
  Result<std::optional<std::string_view>> read(const char* name, Buffer&) const;

  const Folder* proc_;
  pid_t pid_;
  Directory folder_;
};

// Whether this process may give another one less than it has: CAP_SYS_RESOURCE in CapEff of /proc/self/status.
Result<bool> may_lower_oom_scores(const Folder& proc, Buffer&);

}  // namespace tidemark::linux
