#include "console/evicted.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "model/ended_tasks.h"

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
  task.lost_core_seconds = 0;
  if (after->started_s != 0) {
    const std::int64_t ran_s = std::max<std::int64_t>(0, task.at_s - std::int64_t{after->started_s});
    task.lost_core_seconds = static_cast<std::int64_t>(static_cast<__int128>(after->request.cpu.value) * ran_s / 1000);
  }
  keep(std::move(task));
}

void EvictedTasks::see(const kube::Node* before, const kube::Node& after) {
  for (const std::string_view key : {model::kEndedTasksAnnotation, model::kYarnPreemptedAnnotation}) {
    const kube::Text* text = after.meta.annotations.find(key);
    const kube::Text* old = before == nullptr ? nullptr : before->meta.annotations.find(key);
    if (text == nullptr || (old != nullptr && old->view() == text->view())) continue;
    const auto ends = model::parse_ended_tasks(text->view());
    const auto read = old == nullptr ? Result<std::vector<model::EndedTasks>>() : model::parse_ended_tasks(old->view());
    if (!ends) continue;
    for (const model::EndedTasks& each : *ends) {
      if (each.evicted == 0 || (read && !read->empty() && each.at <= read->back().at)) continue;
      const auto at_s = std::chrono::floor<std::chrono::seconds>(each.at.since_epoch).count();
      keep({at_s, "", each.job, each.work_class, each.evicted, std::nullopt});
    }
  }
}

void EvictedTasks::keep(EvictedTask task) {
  all_.push_back(std::move(task));
  if (all_.size() > kKept) all_.pop_front();
}

}  // namespace tidemark::console
