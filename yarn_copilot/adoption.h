// Makes cgroups for containers, if the operator asked for it. Then the agent can measure and limit containers whose
// NodeManager makes none (DefaultContainerExecutor), a kill reaches processes that left their session, and no container
// is in the cgroup of its NodeManager's pod, which would end it together with the pod.
//
//   a container runs without a cgroup   one is made below the parent in every hierarchy, with the amounts from YARN as
//                                       weight and memory limit; its processes are moved until none is outside
//   it has cgroups of its NodeManager   (LinuxContainerExecutor: cpu and memory) made in the other hierarchies without
//                                       a limit of ours (not in cpuset: it goes to the cpuset of all offline work)
//   its cgroup is empty, it has ended   the cgroup is removed, also one that a previous copilot made
//
// Memory that was charged before the move stays charged to the old cgroup. The parent's own parent must exist: only a
// kubelet makes it.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/machine.h"

namespace tidemark::yarn_copilot {

class Adoption {
 public:
  // Both must outlive it. A thread of its own uses `machine`.
  Adoption(net::EventLoop& loop, Containers& containers, const Machine& machine, base::Log log,
           base::Duration interval = std::chrono::seconds(2));

  net::Task<void> run();

 private:
  net::Task<void> pass();
  void tell(const std::string& container, const Error& error);

  net::EventLoop& loop_;
  Containers& containers_;
  const Machine& machine_;
  base::Log log_;
  base::Duration interval_;
  std::set<std::string> unlisted_;
  std::set<std::string> told_;  // containers whose failure was logged
  net::WorkerPool worker_;      // must be the last member: it uses the others
};

}  // namespace tidemark::yarn_copilot
