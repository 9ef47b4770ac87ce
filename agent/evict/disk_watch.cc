#include "agent/evict/disk_watch.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/evict/plain_name.h"
#include "base/text.h"
#include "linux/filesystem.h"
#include "linux/kernel_files.h"
#include "policy/evict/victims.h"

namespace tidemark::agent {
namespace {

using model::ByDisk;
using model::Disk;
using model::DiskHeld;
using model::DiskSeen;

constexpr auto kKubelet = static_cast<std::size_t>(Disk::kKubelet);
constexpr auto kRuntime = static_cast<std::size_t>(Disk::kRuntime);
constexpr std::int64_t kPercent = 100;
// Tolerance between two reads of the same disk, one right after the other.
constexpr std::int64_t kSameWithin_percent = 1;

DiskSeen seen_of(const linux::FilesystemSpace& space) {
  return {space.bytes, space.bytes_free, space.inodes, space.inodes_free};
}

// A layered filesystem has its own device number, but the sizes of the filesystem below it.
bool is_same(const linux::FilesystemSpace& one, const linux::FilesystemSpace& other) {
  if (one.device == other.device) return true;
  // Inodes are not compared: a filesystem that creates them on demand (XFS) has fewer with every block used.
  return one.bytes == other.bytes &&
         std::abs(one.bytes_free - other.bytes_free) <= one.bytes / kPercent * kSameWithin_percent;
}

bool is_near(std::optional<std::int64_t> line, std::int64_t all, std::int64_t free) {
  return line && all > 0 && free / std::max<std::int64_t>(all / kPercent, 1) < *line + kNearLine_percent;
}

bool is_near(const DisksFound& found, const model::EvictSettings& settings) {
  return std::ranges::any_of(found.disks, [&](const std::optional<DiskSeen>& disk) {
    return disk && (is_near(settings.disk_free_percent, disk->bytes, disk->bytes_free) ||
                    is_near(settings.inodes_free_percent, disk->inodes, disk->inodes_free));
  });
}

// Reads `folder` beneath `root`. `root` must exist, else the existence of `folder` is unknown. False: nothing was read.
bool add_folder(const std::string& root, const std::string& folder, std::uint64_t device, DiskHeld& to) {
  const auto above = linux::open_directory(root);
  if (!above || !*above) return false;
  const auto inside = linux::open_beneath((*above)->fd.get(), folder, {root, folder, {}});
  if (!inside) return false;
  if (!*inside) return true;  // it does not exist
  const linux::FolderSpace space = linux::folder_space((*inside)->fd.get(), device, {});
  to.bytes += space.bytes;
  to.inodes += space.inodes;
  return space.whole;
}

std::vector<PodOnDisk> offline_pods(const TaskSnapshot& tasks) {
  std::vector<PodOnDisk> out;
  for (const ListedTask& each : tasks.tasks) {
    const model::Task& task = *each.task;
    if (task.kind != model::TaskKind::kPod || task.terminal() || !policy::evict::is_ours_to_end(task)) continue;
    out.push_back({task.ns, task.name, task.identity.task});
  }
  return out;
}

}  // namespace

Result<DisksFound> look_at_disks(const DiskPlaces& places) {
  DisksFound out;
  TM_TRY(auto kubelet, linux::filesystem_space(places.kubelet_dir + "/cpu_manager_state"));
  if (!kubelet) {
    TM_TRY(kubelet, linux::filesystem_space(places.kubelet_dir));
  }
  if (!kubelet) return fail(ErrorKind::kNotFound, "there is no ", places.kubelet_dir, " (--kubelet-dir)");
  out.kubelet_device = kubelet->device;
  out.disks[kKubelet] = seen_of(*kubelet);
  TM_TRY(const auto runtime, linux::filesystem_space(places.runtime_dir));
  if (!runtime) return out;
  out.one = is_same(*kubelet, *runtime);
  if (out.one) return out;
  out.disks[kRuntime] = seen_of(*runtime);
  out.runtime_device = runtime->device;
  return out;
}

ByDisk<DiskHeld> held_by_pod(const DiskPlaces& places, const PodOnDisk& pod, const DisksFound& disks) {
  ByDisk<DiskHeld> out{};
  const std::string logs = base::cat(pod.ns, "_", pod.name, "_", pod.uid);
  if (!is_plain_name(pod.ns) || !is_plain_name(pod.name) || !is_plain_name(pod.uid) || !is_plain_name(logs)) return out;
  DiskHeld& held = out[kKubelet];
  const bool logs_seen = add_folder(places.pod_logs, logs, disks.kubelet_device, held);
  const bool volumes_seen = add_folder(
      places.kubelet_dir + "/pods", base::cat(pod.uid, "/volumes/kubernetes.io~empty-dir"), disks.kubelet_device, held);
  const bool writes_beside = disks.one || !disks.disks[kRuntime];
  held.whole = logs_seen && volumes_seen && !writes_beside;
  return out;
}

DiskWatch::DiskWatch(net::EventLoop& loop, net::WorkerPool& files, const base::Log& log, base::Registry& metrics,
                     DiskPlaces places, Copilots copilots, Look look)
    : loop_(loop),
      files_(files),
      log_(log),
      metrics_(metrics),
      places_(std::move(places)),
      copilots_(std::move(copilots)),
      look_at_(std::move(look)),
      scope_(loop) {}

void DiskWatch::observe(const model::EvictSettings& settings, const TaskSnapshot& tasks, bool may_act) {
  if (!settings.disk_free_percent && !settings.inodes_free_percent) {
    sights_ = {};
    held_.clear();
    if (!looking_) look_again_.reset();  // a hanging read is still reported if a threshold is set again meanwhile
    held_seen_.reset();
    return;
  }
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (looked_ && now - *looked_ > kDiskGoodFor) sights_.disks = {};
  if (held_seen_ && now - *held_seen_ > kHeldGoodFor) {
    sights_.held.clear();
    held_seen_.reset();
  }
  if (looking_ && now - *look_again_ > kDiskGoodFor) {
    complain({ErrorKind::kDeadline, "a disk does not answer"});
  }
  if (looking_ || (look_again_ && now < *look_again_)) return;
  look_again_ = now + kDiskLook;
  looking_ = true;
  scope_.spawn(look(settings, may_act ? offline_pods(tasks) : std::vector<PodOnDisk>()));
}

net::Task<void> DiskWatch::look(model::EvictSettings settings, std::vector<PodOnDisk> pods) {
  base::MonotonicTime began = loop_.clock().monotonic();
  auto found = co_await ask();
  // Before the disk is reported as short, so that all pods are measured first. Free space is read again afterwards,
  // because measuring takes time.
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (found && !pods.empty() && is_near(*found, settings) && (!held_seen_ || now - *held_seen_ >= kHeldLook)) {
    co_await see_what_is_held(*found, std::move(pods));
    hear_copilots(*found);  // the next read may take long, and eviction must not act on old values meanwhile
    began = loop_.clock().monotonic();
    found = co_await ask();
  }
  if (!found) {
    complain(found.error());
    looking_ = false;
    co_return;
  }
  trouble_.clear();
  sights_.disks = found->disks;
  looked_ = began;
  hear_copilots(*found);
  for (std::size_t i = 0; i < model::kDisks; ++i) show(static_cast<Disk>(i), sights_.disks[i]);
  looking_ = false;
}

net::Task<Result<DisksFound>> DiskWatch::ask() {
  auto found =
      co_await files_.run<Result<DisksFound>>(loop_, [look = look_at_, places = places_] { return look(places); });
  if (!found) co_return std::unexpected(found.error());
  co_return std::move(*found);
}

// Begins with unmeasured pods, then those with the oldest values: if time runs out, the next round measures the rest.
net::Task<void> DiskWatch::see_what_is_held(const DisksFound& found, std::vector<PodOnDisk> pods) {
  const base::MonotonicTime began = loop_.clock().monotonic();
  std::map<std::string, Held, std::less<>> kept;
  for (const PodOnDisk& pod : pods) {
    const auto known = held_.find(pod.uid);
    if (known != held_.end() && began - known->second.at < kHeldGoodFor) kept.insert(held_.extract(known));
  }
  held_ = std::move(kept);
  const auto seen_at = [&](const PodOnDisk& pod) {
    const auto known = held_.find(pod.uid);
    return std::pair(known == held_.end() ? base::MonotonicTime{} : known->second.at, std::string_view(pod.uid));
  };
  std::ranges::sort(pods, {}, seen_at);
  for (PodOnDisk& pod : pods) {
    const base::MonotonicTime now = loop_.clock().monotonic();
    if (now - began >= kHeldLimit) break;
    std::string uid = pod.uid;
    auto its = co_await files_.run<ByDisk<DiskHeld>>(
        loop_, [places = places_, pod = std::move(pod), found] { return held_by_pod(places, pod, found); });
    if (its) held_[std::move(uid)] = {now, *its};
  }
  sights_.held.clear();
  for (const auto& [uid, each] : held_) sights_.held.emplace(uid, each.disks);
  held_seen_ = loop_.clock().monotonic();
}

// Called each time: it is cheap, and values of ended tasks must go.
void DiskWatch::hear_copilots(const DisksFound& found) {
  for (const std::string& each : of_copilots_) sights_.held.erase(each);
  of_copilots_.clear();
  if (!copilots_) return;
  for (TaskOnDisks& each : copilots_()) {
    ByDisk<DiskHeld> its{};
    for (const copilot::HeldOnDisk& part : each.held) {
      const bool kubelets = part.device == found.kubelet_device;
      if (!kubelets && (found.runtime_device == 0 || part.device != found.runtime_device)) continue;
      DiskHeld& held = its[kubelets ? kKubelet : kRuntime];
      held.bytes += part.bytes;
      held.inodes += part.inodes;
    }
    sights_.held.insert_or_assign(each.task, its);
    of_copilots_.push_back(std::move(each.task));
  }
}

void DiskWatch::complain(const Error& error) {
  if (trouble_ == error.message) return;
  trouble_ = error.message;
  log_.warn("cannot read the node's disks; they cause no eviction", {{"error", error.message}});
}

void DiskWatch::show(Disk disk, const std::optional<DiskSeen>& seen) {
  if (!seen) return;
  const std::string_view component = disk == Disk::kKubelet ? "kubelet" : "runtime";
  const auto tell = [&](std::string_view name, std::string_view help, std::int64_t free, std::int64_t all) {
    if (all <= 0) return;
    metrics_.gauge(name, help, {{"component", component}}).set(static_cast<double>(free) / static_cast<double>(all));
  };
  tell("tidemark_agent_disk_free_ratio", "Free part of a disk that has an eviction threshold.", seen->bytes_free,
       seen->bytes);
  tell("tidemark_agent_disk_inodes_free_ratio", "Free part of its inodes.", seen->inodes_free, seen->inodes);
}

}  // namespace tidemark::agent
