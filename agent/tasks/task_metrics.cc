#include "agent/tasks/task_metrics.h"

#include <chrono>

namespace tidemark::agent {

TaskMetrics::TaskMetrics(base::Registry& metrics, std::span<const TaskProvider* const> providers)
    : metrics_(metrics),
      claims_refused_(metrics.gauge("tidemark_agent_task_claims_refused",
                                    "Tasks that do not count because their group has another owner.")) {
  for (const TaskProvider* each : providers) {
    const auto tasks = [&](std::string_view how) {
      return &metrics.gauge("tidemark_agent_tasks", "Tasks by provider and state: listed or unconfirmed.",
                            {{"component", each->name()}, {"reason", how}});
    };
    sources_.push_back(
        {each, tasks("listed"), tasks("unconfirmed"),
         &metrics.gauge("tidemark_agent_tasks_refused", "Entries of its last list that do not count.",
                        {{"component", each->name()}}),
         &metrics.counter("tidemark_agent_task_lists_refused_total", "Lists of tasks that failed or were not credible.",
                          {{"component", each->name()}})});
  }
}

void TaskMetrics::show(std::size_t claims_refused, base::MonotonicTime now) {
  claims_refused_.set(static_cast<double>(claims_refused));
  for (Source& each : sources_) {
    const ProvidedTasks& provided = each.provider->provided();
    each.listed->set(static_cast<double>(provided.tasks.size() - provided.unconfirmed));
    each.unconfirmed->set(static_cast<double>(provided.unconfirmed));
    each.refused->set(static_cast<double>(provided.refused));
    each.lists_refused->add(provided.lists_refused - each.lists_refused->value());
    if (!provided.confirmed) continue;
    if (each.age == nullptr) {
      each.age = &metrics_.gauge("tidemark_agent_task_list_age_seconds", "Time since the last accepted list.",
                                 {{"component", each.provider->name()}});
    }
    each.age->set(std::chrono::duration<double>(now - *provided.confirmed).count());
  }
}

}  // namespace tidemark::agent
