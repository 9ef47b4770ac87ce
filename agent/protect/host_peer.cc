#include "agent/protect/host_peer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "linux/kernel_files.h"
#include "linux/proc/process.h"
#include "policy/state/peer.h"

namespace tidemark::agent {

Result<std::optional<pid_t>> find_host_peer(const std::string& proc_root) {
  TM_TRY(const auto proc, linux::Folder::open(proc_root));
  linux::Buffer buffer;
  TM_TRY(auto named, linux::find_named(proc, policy::state::kPeersContainer, buffer));
  std::ranges::sort(named);
  for (const pid_t pid : named) {
    TM_TRY(const auto owner, linux::read_process_owner(proc, pid, buffer));
    if (owner && policy::state::is_peers_agent({owner->uid, owner->ended, owner->nested})) return pid;
  }
  return std::nullopt;
}

PeerWatch::PeerWatch(std::string proc_root, std::string peers_namespace, base::Log log)
    : proc_root_(std::move(proc_root)), peers_namespace_(std::move(peers_namespace)), log_(std::move(log)) {}

void PeerWatch::look(const TaskSnapshot& tasks, base::MonotonicTime now) {
  const bool in_pod = std::ranges::any_of(tasks.tasks, [&](const ListedTask& each) {
    return policy::state::runs_peers_agent(*each.task, peers_namespace_);
  });
  if (finds_process(now) || in_pod) seen_ = now;
  present_ = seen_ && now - *seen_ < policy::state::kPeerStays;
}

bool PeerWatch::finds_process(base::MonotonicTime now) {
  if (looked_at_processes_ && now - *looked_at_processes_ < policy::state::kPeerLook) return false;
  looked_at_processes_ = now;
  const auto found = find_host_peer(proc_root_);
  if (!found) {
    log_.warn("cannot find out whether Koordinator's agent runs outside pods", {{"error", found.error().message}});
    return false;
  }
  if (*found && *found != process_) {
    log_.warn("Koordinator's agent runs outside pods", {{"process", static_cast<std::int64_t>(**found)}});
  }
  process_ = *found;
  return found->has_value();
}

}  // namespace tidemark::agent
