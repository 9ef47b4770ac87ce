// Finds Koordinator's agent on this machine: in a pod, or as a process outside of pods (policy/state/peer.h).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"

namespace tidemark::agent {

// A process outside of pods; the lowest pid of several. It sees the pid namespace of `proc_root`: all processes on the
// machine and in a pod with hostPID, else none.
Result<std::optional<pid_t>> find_host_peer(const std::string& proc_root);

// Whether it runs here, or ran a short time ago.
class PeerWatch {
 public:
  PeerWatch(std::string proc_root, std::string peers_namespace, base::Log log);

  void look(const TaskSnapshot& tasks, base::MonotonicTime now);
  bool is_present() const { return present_; }

 private:
  bool finds_process(base::MonotonicTime now);  // true only in the pass that found it

  std::string proc_root_;
  std::string peers_namespace_;
  base::Log log_;
  std::optional<base::MonotonicTime> looked_at_processes_;
  std::optional<pid_t> process_;             // then
  std::optional<base::MonotonicTime> seen_;  // running, for the last time
  bool present_ = false;
};

}  // namespace tidemark::agent
