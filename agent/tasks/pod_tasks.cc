#include "agent/tasks/pod_tasks.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tidemark::agent {
namespace {

std::string_view uid(const std::shared_ptr<const PodTask>& pod) {
  return pod->task.identity.task;
}

}  // namespace

PodTasks::PodTasks(PodGroups& groups) : groups_(groups) {
  provided_.change = 1;
  groups_.on_change([this] { place(); });
}

void PodTasks::set(std::vector<std::shared_ptr<const PodTask>> pods, base::MonotonicTime now) {
  std::ranges::sort(pods, {}, uid);
  const auto twice = std::ranges::unique(pods, {}, uid);
  pods.erase(twice.begin(), twice.end());

  std::vector<Held> held;
  held.reserve(pods.size());
  auto before = held_.begin();
  for (auto& pod : pods) {
    while (before != held_.end() && uid(before->pod) < uid(pod)) ++before;
    if (before != held_.end() && before->pod == pod) {
      held.push_back(std::move(*before++));
    } else {
      held.push_back({std::move(pod), {}, nullptr});
    }
  }
  held_ = std::move(held);
  place();
  confirm(now);
}

void PodTasks::place() {
  for (Held& each : held_) {
    const linux::LivePod* live = groups_.find(uid(each.pod));
    if (each.task != nullptr && (live == nullptr ? each.live.uid.empty() : *live == each.live)) continue;
    each.live = live == nullptr ? linux::LivePod() : *live;
    each.task = std::make_shared<const model::Task>(placed(each.pod->task, live));
  }
  if (std::ranges::equal(held_, provided_.tasks, {}, &Held::task)) return;
  provided_.tasks.clear();
  for (const Held& each : held_) provided_.tasks.push_back(each.task);
  ++provided_.change;
}

void PodTasks::confirm(base::MonotonicTime now) {
  provided_.confirmed = now;
  stand(Standing::kCurrent);
}

void PodTasks::hold() {
  stand(provided_.confirmed ? Standing::kHeld : Standing::kWaiting);
}

void PodTasks::stand(Standing standing) {
  if (provided_.standing == standing) return;
  provided_.standing = standing;
  ++provided_.change;
}

}  // namespace tidemark::agent
