// Kills all processes in a group and in all groups below it.
//
//   cgroup.kill    v2 from Linux 5.14 on, and unified/ of a hybrid machine: one write, which no fork outruns
//   by process     each is opened (pidfd), seen in the group once more, and signalled. In rounds: an unseen process may
//                  have forked meanwhile. From the second round on the group is frozen while it is signalled, so that
//                  nothing in it forks, and then always thawed: processes frozen by v1 die only then.
//
// A process that is in a group of that path in only one hierarchy counts too.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/write.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

inline constexpr int kKillRounds = 6;
inline constexpr base::Duration kKillRoundPatience = std::chrono::milliseconds(50);  // for those it signalled to end
// The last wait, for signalled processes that still exist: they free their memory, gibibytes of it on a busy machine.
inline constexpr base::Duration kKillLastPatience = std::chrono::seconds(3);
inline constexpr std::size_t kKillProcessesARound = 256;  // descriptors held at a time
// In one hierarchy. Deeper or further groups are not visited, and count as left.
inline constexpr std::size_t kKillGroupsMax = 4096;
inline constexpr int kKillDepthMax = 32;

struct KillReport {
  std::size_t killed = 0;  // processes that ended; for ask(): that were signalled
  std::size_t left = 0;    // that are there still
  bool operator==(const KillReport&) const = default;
};

class GroupKiller {
 public:
  virtual ~GroupKiller() = default;
  // `path` from the root of each hierarchy; if no hierarchy has it, no process is left. Both refuse the root, a path
  // that leads up, and a group with process 1 or the caller: then nothing is signalled. An error of kill() says which
  // processes are left and why; kDenied if they are of another pid namespace. It blocks for at most kKillRounds ×
  // kKillRoundPatience and kKillLastPatience, plus the kernel's time for its files.
  virtual Result<KillReport> kill(const std::string& path) = 0;
  // For a group that was killed and still has processes: does not wait at the end. A process stuck on a disk would
  // otherwise delay the next kill by kKillLastPatience each time.
  virtual Result<KillReport> kill_again(const std::string& path) = 0;
  // SIGTERM to each, once.
  virtual Result<KillReport> ask(const std::string& path) = 0;
};

// The interface for changes to the machine. The twin on a folder: testing/kill_folder.h.
class KillRim {
 public:
  virtual ~KillRim() = default;
  virtual GroupWriter& writer() = 0;
  virtual pid_t self() const = 0;
  // nullopt: there is no such process.
  virtual Result<std::optional<Fd>> open_process(pid_t pid) = 0;
  // False: it has ended.
  virtual Result<bool> signal(const Fd& process, int signal) = 0;
  // Waits until all have ended, at most this long; the full time if no process can be watched.
  virtual void wait(std::span<const Fd> processes, base::Duration at_most) = 0;
};

class KernelKillRim final : public KillRim {
 public:
  GroupWriter& writer() override { return writer_; }
  pid_t self() const override;
  Result<std::optional<Fd>> open_process(pid_t pid) override;
  Result<bool> signal(const Fd& process, int signal) override;
  void wait(std::span<const Fd> processes, base::Duration at_most) override;

 private:
  KernelWriter writer_;
};

// What kill() needs of a kernel: that a process can be held (pidfd_open, Linux 5.3), or that groups have cgroup.kill
// (5.14, version 2). Where there is neither, why not.
Result<void> can_kill_groups(const Hierarchies& hierarchies, KillRim& rim);

// Of any thread, one call at a time on a group.
class KernelGroupKiller final : public GroupKiller {
 public:
  // Both outlive it.
  KernelGroupKiller(const Hierarchies& hierarchies, KillRim& rim) : hierarchies_(hierarchies), rim_(rim) {}
  Result<KillReport> kill(const std::string& path) override;
  Result<KillReport> kill_again(const std::string& path) override;
  Result<KillReport> ask(const std::string& path) override { return ask(path, {}); }
  Result<KillReport> ask(const std::string& path, const std::set<pid_t>& spared);  // SIGTERM to each other, once

 private:
  const Hierarchies& hierarchies_;
  KillRim& rim_;
};

}  // namespace tidemark::linux
