// What a container is on this machine: a group below the one that all of YARN's are in (LinuxContainerExecutor), or
// only processes, known by their environment and session (DefaultContainerExecutor). Reads and signals, decides
// nothing. Calls read the kernel's files and do not wait; the ends do, and are for a worker's thread.
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
inline constexpr std::string_view kWaitingGroup = "waiting";  // below the group of all containers

struct Use {
  std::int64_t processes = 0;
  // Since it began; without a group: of the processes that are there. nullopt: its NodeManager made it no group where
  // this is counted.
  std::optional<std::int64_t> cpu_ns;
  std::optional<std::int64_t> memory_bytes;  // its working set; without a group: what its processes have resident
  std::optional<base::BootTime> began;       // of its oldest process
  bool operator==(const Use&) const = default;
};

// What is in force of a container's group. nullopt: none.
struct Limits {
  std::optional<model::CpuMilli> cpu;
  std::optional<model::MemoryBytes> memory;
  bool operator==(const Limits&) const = default;
};

enum class EndedBy : std::uint8_t { kNobody, kGroup, kProcesses };
std::string_view to_string(EndedBy);

class Machine {
 public:
  // `others`: the hierarchies beside those, which nothing is read from. All of them, `proc` and `rim` outlive it.
  // `parent`: the group of all containers, from the root of a hierarchy. `adopts`: groups are made later than their
  // containers. `one_of_disks`: in a hierarchy of v1 of disks alone they are all in `parent` itself, which has no limit
  // for what is below it.
  Machine(const linux::Hierarchies& hierarchies, const linux::Hierarchies& others, const linux::Folder& proc,
          linux::KillRim& rim, std::string parent, bool adopts, bool one_of_disks = false);

  const std::string& parent() const { return parent_; }
  std::string group_of(std::string_view id) const;  // whether or not it is there
  bool has_group(std::string_view id) const;

  // All of those without a group: one look at every process of the machine.
  Result<linux::MarkedProcesses> marked();
  // nullopt: its group is gone, or was never there.
  Result<std::optional<Use>> use_of_group(std::string_view id);
  Use use_of(const std::vector<linux::MarkedProcess>& processes) const;

  // Of its group. kNotFound: it has none. What is not said is left as it is.
  Result<Limits> limits(std::string_view id);
  Result<Limits> set_limits(std::string_view id, const Limits& wanted);

  // Everything that is in its group, or carries its name. kNotFound: there is nobody.
  struct Ended {
    EndedBy by = EndedBy::kNobody;
    linux::KillReport report;
  };
  Result<Ended> kill(const std::string& id) const;
  Result<Ended> ask(const std::string& id) const;  // SIGTERM to each, once

  // Containers that have a group in any hierarchy.
  std::vector<std::string> groups() const;
  // All of it in its group in every hierarchy (but one of cpuset alone: there among all that is below the parent's own
  // parent, whose processors could not be made fewer while a group below has them), until nothing of it is elsewhere:
  // of a container whose NodeManager made it none, what carries its name, with `holds` as weight and limit; of one with
  // groups, what is in one of them. Who waits for it to keep its exit code goes to a group that is nobody's. So what
  // ends the NodeManager's own group, as the end of its pod does, ends none of them. Answers how many processes were
  // moved.
  Result<std::size_t> adopt(const std::string& id, model::Resources holds) const;
  // Its group, where nobody is in it.
  Result<void> remove_empty(const std::string& id) const;
  // The same of the group of those who wait.
  Result<void> remove_waiting() const;

 private:
  Result<Ended> end(const std::string& id, bool ask) const;
  Result<void> give(const std::string& id, model::Resources holds, linux::Buffer& buffer) const;
  Result<void> make(const std::string& group) const;
  bool is_shared(const linux::Hierarchy& one) const;
  std::vector<std::string> process_files(const std::string& group) const;
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
  linux::Controllers shared_;  // hierarchies of these alone have no group for each
  linux::Buffer buffer_;
};

}  // namespace tidemark::yarn_copilot
