// The parts with which the agent ends tasks, and their connections: the decision, the end of each task, and what is
// kept and reported of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "agent/evict/disk_watch.h"
#include "agent/evict/ending.h"
#include "agent/evict/evict_lines.h"
#include "agent/evict/evict_memory.h"
#include "agent/evict/eviction_controller.h"
#include "agent/evict/left_overs.h"
#include "agent/evict/loss_ledger.h"
#include "agent/evict/pods_room.h"
#include "agent/evict/task_ends.h"
#include "agent/evict/yarn_reclaim.h"
#include "agent/protect/protect_controller.h"
#include "agent/sampler/measured.h"
#include "agent/tasks/node_tasks.h"
#include "agent/tasks/task_list.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/kill.h"
#include "model/audit_line.h"
#include "model/resources.h"
#include "net/loop.h"
#include "policy/protect/node_rules.h"

namespace tidemark::agent {

class Evicting {
 public:
  // Other parts of the agent; they outlive it.
  struct Beside {
    const linux::Hierarchies& hierarchies;
    NodeTasks& tasks;
    ProtectController& protect;
    base::Counter& unreadable;  // kernel values that could not be read
    std::function<void(model::AuditLine)> audit;
  };
  Evicting(net::EventLoop& loop, const AgentConnections& connections, const AgentOptions& options, const base::Log& log,
           base::Registry& metrics, Beside beside);

  void start();  // until destroyed
  void use_node(const kube::Node& node);
  // `rules`: those in force; `word`: the NodeSLO has settings of Tidemark.
  void observe(const Measured& measured, const std::shared_ptr<const TaskSnapshot>& tasks,
               const policy::protect::NodeRules& rules, model::MemoryBytes node_memory, bool word);
  net::Task<void> drain(base::Duration patience);

 private:
  const std::string* group_of_pods() const;
  std::optional<model::MemoryBytes> left_to_pods(const policy::protect::ThresholdRules& rules);

  base::Log log_;
  bool report_;
  bool acts_;  // not only shows what it would do
  Beside beside_;
  linux::KernelGroupKiller killer_;
  kube::EventRecorder events_;
  LossLedger losses_;
  YarnReclaim yarn_reclaim_;
  Ending ending_;
  LeftOvers left_overs_;
  TaskEnds ends_;
  DiskWatch disks_;
  EvictMemory memory_;
  EvictLines lines_;
  PodsRoom pods_room_;
  EvictionController controller_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
