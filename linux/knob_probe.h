// Which files of groups this kernel accepts, and which have an effect: tested on two groups of our own, created below a
// group that the caller names and removed again.
//
//   exists     the group has the file
//   accepted   a value was written and reads back as the same
//   effective  accepted, could be restored, and, if a test is cheap, had an effect:
//     cpu.shares         of two processes that compete for one CPU, the one with the least weight gets less: the groups
//                        are siblings, so other load on that CPU does not change the ratio
//     cpu.cfs_quota_us   a process that computes is throttled
//     cpu.idle           the weight shows the form of an idle group
//     cpu.bvt_warp_ns    kernel.sched_group_identity_enabled is not 0, where the kernel has that switch
//     cpuset.cpus        a process in the group may run there and nowhere else
//     memory.limit       a process that grows meets the limit (memory.events, v1: failcnt); its pages can be reclaimed,
//                        so the kernel kills nothing and logs nothing
//
// A trial that cannot finish on a busy machine, or without permission to move a process, decides nothing: an accepted
// file then counts as effective, and `why` has the observation.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/write.h"
#include "linux/kernel_files.h"
#include "linux/probe_group.h"
#include "linux/trial_process.h"

namespace tidemark::linux {

inline constexpr std::array kTriedFiles = {File::kCpuShares,   File::kCpuQuota,    File::kCpuIdle,
                                           File::kCpuBvt,      File::kCpuQosLevel, File::kCpusetCpus,
                                           File::kMemoryLimit, File::kMemoryMin,   File::kMemoryLow};

struct KnobTrial {
  File file = File::kCpuShares;
  std::optional<Version> version;  // its form here; nullopt: no hierarchy has it
  bool exists = false;
  bool accepted = false;
  bool effective = false;
  std::string why;  // what is missing or was found instead; if effective, why its trial decided nothing
};

struct KnobReport {
  std::vector<KnobTrial> trials;  // one for each, in the order of kTriedFiles
  std::string left;               // which groups of ours could not be removed, and why; empty: nothing is left
};

// The interface for changes to the machine. The twin on a folder: testing/probe_folder.h.
class ProbeRim {
 public:
  virtual ~ProbeRim() = default;
  // Below an open directory; `place` is the group.
  virtual Result<void> make_group(int parent, const std::string& name, const Place& place) = 0;
  virtual Result<void> remove_group(int parent, const std::string& name, const Place& place) = 0;
  virtual GroupWriter& writer() = 0;
  virtual Result<SpinReport> spin(const Spin&) = 0;
  virtual Result<RaceReport> race(const Race&) = 0;
  virtual Result<FillReport> fill(const Fill&) = 0;
};

class KernelProbeRim final : public ProbeRim {
 public:
  Result<void> make_group(int parent, const std::string& name, const Place&) override;
  Result<void> remove_group(int parent, const std::string& name, const Place&) override;
  GroupWriter& writer() override { return writer_; }
  Result<SpinReport> spin(const Spin& spin) override { return spin_in_groups(spin); }
  Result<RaceReport> race(const Race& race) override { return race_in_groups(race); }
  Result<FillReport> fill(const Fill& fill) override { return fill_in_group(fill); }

 private:
  KernelWriter writer_;
};

// Blocks while processes run: 20 ms for a weight, 40 for a quota, a few for a limit of memory, and on a machine that is
// busy until each is late. `below` is a group's path from the root of each hierarchy, "" the root; of v2 it must give
// its controllers to those below it, or their files are missing.
Result<KnobReport> probe_knobs(const Hierarchies&, const Folder& proc, std::string_view below, ProbeRim&);

}  // namespace tidemark::linux
