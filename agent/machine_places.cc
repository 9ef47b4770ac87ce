#include "agent/machine_places.h"

#include <cstddef>

#include "linux/kernel_files.h"

namespace tidemark::agent {
namespace {

// A node has several mounts for each container; a layered one takes kilobytes.
constexpr std::size_t kMountsBytesMax = 32 * 1024 * 1024;

}  // namespace

Result<linux::Hierarchies> see_groups(const MachinePlaces& places) {
  linux::Buffer buffer(kMountsBytesMax);
  TM_TRY(const auto mounts, linux::read_path(places.proc_root + "/self/mountinfo", buffer));
  return linux::Hierarchies::discover(places.cgroup_root, mounts.value_or(""));
}

void declare_machine_flags(base::Flags& flags, MachinePlaces& places) {
  flags.text("cgroup-root", places.cgroup_root, "mount point of the machine's cgroups").placeholder("DIR");
  flags.text("proc-root", places.proc_root, "the machine's /proc").placeholder("DIR");
  flags
      .text("run-dir", places.run_dir,
            "directory in memory (tmpfs) for the restore journal; the same for the agent and "
            "`tidemark off --local`")
      .placeholder("DIR");
  flags
      .text("latch-file", places.latch_file,
            "latch file that keeps the machine off after a reboot (`tidemark off --local`)")
      .placeholder("FILE");
}

}  // namespace tidemark::agent
