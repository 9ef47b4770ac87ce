// Follows the kernel's log and logs each incident with the task that it concerns and with the last action of the agent.
// Without that log, kills are taken from the counters of cgroups.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/record/last_action.h"
#include "agent/record/recorder.h"
#include "agent/sampler/kernel_events.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "linux/cgroup/hierarchies.h"
#include "model/audit_line.h"
#include "model/node_record.h"

namespace tidemark::agent {

class KernelIncidents {
 public:
  KernelIncidents(const base::Clock& clock, const base::Log& log, base::Registry& metrics)
      : clock_(clock), log_(log), metrics_(metrics) {}

  // If the log cannot be read, it is not followed.
  void open(const std::string& path, const linux::Hierarchies& hierarchies);
  // Reads the log if it is due. The recorder gets each event.
  void follow(const TaskSnapshot& tasks, Recorder& recorder);
  void tell_kills(const model::NodeRecord& line);
  void acted(const model::AuditLine& line) { last_action_.take(line, clock_.monotonic()); }

 private:
  base::Counter& incidents(std::string_view kind);

  const base::Clock& clock_;
  base::Log log_;
  base::Registry& metrics_;
  LastAction last_action_;
  std::optional<KernelEvents> kernel_;
  base::MonotonicTime read_at_;  // earliest time of the next read
};

}  // namespace tidemark::agent
