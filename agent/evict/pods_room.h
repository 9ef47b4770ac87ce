// What is left of the limit of memory that all pods have together. A kubelet that keeps something of its node back for
// the system (kubeReserved, systemReserved) gives the group of its pods one: the node's memory less that. It evicts
// where little of it is left, as where little of the node's is (its signal allocatableMemory.available), and whatever
// lies in that group takes of it, tasks of copilots too.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "model/resources.h"

namespace tidemark::agent {

class PodsRoom {
 public:
  explicit PodsRoom(const linux::Hierarchies& hierarchies) : hierarchies_(hierarchies) {}

  // Limit − working set, as the kubelet counts; at least 0. nullopt: that group has no limit, or is not there.
  Result<std::optional<model::MemoryBytes>> look(const std::string& group);

 private:
  Result<bool> hold(const std::string& group);  // false: it is not there
  Result<std::optional<model::MemoryBytes>> left();

  const linux::Hierarchies& hierarchies_;
  std::optional<linux::Group> group_;
  linux::Buffer buffer_;
};

}  // namespace tidemark::agent
