// All tasks of the node at one instant, and for each group exactly one owner.
//
//   a task owns            its group, less the groups of owners nested in it
//   the system owns        the use of the node, less the use of all owners
//
// Rules if several claim a group, each with a test:
//
//   the same group           a pod before a copilot's task before a host application; then a confirmed task; then
//                            the provider listed first
//   a host application in    a pod's, a copilot's: theirs, since they are limited and evicted as a whole
//   a copilot's task in      a pod (YARN's containers in the NodeManager's): its own, the rest is the pod's; but not
//                            the pod's containers themselves, which are directly in its group
//                            a host application (`hadoop-yarn`): its own, the rest is the application's
//                            kubepods-besteffort, or anywhere else: its own
//   a group with a pod in it belongs only to the kubelet
//
// To report a host application as Koordinator does (its whole group), add what is nested in it: see `above`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/tasks/provider.h"

namespace tidemark::agent {

// One task in one group, for as long as both are listed: files kept open for it are kept under this handle. Slots are
// small numbers, reused with another turn.
struct TaskHandle {
  std::uint32_t slot = 0;
  std::uint32_t turn = 0;
  bool operator==(const TaskHandle&) const = default;
};

struct ListedTask {
  TaskHandle handle;
  TaskPointer task;
  // Index of the owner of the nearest group above, always smaller; nullopt: none, or it has no group.
  std::optional<std::size_t> above;
  bool unconfirmed = false;  // its source no longer lists it, but its group exists (agent/tasks/provider.h)
};

enum class Refusal : std::uint8_t {
  kSameGroup,      // another task's
  kInsideTask,     // a host application in a pod or in a copilot's task
  kPodsContainer,  // a copilot names a container of a pod
  kHoldsPod,       // a group with a pod in it
};
std::string_view to_string(Refusal);

// A claim that does not count: the task is not in the list, its use is the owner's.
struct RefusedTask {
  TaskPointer task;
  Refusal why = Refusal::kSameGroup;
  TaskPointer owner;  // the owner that was preferred
};

struct TaskSnapshot {
  std::uint64_t change = 0;
  std::vector<ListedTask> tasks;  // by path, those without a group first
  std::vector<RefusedTask> refused;
  struct Source {
    std::string name;
    ProviderState state = ProviderState::kWaiting;
    std::optional<base::MonotonicTime> confirmed;  // when this snapshot was made
    std::size_t tasks = 0;
  };
  std::vector<Source> sources;  // in the order of the providers

  const ListedTask* find(TaskHandle) const;  // null: it is not listed any more
};

// A task nested in offline work is a part of it.
bool lies_in_offline(const TaskSnapshot& tasks, const ListedTask& listed);

class TaskList {
 public:
  // If two providers claim the same, the first counts. They outlive the list.
  explicit TaskList(std::vector<const TaskProvider*> providers);

  std::span<const TaskProvider* const> providers() const { return providers_; }

  // The current answers of all providers. The same snapshot while none changes; then nothing is allocated.
  const std::shared_ptr<const TaskSnapshot>& snapshot();

 private:
  TaskHandle new_handle();
  void make();

  std::vector<const TaskProvider*> providers_;
  std::vector<std::uint64_t> seen_;  // the last change of each
  std::shared_ptr<const TaskSnapshot> snapshot_;

  struct Held {
    TaskHandle handle;
    std::uint64_t listed = 0;  // the last snapshot that has it
  };
  std::unordered_map<std::string, Held> held_;
  std::vector<std::uint32_t> turns_;       // of each slot
  std::vector<std::uint32_t> free_slots_;  // the lowest last
};

// "a/b" and "a/b/c" of "a/b"; not "a/bc". The root (empty) has everything in it.
bool in_group(std::string_view path, std::string_view group);

}  // namespace tidemark::agent
