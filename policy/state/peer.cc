#include "policy/state/peer.h"

#include <algorithm>

#include "policy/protect/limits/task_groups.h"

namespace tidemark::policy::state {

bool runs_peers_agent(const model::Task& task, std::string_view peers_namespace) {
  if (task.kind != model::TaskKind::kPod || task.ns != peers_namespace || protect::is_offline(task)) return false;
  return std::ranges::any_of(task.containers, [](const model::TaskContainer& container) {
    return container.name == kPeersContainer && container.state == model::ContainerState::kRunning;
  });
}

bool is_peers_agent(const NamedProcess& process) {
  return process.uid == 0 && !process.ended && !process.nested;
}

}  // namespace tidemark::policy::state
