// Where work on this node comes from: one interface for the kubelet, the API server, copilots and the settings of host
// applications. A provider runs on the loop of the agent and keeps what it was told last; asking it waits for nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
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

struct ProvidedTasks {
  std::uint64_t change = 0;                      // another number whenever anything below `confirmed` is another
  std::optional<base::MonotonicTime> confirmed;  // when it last said so
  Standing standing = Standing::kWaiting;
  std::vector<TaskPointer> tasks;  // a task that did not change is the same pointer
};

class TaskProvider {
 public:
  virtual ~TaskProvider() = default;
  virtual std::string_view name() const = 0;  // for logs and metrics
  virtual const ProvidedTasks& provided() const = 0;
};

}  // namespace tidemark::agent
