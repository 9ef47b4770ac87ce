// The tasks of a provider of pods: what it lists, each with the group that is there now.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/tasks/pod_groups.h"
#include "agent/tasks/pod_task.h"
#include "agent/tasks/provider.h"

namespace tidemark::agent {

inline constexpr std::size_t kPodsMax = 2048;  // of a node

class PodTasks {
 public:
  // Both live as long as the loop runs.
  explicit PodTasks(PodGroups& groups);
  PodTasks(const PodTasks&) = delete;
  PodTasks& operator=(const PodTasks&) = delete;

  // All that are listed. A pod that did not change is the same pointer as before; one that was listed before and has a
  // group is unconfirmed. `confirmed`: when they were listed.
  void set(std::vector<std::shared_ptr<const PodTask>> pods, base::MonotonicTime confirmed, base::MonotonicTime now);
  // It is told to be gone, whatever is left of its group.
  void drop(std::string_view uid);
  // Those that were unconfirmed for too long.
  void give_up(base::MonotonicTime now);
  // The same as before, said again.
  void confirm(base::MonotonicTime now);
  // Not said again: the last ones are held, where there were some.
  void hold();
  // The same, because of a list that could not be had or not be believed.
  void refuse_list();

  const ProvidedTasks& provided() const { return provided_; }

 private:
  struct Held {
    std::shared_ptr<const PodTask> pod;
    linux::LivePod live;  // no uid: none
    TaskPointer task;
    std::optional<base::MonotonicTime> unconfirmed;  // since when
  };
  bool has_group(const Held& pod) const { return groups_.find(pod.pod->task.identity.task) != nullptr; }
  void place();
  void stand(Standing standing);

  PodGroups& groups_;
  std::vector<Held> held_;  // by uid
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
