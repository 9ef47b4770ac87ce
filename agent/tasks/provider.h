// Where work on this node comes from: one interface for the kubelet, the API server, copilots and the settings of host
// applications. A provider runs on the loop of the agent and keeps what it was told last; asking it waits for nothing.
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

enum class Standing : std::uint8_t {
  kWaiting,  // it has not answered yet: no tasks here does not mean that there are none
  kCurrent,
  kHeld,     // it does not answer, or not with what can be believed: these are its last tasks
  kMissing,  // for so long that its tasks are dropped: what they use counts as the system's
};
std::string_view to_string(Standing);

// A task of which its source says nothing any more stays while its group is there: a daemon that has just started tells
// of less than there is, and one that is away tells of nothing. For so long, and so many of one source.
inline constexpr base::Duration kUnconfirmedFor = std::chrono::minutes(2);
inline constexpr std::size_t kUnconfirmedMax = 512;

struct ProvidedTasks {
  std::uint64_t lists_refused = 0;  // so far: they could not be had, or not be believed
  std::size_t refused = 0;          // of its last list: what cannot be read, or lies where it may have nothing
  std::optional<base::MonotonicTime> confirmed;  // when it last said so
  std::uint64_t change = 0;                      // another number whenever anything below is another
  Standing standing = Standing::kWaiting;
  std::vector<TaskPointer> tasks;  // a task that did not change is the same pointer
  std::size_t unconfirmed = 0;     // the last so many of them
};

// What is held as it is provided, the unconfirmed behind the others: of each its `task`, and since when it is
// `unconfirmed`. Answers whether anything is another.
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
