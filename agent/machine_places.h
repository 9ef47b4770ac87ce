// Where the machine is, and where an agent on it and the commands for people on it find each other.
#pragma once

#include <string>

#include "agent/latch/latch.h"
#include "base/flags.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"

namespace tidemark::agent {

inline constexpr const char* kRunDirDefault = "/run/tidemark";

struct MachinePlaces {
  // Other folders in a container.
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string proc_root = "/proc";
  std::string run_dir = kRunDirDefault;  // on tmpfs: what stands in the kernel's files by our hand, and how we stand
  std::string latch_file{kLatchDefault};
};

// What groups the machine has; found out once.
Result<linux::Hierarchies> see_groups(const MachinePlaces& places);

void declare_machine_flags(base::Flags& flags, MachinePlaces& places);

}  // namespace tidemark::agent
