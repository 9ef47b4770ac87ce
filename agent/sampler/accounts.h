// The accounts to measure: the tasks of the node.
#pragma once

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
  std::string path{};  // from the root of a hierarchy, without a leading slash; not empty
  std::vector<ContainerSpec> containers{};
  // Whether it is subtracted from the node's use to get the system's. False for what is nested in another account, and
  // for groups that contain tasks (kubepods-besteffort).
  bool counts = true;
  bool online = false;  // its wait for CPUs is measured as well: run queue and CPI
};

// The tasks with a group, and their containers with a group.
std::vector<AccountSpec> accounts_of(const TaskSnapshot&);

// The innermost task whose group contains the group. null: the system's.
const ListedTask* owner_of(const TaskSnapshot&, std::string_view group);

}  // namespace tidemark::agent
