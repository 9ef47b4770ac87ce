#include "agent/sampler/kernel_events.h"

#include <algorithm>
#include <utility>

#include "agent/sampler/accounts.h"

namespace tidemark::agent {
namespace {

using Kind = linux::KernelIncidentKind;

// The kernel logs the choice of a victim, then its kill; at most the lines of other kills lie between them.
constexpr std::size_t kLinesBetween = 16;

}  // namespace

Result<KernelEvents> KernelEvents::open(const std::string& path, linux::KernelLog::From from,
                                        const linux::Hierarchies& hierarchies) {
  TM_TRY(auto log, linux::KernelLog::open(path, from));
  const auto memory = hierarchies.of(linux::Controller::kMemory);
  std::string mount_root = memory ? hierarchies.all()[*memory].mount_root : "/";
  // In a container with a cgroup namespace, host mounts have a root above the namespace ("/../..").
  if (!mount_root.starts_with('/') || mount_root.starts_with("/..")) mount_root = "/";
  return KernelEvents(std::move(log), std::move(mount_root));
}

Result<bool> KernelEvents::read(const TaskSnapshot& tasks) {
  for (int looked = 0; looked < kMessagesMax; ++looked) {
    TM_TRY(const auto message, log_.next());
    if (!message) return true;
    const auto incident = linux::classify_kernel_message(message->text);
    if (!incident) continue;
    ++counts_[static_cast<std::size_t>(incident->kind)];
    if (completes_a_kill(*incident)) continue;
    if (events_.size() == kEventsMax) {
      events_.erase(events_.begin());
      ++dropped_;
    }
    KernelEvent& event = events_.emplace_back();
    event.kind = incident->kind;
    event.since_boot_us = message->since_boot_us;
    event.pid = incident->pid;
    event.task = incident->task;
    event.group = incident->group;
    event.limit_group = incident->limit_group;
    event.owner = owner(tasks, incident->group);
    event.limit_owner = owner(tasks, incident->limit_group);
    event.anon_bytes = incident->anon_bytes;
    event.cpu = incident->cpu;
    event.seconds = incident->seconds;
  }
  return false;
}

// The second line about a kill has its amount of memory.
bool KernelEvents::completes_a_kill(const linux::KernelIncident& incident) {
  if (incident.kind != Kind::kOomKilled || !incident.pid) return false;
  const std::size_t end = events_.size() > kLinesBetween ? events_.size() - kLinesBetween : 0;
  for (std::size_t at = events_.size(); at > end; --at) {
    KernelEvent& event = events_[at - 1];
    if (event.kind != Kind::kOomKill || event.pid != incident.pid || event.anon_bytes) continue;
    event.anon_bytes = incident.anon_bytes;
    return true;
  }
  return false;
}

std::optional<TaskHandle> KernelEvents::owner(const TaskSnapshot& tasks, std::string_view group) const {
  if (group.starts_with('/')) group.remove_prefix(1);
  const std::string_view root = std::string_view(mount_root_).substr(1);
  if (!root.empty()) {
    if (!in_group(group, root)) return std::nullopt;
    group.remove_prefix(std::min(root.size() + 1, group.size()));
  }
  if (group.empty()) return std::nullopt;
  const ListedTask* found = owner_of(tasks, group);
  return found ? std::optional(found->handle) : std::nullopt;
}

std::vector<KernelEvent> KernelEvents::take() {
  return std::exchange(events_, {});
}

}  // namespace tidemark::agent
