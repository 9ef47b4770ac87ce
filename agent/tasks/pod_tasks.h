// The tasks of a provider of pods: what it lists, each with the group that is there now.
#pragma once

#include <memory>
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

  // All there are. A pod that did not change is the same pointer as before.
  void set(std::vector<std::shared_ptr<const PodTask>> pods, base::MonotonicTime now);
  // The same as before, said again.
  void confirm(base::MonotonicTime now);
  // Not said again: the last ones are held, where there were some.
  void hold();

  const ProvidedTasks& provided() const { return provided_; }

 private:
  struct Held {
    std::shared_ptr<const PodTask> pod;
    linux::LivePod live;  // no uid: none
    TaskPointer task;
  };
  void place();
  void stand(Standing standing);

  PodGroups& groups_;
  std::vector<Held> held_;  // by uid
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
