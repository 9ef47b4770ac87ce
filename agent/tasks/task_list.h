// All tasks of the node at one instant, and for each group exactly one owner.
//
//   what a task owns   its group, less the groups of owners that lie in it
//   the system's       what is used on the node, less what all owners use
//
// Who owns what several name, tested one by one:
//
//   the same group           a pod before a copilot's task before a host application; then one that is confirmed; then
//                            the provider listed first
//   a host application in    a pod's, a copilot's: theirs, since they are limited and evicted as a whole
//   a copilot's task in      a pod (YARN's containers in the NodeManager's): its own, the rest is the pod's; but not
//   the
//                            pod's containers themselves, which are what lies directly in its group
//                            a host application (`hadoop-yarn`): its own, the rest is the application's
//                            kubepods-besteffort, or anywhere else: its own
//   what has a pod in it     is nobody's but the kubelet's
//
// Whoever reports a host application as the peer does (all of its group) adds what lies in it: `above` says what.
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

// One task in one group, for as long as both are listed: what holds files open for it keeps them by this. Slots are
// small numbers, given again with another turn.
struct TaskHandle {
  std::uint32_t slot = 0;
  std::uint32_t turn = 0;
  bool operator==(const TaskHandle&) const = default;
};

struct ListedTask {
  TaskHandle handle;
  TaskPointer task;
  // Where in the list its group's nearest owner above stands, always before it; nullopt: none, or it has no group.
  std::optional<std::size_t> above;
  bool unconfirmed = false;  // its source tells of it no more, and its group is there (agent/tasks/provider.h)
};

enum class Refusal : std::uint8_t {
  kSameGroup,      // another task's
  kInsideTask,     // a host application in a pod or in a copilot's task
  kPodsContainer,  // a copilot names a container of a pod
  kHoldsPod,       // a group with a pod in it
};
std::string_view to_string(Refusal);

// A claim that does not count: the task is not in the list, what it uses is its owner's.
struct RefusedTask {
  TaskPointer task;
  Refusal why = Refusal::kSameGroup;
  TaskPointer owner;  // against whom
};

struct TaskSnapshot {
  std::uint64_t change = 0;
  std::vector<ListedTask> tasks;  // by path, those without a group first
  std::vector<RefusedTask> refused;
  struct Source {
    std::string name;
    Standing standing = Standing::kWaiting;
    std::optional<base::MonotonicTime> confirmed;  // when this snapshot was made
    std::size_t tasks = 0;
  };
  std::vector<Source> sources;  // in the order of the providers

  const ListedTask* find(TaskHandle) const;  // null: it is not listed any more
};

class TaskList {
 public:
  // Of two providers that name the same, the first counts. They outlive the list.
  explicit TaskList(std::vector<const TaskProvider*> providers);

  std::span<const TaskProvider* const> providers() const { return providers_; }

  // What all providers say now. The same snapshot as long as none says anything else, and then nothing is allocated.
  const std::shared_ptr<const TaskSnapshot>& snapshot();

 private:
  TaskHandle new_handle();
  void make();

  std::vector<const TaskProvider*> providers_;
  std::vector<std::uint64_t> seen_;  // the change of each
  std::shared_ptr<const TaskSnapshot> snapshot_;

  struct Held {
    TaskHandle handle;
    std::uint64_t listed = 0;  // the last snapshot that it is in
  };
  std::unordered_map<std::string, Held> held_;
  std::vector<std::uint32_t> turns_;       // of each slot
  std::vector<std::uint32_t> free_slots_;  // the lowest last
};

// "a/b" and "a/b/c" of "a/b"; not "a/bc". The root (empty) has everything in it.
bool in_group(std::string_view path, std::string_view group);

}  // namespace tidemark::agent
