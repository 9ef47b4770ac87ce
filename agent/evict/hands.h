// Interface to end a task: by its API server, its copilot, or finally the kernel. The real implementation is ending.h.
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
  // Asks its owner to end the task within `grace`, after which it is killed; a pod's own grace period takes precedence.
  // `why` is in the audit. `itself`: its scheduler must not end another one instead. The task may go while it is asked.
  virtual net::Task<policy::evict::EvictOutcome> ask(const model::Task& task, model::Reason why, base::Duration grace,
                                                     bool itself) = 0;
  // Kills its whole group, if it has one. Does not block the loop.
  virtual net::Task<Result<linux::KillReport>> kill(const model::Task& task, model::Reason why) = 0;
};

}  // namespace tidemark::agent
