// Who can end a task: its API server, its copilot, in the end the kernel. A rim: ending.h is the real one.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/kill.h"
#include "model/reason.h"
#include "model/task.h"
#include "net/task.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {

class EvictionHands {
 public:
  virtual ~EvictionHands() = default;
  // Tells whoever runs it that it is to end, and that it has `grace` until it is killed; a pod's own grace period
  // stands above that. `why` is in the audit. `itself`: its scheduler may not end another one for it. The task may go
  // while it is asked.
  virtual net::Task<policy::EvictOutcome> ask(const model::Task& task, model::Reason why, base::Duration grace,
                                              bool itself) = 0;
  // All of its group, where it has one. It never waits on the loop.
  virtual net::Task<Result<linux::KillReport>> kill(const model::Task& task, model::Reason why) = 0;
};

}  // namespace tidemark::agent
