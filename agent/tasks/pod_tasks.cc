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

void PodTasks::set(std::vector<std::shared_ptr<const PodTask>> pods, base::MonotonicTime confirmed,
                   base::MonotonicTime now) {
  std::ranges::sort(pods, {}, uid);
  const auto twice = std::ranges::unique(pods, {}, uid);
  pods.erase(twice.begin(), twice.end());

  std::vector<Held> held;
  held.reserve(std::max(pods.size(), held_.size()));
  std::size_t unconfirmed = 0;
  const auto keep = [&](Held& missing) {
    if (unconfirmed == kUnconfirmedMax || !has_group(missing)) return;
    ++unconfirmed;
    if (!missing.unconfirmed) missing.unconfirmed = now;
    held.push_back(std::move(missing));
  };
  auto before = held_.begin();
  for (auto& pod : pods) {
    while (before != held_.end() && uid(before->pod) < uid(pod)) keep(*before++);
    const bool known = before != held_.end() && uid(before->pod) == uid(pod);
    if (known && before->pod == pod) {
      held.push_back(std::move(*before));
      held.back().unconfirmed.reset();
    } else {
      held.push_back({std::move(pod), {}, nullptr, std::nullopt});
    }
    if (known) ++before;
  }
  while (before != held_.end()) keep(*before++);
  held_ = std::move(held);
  give_up(now);
  place();
  confirm(confirmed);
}

void PodTasks::drop(std::string_view gone) {
  if (std::erase_if(held_, [&](const Held& each) { return uid(each.pod) == gone; }) > 0) place();
}

void PodTasks::give_up(base::MonotonicTime now) {
  const auto too_long = [&](const Held& each) {
    return each.unconfirmed && now - *each.unconfirmed >= kUnconfirmedFor;
  };
  if (std::erase_if(held_, too_long) > 0) place();
}

void PodTasks::place() {
  std::erase_if(held_, [&](const Held& each) { return each.unconfirmed && !has_group(each); });
  for (Held& each : held_) {
    const linux::LivePod* live = groups_.find(uid(each.pod));
    if (each.task != nullptr && (live == nullptr ? each.live.uid.empty() : *live == each.live)) continue;
    each.live = live == nullptr ? linux::LivePod() : *live;
    each.task = std::make_shared<const model::Task>(placed(each.pod->task, live));
  }
  if (provide(held_, provided_)) ++provided_.change;
}

void PodTasks::confirm(base::MonotonicTime now) {
  provided_.confirmed = now;
  stand(ProviderState::kCurrent);
}

void PodTasks::hold() {
  stand(provided_.confirmed ? ProviderState::kHeld : ProviderState::kWaiting);
}

void PodTasks::refuse_list() {
  ++provided_.lists_refused;
  hold();
}

void PodTasks::stand(ProviderState state) {
  if (provided_.state == state) return;
  provided_.state = state;
  ++provided_.change;
}

}  // namespace tidemark::agent
