// Paths of the machine, through which the agent and the local commands find each other.
#pragma once

#include <string>

#include "agent/latch/latch.h"
#include "base/flags.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"

namespace tidemark::agent {

inline constexpr const char* kRunDirDefault = "/run/tidemark";

struct MachinePlaces {
  // A container uses other directories.
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string proc_root = "/proc";
  std::string run_dir = kRunDirDefault;  // on tmpfs: the restore journal and the agent's status
  std::string latch_file{kLatchDefault};
};

// Reads the machine's cgroup hierarchies, once.
Result<linux::Hierarchies> see_groups(const MachinePlaces& places);

void declare_machine_flags(base::Flags& flags, MachinePlaces& places);

}  // namespace tidemark::agent
