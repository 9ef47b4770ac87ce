// How full the node's disks are, and what offline pods hold on them. Looked at only where a line is drawn for disks:
// how full they are each kDiskLook; what pods hold only while less than kNearLine_percent lie between that and a line,
// each kHeldLook. All of it on a worker that does nothing else, since a disk may hang; then nothing is known, and
// nobody goes for it.
//
//   KUBELET_DIR/cpu_manager_state         lies on the kubelet's disk; KUBELET_DIR where there is no such file
//   RUNTIME_DIR                           lies on the runtime's, which may be the same one
//   POD_LOGS/NS_NAME_UID                  of a pod counts, with all in it,
//   KUBELET_DIR/pods/UID/volumes/kubernetes.io~empty-dir   and this
//
// What a container writes beside volumes is the runtime's, and nobody tells whose: on that disk no pod is wholly seen.
// Of an agent that sees no volumes (in a pod, unless their folder is mounted) the same holds for the kubelet's. Of
// tasks of copilots that counts which their copilot says, on the disk where it lies, which may be neither; none of them
// is wholly seen: what they write into /tmp or their logs nobody says.
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
#include "net/loop.h"
#include "net/worker.h"
#include "policy/evict/disk.h"
#include "policy/evict/settings.h"

namespace tidemark::agent {

inline constexpr base::Duration kDiskLook = std::chrono::seconds(10);
inline constexpr base::Duration kDiskGoodFor =
    std::chrono::seconds(45);  // with the time that seeing what is held takes
inline constexpr base::Duration kHeldLook = std::chrono::seconds(60);
inline constexpr base::Duration kHeldGoodFor = std::chrono::minutes(3);
inline constexpr base::Duration kHeldLimit = std::chrono::seconds(20);  // a round; the rest comes first in the next
inline constexpr std::int64_t kNearLine_percent = 5;

struct DiskPlaces {
  std::string kubelet_dir, runtime_dir, pod_logs;
};

// Waits for the disk: for a worker.
struct DisksFound {
  policy::ByDisk<std::optional<policy::DiskSeen>> disks;  // no kRuntime where it is the kubelet's, or none is there
  std::uint64_t kubelet_device = 0;
  std::uint64_t runtime_device = 0;  // 0: the runtime has no disk of its own
  bool one = false;                  // both are the same
};
Result<DisksFound> look_at_disks(const DiskPlaces& places);

struct PodOnDisk {
  std::string ns, name, uid;
};
// The same. Of a pod whose names are no part of a path nothing is seen.
policy::ByDisk<policy::DiskHeld> held_by_pod(const DiskPlaces& places, const PodOnDisk& pod, const DisksFound& disks);

struct DiskSights {
  policy::ByDisk<std::optional<policy::DiskSeen>> disks;
  std::map<std::string, policy::ByDisk<policy::DiskHeld>, std::less<>>
      held;  // of pods by uid, of copilots' tasks by id; who is not in it: unseen
};

class DiskWatch {
 public:
  // What is asked how full the disks are; on a worker.
  using Look = std::function<Result<DisksFound>(const DiskPlaces& places)>;
  // What copilots' tasks have on disks; on the loop.
  using Copilots = std::function<std::vector<TaskOnDisks>()>;
  // Loop, files and metrics outlive it, and what `copilots` asks, which may be empty.
  DiskWatch(net::EventLoop& loop, net::WorkerPool& files, const base::Log& log, base::Registry& metrics,
            DiskPlaces places, Copilots copilots, Look look = look_at_disks);

  // Once a pass: begins to look where it is time. `settings` without a line for disks: nothing is looked at. Nobody
  // `may_act` on it: what pods hold is not looked at.
  void observe(const policy::EvictSettings& settings, const TaskSnapshot& tasks, bool may_act);

  // What is known now; until the next call of observe().
  const DiskSights& sights() const { return sights_; }
  bool looking() const { return looking_; }

 private:
  struct Held {
    base::MonotonicTime at;
    policy::ByDisk<policy::DiskHeld> disks;
  };
  net::Task<Result<DisksFound>> ask();
  net::Task<void> look(policy::EvictSettings settings, std::vector<PodOnDisk> pods);
  net::Task<void> see_what_is_held(const DisksFound& found, std::vector<PodOnDisk> pods);
  void hear_copilots(const DisksFound& found);
  void complain(const Error& error);
  void show(policy::Disk disk, const std::optional<policy::DiskSeen>& seen);

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
