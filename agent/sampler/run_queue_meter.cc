#include "agent/sampler/run_queue_meter.h"

#include <algorithm>
#include <utility>

#include "linux/cgroup/processes.h"
#include "linux/proc/process.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kBookedLate = std::chrono::milliseconds(20);

}  // namespace

void RunQueueMeter::begin() {
  now_.clear();
  left_out_ = 0;
}

void RunQueueMeter::add(const Pass& pass, const linux::Folder& proc, const linux::Group& group) {
  const auto there = linux::read_processes(group, linux::File::kProcesses, pass.buffer, pass.processes);
  if (!there) pass.note(there.error());
  if (!there || !*there) return;
  for (const pid_t pid : pass.processes) {
    if (now_.size() == kProcessesMax) {
      ++left_out_;
      continue;
    }
    const auto read = linux::read_schedstat(proc, pid, pass.buffer);
    if (!read) pass.note(read.error());
    if (read && *read) now_.push_back({pid, (*read)->ran_ns, (*read)->waited_ns});
  }
}

void RunQueueMeter::finish(const Pass& pass, Sample<RunQueueUse>& out) {
  const auto at = pass.clock.monotonic();
  std::ranges::sort(now_, {}, &Seen::pid);
  if (read_at_ && at > *read_at_) {
    RunQueueUse use;
    use.left_out = left_out_;
    const base::Duration over = at - *read_at_;
    const std::int64_t most = (over + kBookedLate).count();
    for (auto before = before_.begin(); const Seen& now : now_) {
      while (before != before_.end() && before->pid < now.pid) ++before;
      if (before == before_.end()) break;
      const std::int64_t ran = now.ran_ns - before->ran_ns, waited = now.waited_ns - before->waited_ns;
      // A thread cannot run longer than the elapsed time; else the pid was reused.
      if (before->pid != now.pid || ran < 0 || waited < 0 || ran > most) continue;
      use.ran_ns += ran;
      // A wait is counted when it ends, including its part before the last reading.
      const std::int64_t within = std::min(waited, most - ran);
      use.waited_ns += within;
      use.worst_waited_ns = std::max(use.worst_waited_ns, within);
      ++use.processes;
    }
    out.put(use, pass.report.at, over);
  } else {
    out.fail(pass.report.at, Validity::kNotYet);
  }
  read_at_ = at;
  std::swap(before_, now_);
}

}  // namespace tidemark::agent
