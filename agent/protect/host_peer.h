// Koordinator's agent as a process of the machine, beside the pods (policy/stance/peer.h). Of the machine is seen what
// lies in the pid namespace of `proc_root`: all of it on the machine and in a pod with hostPID, else nothing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace tidemark::agent {

// nullopt: there is none. The first by its number, of several.
Result<std::optional<pid_t>> find_host_peer(const std::string& proc_root);

}  // namespace tidemark::agent
