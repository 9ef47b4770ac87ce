#include "console/evicted.h"

#include <algorithm>
#include <chrono>

namespace tidemark::console {

void EvictedTasks::see(const Task* before, const Task* after, base::WallTime now) {
  if (after == nullptr || !after->evicted) return;
  // A pod of the same name may be a new one.
  if (before != nullptr && before->evicted && before->created_s == after->created_s) return;
  EvictedTask task;
  task.at_s = after->ended_s != 0 ? std::int64_t{after->ended_s}
                                  : std::chrono::floor<std::chrono::seconds>(now.since_epoch).count();
  task.ns = after->meta.ns.view();
  task.job = after->job.view();
  task.work_class = after->work_class.view();
  if (after->started_s != 0) {
    const std::int64_t ran_s = std::max<std::int64_t>(0, task.at_s - std::int64_t{after->started_s});
    task.lost_core_seconds = static_cast<std::int64_t>(static_cast<__int128>(after->request.cpu.value) * ran_s / 1000);
  }
  all_.push_back(std::move(task));
  if (all_.size() > kKept) all_.pop_front();
}

}  // namespace tidemark::console
