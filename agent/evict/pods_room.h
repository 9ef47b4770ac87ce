// The memory left below the common limit of all pods. A kubelet that reserves memory for the system (kubeReserved,
// systemReserved) limits the group of its pods to the rest. It evicts if little of that is left (its signal
// allocatableMemory.available), as it does for the node's memory. Everything in that group counts, tasks of copilots
// too.
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

  // Limit − working set, as the kubelet counts; at least 0. nullopt: the group has no limit, or does not exist.
  Result<std::optional<model::MemoryBytes>> look(const std::string& group);

 private:
  Result<bool> hold(const std::string& group);  // false: it does not exist
  Result<std::optional<model::MemoryBytes>> left();

  const linux::Hierarchies& hierarchies_;
  std::optional<linux::Group> group_;
  linux::Buffer buffer_;
};

}  // namespace tidemark::agent
