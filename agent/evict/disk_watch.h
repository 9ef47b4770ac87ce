// How full the node's disks are, and what offline pods hold on them. Only read if a disk threshold is set: free space
// each kDiskLook; the data of pods only while free space is less than kNearLine_percent above a threshold, each
// kHeldLook. A dedicated worker does this, since a disk may hang; then nothing is known, and no task is evicted for
// disks.
//
//   KUBELET_DIR/cpu_manager_state         is on the kubelet's disk; KUBELET_DIR if the file does not exist
//   RUNTIME_DIR                           is on the runtime's disk, which may be the same
//   POD_LOGS/NS_NAME_UID                  counts for a pod, with all its content,
//   KUBELET_DIR/pods/UID/volumes/kubernetes.io~empty-dir   as does this
//
// The runtime stores what a container writes outside volumes, without an owner: on that disk no pod is completely
// measured. If the agent sees no volumes (in a pod, unless their directory is mounted), the same holds for the
// kubelet's disk. For tasks of copilots, the copilot's value counts, on the disk of the task, which may be neither;
// such a task is never completely measured, because its writes to /tmp and logs are unknown.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/copilot_provider.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "model/disk.h"
#include "model/settings/evict_settings.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::agent {

inline constexpr base::Duration kDiskLook = std::chrono::seconds(10);
inline constexpr base::Duration kDiskGoodFor = std::chrono::seconds(45);  // includes the time to measure pods
inline constexpr base::Duration kHeldLook = std::chrono::seconds(60);
inline constexpr base::Duration kHeldGoodFor = std::chrono::minutes(3);
inline constexpr base::Duration kHeldLimit =
    std::chrono::seconds(20);  // for one round; the rest comes first in the next
inline constexpr std::int64_t kNearLine_percent = 5;

struct DiskPlaces {
  std::string kubelet_dir, runtime_dir, pod_logs;
};

// Blocks on the disk: call it on a worker.
struct DisksFound {
  model::ByDisk<std::optional<model::DiskSeen>> disks;  // no kRuntime if it is the kubelet's or does not exist
  std::uint64_t kubelet_device = 0;
  std::uint64_t runtime_device = 0;  // 0: the runtime has no disk of its own
  bool one = false;                  // both are the same disk
};
Result<DisksFound> look_at_disks(const DiskPlaces& places);

struct PodOnDisk {
  std::string ns, name, uid;
};
// Blocks too. For a pod whose names cannot be part of a path, nothing is read.
model::ByDisk<model::DiskHeld> held_by_pod(const DiskPlaces& places, const PodOnDisk& pod, const DisksFound& disks);

struct DiskSights {
  model::ByDisk<std::optional<model::DiskSeen>> disks;
  std::map<std::string, model::ByDisk<model::DiskHeld>, std::less<>>
      held;  // pods by uid, copilots' tasks by id; missing: not measured
};

class DiskWatch {
 public:
  // Reads how full the disks are; on a worker.
  using Look = std::function<Result<DisksFound>(const DiskPlaces& places)>;
  // Returns the disk usage of copilots' tasks; on the loop.
  using Copilots = std::function<std::vector<TaskOnDisks>()>;
  // Loop, files and metrics outlive it, as does what `copilots` uses; `copilots` may be empty.
  DiskWatch(net::EventLoop& loop, net::WorkerPool& files, const base::Log& log, base::Registry& metrics,
            DiskPlaces places, Copilots copilots, Look look = look_at_disks);

  // Call once per pass: starts a read if it is due. If `settings` has no disk threshold, nothing is read. If not
  // `may_act`, the data of pods is not measured.
  void observe(const model::EvictSettings& settings, const TaskSnapshot& tasks, bool may_act);

  // The current values; valid until the next observe().
  const DiskSights& sights() const { return sights_; }
  bool looking() const { return looking_; }

 private:
  struct Held {
    base::MonotonicTime at;
    model::ByDisk<model::DiskHeld> disks;
  };
  net::Task<Result<DisksFound>> ask();
  net::Task<void> look(model::EvictSettings settings, std::vector<PodOnDisk> pods);
  net::Task<void> see_what_is_held(const DisksFound& found, std::vector<PodOnDisk> pods);
  void hear_copilots(const DisksFound& found);
  void complain(const Error& error);
  void show(model::Disk disk, const std::optional<model::DiskSeen>& seen);

  net::EventLoop& loop_;
  net::WorkerPool& files_;
  base::Log log_;
  base::Registry& metrics_;
  const DiskPlaces places_;
  const Copilots copilots_;
  const Look look_at_;
  DiskSights sights_;
  std::map<std::string, Held, std::less<>> held_;  // of pods, by uid
  std::vector<std::string> of_copilots_;           // that are in the sights
  bool looking_ = false;
  std::optional<base::MonotonicTime> look_again_, looked_, held_seen_;
  std::string trouble_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
