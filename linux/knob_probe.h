// Which files of groups this kernel takes, and which of them do something: tried on a group of our own, made below one
// that the caller names and removed again.
//
//   exists     the group has the file
//   accepted   a value was written and reads back as the same
//   effective  accepted, could be put back, and where a trial is cheap something came of it:
//     cpu.cfs_quota_us   a process that computes is throttled
//     cpu.idle           the weight shows the form of an idle group
//     cpu.bvt_warp_ns    kernel.sched_group_identity_enabled is not 0, where the kernel has that switch
//     cpuset.cpus        a process in the group may run there and nowhere else
//
// A trial that comes to no end on a busy machine proves nothing: what was accepted then counts as effective, and `why`
// says that it was not tried.
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
#include "linux/trial_process.h"

namespace tidemark::linux {

inline constexpr std::array kTriedFiles = {File::kCpuShares,   File::kCpuQuota,    File::kCpuIdle,
                                           File::kCpuBvt,      File::kCpuQosLevel, File::kCpusetCpus,
                                           File::kMemoryLimit, File::kMemoryMin,   File::kMemoryLow};

struct KnobTrial {
  File file = File::kCpuShares;
  std::optional<Version> version;  // whose form it has here; nullopt: no hierarchy carries it
  bool exists = false;
  bool accepted = false;
  bool effective = false;
  std::string why;  // what is missing, or was found instead; what of an effective one was not seen
};

struct KnobReport {
  std::vector<KnobTrial> trials;  // one for each, in the order of kTriedFiles
  std::string left;               // which groups of ours could not be removed, and why; empty: nothing is left
};

// The rim: what a probe does to the machine beside reading. The twin in a folder: testing/probe_folder.h.
class ProbeRim {
 public:
  virtual ~ProbeRim() = default;
  // Below an open directory; `place` is the group.
  virtual Result<void> make_group(int parent, const std::string& name, const Place& place) = 0;
  virtual Result<void> remove_group(int parent, const std::string& name, const Place& place) = 0;
  virtual GroupWriter& writer() = 0;
  virtual Result<SpinReport> spin(const Spin&) = 0;
};

class KernelProbeRim final : public ProbeRim {
 public:
  Result<void> make_group(int parent, const std::string& name, const Place&) override;
  Result<void> remove_group(int parent, const std::string& name, const Place&) override;
  GroupWriter& writer() override { return writer_; }
  Result<SpinReport> spin(const Spin& spin) override { return spin_in_groups(spin); }

 private:
  KernelWriter writer_;
};

// Blocks for about 60 ms: the wait for one process is nearly all of it, and ends after 100. `below` is a group's path
// from the root of each hierarchy, "" the root; of v2 it must give its controllers to those below it, or their files
// are missing. The group is called kProbePrefix, then pid and start of this process as `proc` has them: one that was
// left by a process that is no more is removed first, if it is empty.
inline constexpr std::string_view kProbePrefix = "tidemark-probe-";
Result<KnobReport> probe_knobs(const Hierarchies&, const Folder& proc, std::string_view below, ProbeRim&);

}  // namespace tidemark::linux
