// A container on this machine: a cgroup below the one of all YARN containers (LinuxContainerExecutor), or only
// processes, known by environment and session (DefaultContainerExecutor). Reads and sends signals, decides nothing.
// Calls read kernel files without waiting; functions that end containers belong on a worker thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/kill.h"
#include "linux/cgroup/write.h"
#include "linux/kernel_files.h"
#include "linux/proc/marked.h"
#include "model/quantity.h"
#include "model/resources.h"

namespace tidemark::yarn_copilot {

inline constexpr std::string_view kContainerVariable = "CONTAINER_ID";
inline constexpr std::string_view kWaitingGroup = "waiting";  // below the cgroup of all containers

struct Use {
  std::int64_t processes = 0;
  // Since it started; without a cgroup: of its current processes. nullopt: no cgroup in the hierarchy that counts this.
  std::optional<std::int64_t> cpu_ns;
  std::optional<std::int64_t> memory_bytes;  // working set; without a cgroup: resident memory of its processes
  std::optional<base::BootTime> began;       // of its oldest process
  bool operator==(const Use&) const = default;
};

// Limits in force of a container's cgroup. nullopt: none.
struct Limits {
  std::optional<model::CpuMilli> cpu;
  std::optional<model::MemoryBytes> memory;
  bool operator==(const Limits&) const = default;
};

enum class EndedBy : std::uint8_t { kNone, kGroup, kProcesses };
std::string_view to_string(EndedBy);

class Machine {
 public:
  // `others`: the remaining hierarchies, from which nothing is read. All of them, `proc` and `rim` must outlive it.
  // `parent`: cgroup of all containers, relative to the root of a hierarchy. `adopts`: cgroups are made after their
  // containers. `one_of_disks`: in a v1 hierarchy with only the disk controller all of them are in `parent` itself,
  // because its limit does not apply below it.
  Machine(const linux::Hierarchies& hierarchies, const linux::Hierarchies& others, const linux::Folder& proc,
          linux::KillRim& rim, std::string parent, bool adopts, bool one_of_disks = false);

  const std::string& parent() const { return parent_; }
  std::string group_of(std::string_view id) const;  // existing or not
  bool has_group(std::string_view id) const;

  // All containers without a cgroup, from one pass over every process of the machine.
  Result<linux::MarkedProcesses> marked();
  // nullopt: its cgroup does not exist.
  Result<std::optional<Use>> use_of_group(std::string_view id);
  Use use_of(const std::vector<linux::MarkedProcess>& processes) const;

  // Limits of its cgroup. kNotFound: it has none. An unset limit stays unchanged.
  Result<Limits> limits(std::string_view id);
  Result<Limits> set_limits(std::string_view id, const Limits& wanted);

  // Kills everything in its cgroup or with its name. kNotFound: there is nothing.
  struct Ended {
    EndedBy by = EndedBy::kNone;
    linux::KillReport report;
  };
  Result<Ended> kill(const std::string& id) const;
  // SIGTERM to each, once, except to a shell that only waits for the command of the container.
  Result<Ended> ask(const std::string& id) const;

  // Containers that have a cgroup in any hierarchy.
  std::vector<std::string> groups() const;
  // Moves all of it into its cgroup in every hierarchy, until nothing of it is elsewhere. If its NodeManager made no
  // cgroup: all processes with its name, with `holds` as weight and limit; otherwise the processes in one of its
  // cgroups. Exception: in a cpuset-only hierarchy it goes to the parent of the parent, whose CPUs could otherwise not
  // be reduced. A process that waits for its exit code goes to a separate cgroup. So what ends the NodeManager's own
  // cgroup, such as the end of its pod, ends none of them. Returns how many processes were moved.
  Result<std::size_t> adopt(const std::string& id, model::Resources holds) const;
  // Removes its cgroup if it is empty.
  Result<void> remove_empty(const std::string& id) const;
  // The same for the cgroup of waiting processes.
  Result<void> remove_waiting() const;

 private:
  Result<Ended> end(const std::string& id, bool ask) const;
  Result<void> give(const std::string& id, model::Resources holds, linux::Buffer& buffer) const;
  Result<void> make(const std::string& group) const;
  bool is_shared(const linux::Hierarchy& one) const;
  std::vector<std::string> process_files(const std::string& group) const;
  Result<std::set<pid_t>> waiting_shells_of(const std::string& id) const;
  std::string_view above_parent() const;
  Result<void> remove_if_empty(const std::string& group) const;
  Result<std::set<pid_t>> strays_of(const std::string& id, linux::Buffer& buffer) const;
  Result<std::size_t> gather(const std::string& group, const std::set<pid_t>& processes, linux::Buffer& buffer) const;
  std::set<pid_t> waiting_for(const std::string& id, const std::set<pid_t>& processes, linux::Buffer& buffer) const;

  const linux::Hierarchies& hierarchies_;
  const linux::Hierarchies& others_;
  const linux::Folder& proc_;
  linux::KillRim& rim_;
  std::string parent_;
  bool adopts_;
  linux::Controllers shared_;  // hierarchies with only these have no cgroup for each container
  linux::Buffer buffer_;
};

}  // namespace tidemark::yarn_copilot
