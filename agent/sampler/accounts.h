// Whose use is measured: the tasks of the node, and groups that are watched beside them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/task_list.h"

namespace tidemark::agent {

struct ContainerSpec {
  std::string id;
  std::string path;
  bool operator==(const ContainerSpec&) const = default;
};

struct AccountSpec {
  TaskHandle handle;
  std::string path{};  // from the root of a hierarchy, without a slash in front; not empty
  std::vector<ContainerSpec> containers{};
  // It is taken off the node's use to find the system's. Not so: what lies in another account, which has its use in its
  // own, and groups that have tasks in them (kubepods-besteffort).
  bool counts = true;
  bool watch_containers = false;  // they and its throttling are read every second, for who scales quotas by that
  bool online = false;            // its waiting for processors is measured as well: run queue and CPI
};

// A handle for a group that is no task: tasks have none with this turn.
inline TaskHandle watched_group(std::uint32_t number) {
  return {number, 0};
}

// The tasks that have a group, and of each the containers that have one. `scaled`: whether the quota of a task's
// containers is scaled.
std::vector<AccountSpec> accounts_of(const TaskSnapshot&, const std::function<bool(const model::Task&)>& scaled);

// The nearest task that has the group in its own. null: the system's.
const ListedTask* owner_of(const TaskSnapshot&, std::string_view group);

}  // namespace tidemark::agent
