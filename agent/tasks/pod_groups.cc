#include "agent/tasks/pod_groups.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace tidemark::agent {
namespace {

// Where v1 has the pods in several hierarchies, the one whose driver the contract looks at (7.2).
std::size_t hierarchy_of_pods(const linux::Hierarchies& hierarchies) {
  for (const auto controller : {linux::Controller::kCpu, linux::Controller::kCpuacct, linux::Controller::kMemory}) {
    if (const auto found = hierarchies.of(controller)) return *found;
  }
  return 0;
}

constexpr linux::KubeQos kLevels[] = {linux::KubeQos::kGuaranteed, linux::KubeQos::kBurstable,
                                      linux::KubeQos::kBestEffort};

}  // namespace

PodGroups::PodGroups(net::EventLoop& loop, const linux::Hierarchies& hierarchies, base::Log log, PodGroupsConfig config)
    : loop_(loop),
      hierarchies_(hierarchies),
      log_(std::move(log)),
      config_(std::move(config)),
      hierarchy_(hierarchy_of_pods(hierarchies)),
      woken_(loop),
      looks_(config_.looks_per_second, config_.looks_burst) {
  if (config_.driver) kubepods_.emplace(*config_.driver, config_.kubelet_root);
  auto watch = linux::FolderWatch::open();
  if (!watch) {
    log_.warn("new groups are found by looking only", {{"error", watch.error()}});
    return;
  }
  watch_ = *std::move(watch);
  readable_ = loop_.watch(watch_->fd(), net::kReadable, [this](std::uint32_t) { take_events(); });
}

net::Task<void> PodGroups::run() {
  for (;;) {
    woken_.clear();
    if (auto looked = look(); !looked) log_.warn("groups of pods cannot be read", {{"error", looked.error()}});
    if (!co_await woken_.wait_for(config_.interval)) continue;
    const auto wait = looks_.reserve(loop_.clock().monotonic(), config_.interval);
    co_await loop_.sleep(wait.value_or(config_.interval));
  }
}

Result<void> PodGroups::look() {
  // What came after the walk and before its folder was watched is not told of: then once more.
  constexpr int kWalksMax = 3;
  for (int walks = 1;; ++walks) {
    auto walked = walk();
    current_ = walked.has_value();
    if (!watch_all() || !walked || walks == kWalksMax) return walked;
  }
}

Result<void> PodGroups::detect() {
  // With pods there the question is answered; without them a kubelet may come back as another one.
  if (config_.driver || !pods_.empty()) return {};
  const linux::Place place{hierarchies_.all()[hierarchy_].path, {}, {}};
  TM_TRY(const auto driver, linux::detect_driver(hierarchies_.directory(hierarchy_), config_.kubelet_root, place));
  if (!driver || (kubepods_ && kubepods_->driver() == *driver)) return {};
  kubepods_.emplace(*driver, config_.kubelet_root);
  log_.info("the kubelet's groups", {{"driver", linux::to_string(*driver)}});
  for (const auto& told : on_change_) told();
  return {};
}

Result<void> PodGroups::walk() {
  TM_TRY_VOID(detect());
  if (!kubepods_) return {};
  const linux::Place place{hierarchies_.all()[hierarchy_].path, {}, {}};
  TM_TRY(auto pods, linux::walk_pods(hierarchies_.directory(hierarchy_), *kubepods_, place));
  std::ranges::sort(pods, {}, &linux::LivePod::uid);
  if (pods == pods_) return {};
  const bool grown = std::ranges::any_of(pods, [this](const linux::LivePod& pod) { return find(pod.uid) == nullptr; });
  pods_ = std::move(pods);
  for (const auto& told : on_change_) told();
  if (grown) {
    for (const auto& told : on_new_pod_) told();
  }
  return {};
}

const linux::LivePod* PodGroups::find(std::string_view uid) const {
  const auto found = std::ranges::lower_bound(pods_, uid, {}, &linux::LivePod::uid);
  return found == pods_.end() || found->uid != uid ? nullptr : &*found;
}

// The levels for pods that come and go, and each pod for its containers.
bool PodGroups::watch_all() {
  if (!watch_ || !kubepods_) return false;
  bool added = false;
  const auto add = [this, &added](const std::string& path) {
    if (watched_.contains(path)) return;
    const linux::Place place{hierarchies_.all()[hierarchy_].path, path, {}};
    auto directory = linux::open_beneath(hierarchies_.directory(hierarchy_), path, place);
    if (!directory || !*directory) return;
    const auto watch = watch_->add(**directory, place);
    if (!watch) return log_.warn("a group is not watched, and looked at now and then", {{"error", watch.error()}});
    if (!*watch) return;
    watched_.emplace(path, **watch);
    added = true;
  };
  std::unordered_set<std::string_view> wanted;
  for (const auto level : kLevels) {
    add(kubepods_->qos_path(level));
    wanted.insert(kubepods_->qos_path(level));
  }
  for (const linux::LivePod& pod : pods_) {
    add(pod.path);
    wanted.insert(pod.path);
  }
  std::erase_if(watched_, [&](const auto& each) {
    if (wanted.contains(each.first)) return false;
    watch_->remove(each.second);
    return true;
  });
  return added;
}

void PodGroups::take_events() {
  for (;;) {
    const auto change = watch_->next();
    if (!change) {
      log_.warn("new groups are found by looking only", {{"error", change.error()}});
      readable_.cancel();
      watch_.reset();
      watched_.clear();
      return;
    }
    if (!*change) return;
    if ((*change)->kind == linux::FolderChangeKind::kClosed) {
      const auto closed = [&](const auto& each) { return each.second == (*change)->watch; };
      if (std::erase_if(watched_, closed) == 0) continue;  // by ourselves
    }
    woken_.set();
  }
}

}  // namespace tidemark::agent
