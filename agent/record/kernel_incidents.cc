#include "agent/record/kernel_incidents.h"

#include <utility>

#include "base/text.h"
#include "linux/kmsg.h"

namespace tidemark::agent {

void KernelIncidents::open(const std::string& path, const linux::Hierarchies& hierarchies) {
  auto opened = KernelEvents::open(path, linux::KernelLog::From::kNow, hierarchies);
  if (!opened) return log_.info("cannot follow the kernel's log", {{"why", opened.error().message}});
  kernel_.emplace(std::move(*opened));
}

void KernelIncidents::follow(const TaskSnapshot& tasks, Recorder& recorder) {
  const base::MonotonicTime now = clock_.monotonic();
  if (!kernel_ || now < read_at_) return;
  read_at_ = now + kernel_->interval();
  if (const auto read = kernel_->read(tasks); !read) {
    log_.warn("cannot read the kernel's log", {{"error", read.error().message}});
    return;
  }
  for (const KernelEvent& event : kernel_->take()) {
    recorder.observe(event, tasks);
    const ListedTask* owner = event.owner ? tasks.find(*event.owner) : nullptr;
    log_.warn("the kernel says", {{"what", linux::to_string(event.kind)},
                                  {"process", event.task},
                                  {"group", event.group},
                                  {"task", owner == nullptr ? "" : base::cat(owner->task->ns, "/", owner->task->name)},
                                  {"our_last_action", last_action_.text(clock_.monotonic())}});
    incidents(linux::to_string(event.kind)).add();
  }
}

// The kernel's log reports each kill with its process; counters of groups would report it again.
void KernelIncidents::tell_kills(const model::NodeRecord& line) {
  if (kernel_) return;
  for (const model::TaskRecord& task : line.tasks) {
    if (task.oom_kills == 0) continue;
    log_.warn("the kernel ended processes for want of memory",
              {{"task", base::cat(task.ns, "/", task.name)},
               {"kills", task.oom_kills},
               {"our_last_action", last_action_.text(clock_.monotonic())}});
    incidents(linux::to_string(linux::KernelIncidentKind::kOomKill)).add(static_cast<double>(task.oom_kills));
  }
}

base::Counter& KernelIncidents::incidents(std::string_view kind) {
  return metrics_.counter("tidemark_agent_kernel_incidents_total",
                          "Incidents in the kernel's log, by kind; without a log, kills counted by cgroups.",
                          {{"reason", kind}});
}

}  // namespace tidemark::agent
