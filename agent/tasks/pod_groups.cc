#include "agent/tasks/pod_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemark::agent {

PodGroups::PodGroups(net::EventLoop& loop, const linux::Hierarchies& hierarchies, base::Log log, PodGroupsConfig config)
    : loop_(loop),
      hierarchies_(hierarchies),
      log_(std::move(log)),
      config_(std::move(config)),
      hierarchy_(watched_hierarchy(hierarchies)),
      woken_(loop),
      watch_(loop, hierarchies, log_, [this] { woken_.set(); }),
      looks_(config_.looks_per_second, config_.looks_burst) {
  if (config_.driver) kubepods_.emplace(*config_.driver, config_.kubelet_root);
}

net::Task<void> PodGroups::run() {
  for (;;) {
    woken_.clear();
    if (auto looked = look(); !looked) log_.warn("cannot read the cgroups of pods", {{"error", looked.error()}});
    if (!co_await woken_.wait_for(config_.interval)) continue;
    const auto wait = looks_.reserve(loop_.clock().monotonic(), config_.interval);
    co_await loop_.sleep(wait.value_or(config_.interval));
  }
}

Result<void> PodGroups::look() {
  // Groups created after the walk and before the watch are not reported: then walk again.
  constexpr int kWalksMax = 3;
  for (int walks = 1;; ++walks) {
    auto walked = walk();
    current_ = walked.has_value();
    if (!watch_all() || !walked || walks == kWalksMax) return walked;
  }
}

Result<void> PodGroups::detect() {
  // The driver is known once there are pods; without pods a kubelet may restart with another driver.
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

// Watches the levels for pods, and each pod for its containers.
bool PodGroups::watch_all() {
  if (!kubepods_) return false;
  std::vector<std::string> groups;
  groups.reserve(std::size(linux::kKubeQosLevels) + pods_.size());
  for (const auto level : linux::kKubeQosLevels) groups.push_back(kubepods_->qos_path(level));
  for (const linux::LivePod& pod : pods_) groups.push_back(pod.path);
  return watch_.set(groups);
}

}  // namespace tidemark::agent
