// Finds Koordinator's agent as a process of the machine, outside pods (policy/state/peer.h). It sees the pid namespace
// of `proc_root`: all processes on the machine and in a pod with hostPID, else none.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace tidemark::agent {

// nullopt: there is none. The lowest pid of several.
Result<std::optional<pid_t>> find_host_peer(const std::string& proc_root);

}  // namespace tidemark::agent
