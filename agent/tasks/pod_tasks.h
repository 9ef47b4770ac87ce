// The tasks of a provider of pods: its list, each pod with its existing group.
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

  // Sets the list. An unchanged pod keeps its pointer; a pod that was listed before and still has a group is
  // unconfirmed. `confirmed`: the time of the list.
  void set(std::vector<std::shared_ptr<const PodTask>> pods, base::MonotonicTime confirmed, base::MonotonicTime now);
  // The pod is reported as gone, even if its group still exists.
  void drop(std::string_view uid);
  // Drops pods that were unconfirmed for too long.
  void give_up(base::MonotonicTime now);
  // The list is unchanged.
  void confirm(base::MonotonicTime now);
  // The list was not confirmed: the last pods, if any, are held.
  void hold();
  // The same, because the list failed or was not credible.
  void refuse_list();

  const ProvidedTasks& provided() const { return provided_; }

 private:
  struct Held {
    std::shared_ptr<const PodTask> pod;
    linux::LivePod live;  // empty uid: no group
    TaskPointer task;
    std::optional<base::MonotonicTime> unconfirmed;  // since when
  };
  bool has_group(const Held& pod) const { return groups_.find(pod.pod->task.identity.task) != nullptr; }
  void place();
  void stand(ProviderState state);

  PodGroups& groups_;
  std::vector<Held> held_;  // by uid
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
