// Groups for containers, where the operator asked for it: so the agent measures and limits those whose NodeManager
// makes none (DefaultContainerExecutor), a kill reaches what has left its session, and no container is in the group of
// its NodeManager's pod, whose end is the end of all that is in it.
//
//   a container runs without a group   one is made below the parent in every hierarchy, with what YARN gave the
//                                      container as its weight and its memory limit; its processes are moved until
//                                      none is outside
//   it has groups of its NodeManager   (LinuxContainerExecutor: cpu and memory) the same in the other hierarchies, with
//                                      no limit of ours
//                                      (of cpuset none: they go to where all offline work is)
//   its group is empty, it has ended   the group goes, also one that a copilot before this one made
//
// What was in memory before the move is accounted where it was. The parent's own parent has to be there: only a kubelet
// makes that.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/machine.h"

namespace tidemark::yarn_copilot {

class Adoption {
 public:
  // Both outlive it. `machine` is used by a thread of its own.
  Adoption(net::EventLoop& loop, Containers& containers, const Machine& machine, base::Log log, base::Registry& metrics,
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
  base::Counter& adopted_;
  std::set<std::string> unlisted_;
  std::set<std::string> told_;  // of whom the log has said that it cannot be
  net::WorkerPool worker_;      // last: it uses what is above
};

}  // namespace tidemark::yarn_copilot
