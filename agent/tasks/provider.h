// Sources of tasks on this node: one interface for the kubelet, the API server, copilots and host applications. A
// provider runs on the loop of the agent and keeps its last answer; reading it does not block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/task.h"

namespace tidemark::agent {

using TaskPointer = std::shared_ptr<const model::Task>;

enum class ProviderState : std::uint8_t {
  kWaiting,  // it has not answered yet: an empty list does not mean that there are no tasks
  kCurrent,
  kHeld,     // no credible answer: these are its last tasks
  kMissing,  // for so long that its tasks are dropped: their use counts as the system's
};
std::string_view to_string(ProviderState);

// A task that its source no longer lists stays while its group exists: a daemon that has just started lists too little,
// and one that is away lists nothing. This long, and this many of one source.
inline constexpr base::Duration kUnconfirmedFor = std::chrono::minutes(2);
inline constexpr std::size_t kUnconfirmedMax = 512;

struct ProvidedTasks {
  std::uint64_t lists_refused = 0;  // so far: failed or not credible
  std::size_t refused = 0;          // of its last list: unreadable entries, or groups outside the allowed ones
  std::optional<base::MonotonicTime> confirmed;  // time of its last credible answer
  std::uint64_t change = 0;                      // changes whenever anything below changes
  ProviderState state = ProviderState::kWaiting;
  std::vector<TaskPointer> tasks;  // an unchanged task keeps its pointer
  std::size_t unconfirmed = 0;     // this many at the end of the list
};

// Converts held tasks into the provided list, unconfirmed ones last: of each its `task`, and since when it is
// `unconfirmed`. Returns whether anything changed.
template <class Held>
bool provide(const std::vector<Held>& held, ProvidedTasks& out) {
  std::vector<TaskPointer> tasks;
  tasks.reserve(held.size());
  std::size_t confirmed = 0;
  for (const bool wanted : {false, true}) {
    for (const Held& each : held) {
      if (each.unconfirmed.has_value() == wanted) tasks.push_back(each.task);
    }
    if (!wanted) confirmed = tasks.size();
  }
  const std::size_t unconfirmed = tasks.size() - confirmed;
  if (tasks == out.tasks && unconfirmed == out.unconfirmed) return false;
  out.tasks = std::move(tasks);
  out.unconfirmed = unconfirmed;
  return true;
}

class TaskProvider {
 public:
  virtual ~TaskProvider() = default;
  virtual std::string_view name() const = 0;  // for logs and metrics
  virtual const ProvidedTasks& provided() const = 0;
};

}  // namespace tidemark::agent
