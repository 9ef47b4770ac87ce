#include "agent/protect/host_peer.h"

#include <algorithm>
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

}  // namespace tidemark::agent
