// A task as eviction sees it: what it is, what it uses now, and what it would take with it.
#pragma once

#include <cstdint>
#include <optional>

#include "model/resources.h"
#include "model/task.h"
#include "policy/evict/disk.h"

namespace tidemark::policy {

struct TaskSeen {
  const model::Task* task = nullptr;         // outlives the step
  std::optional<model::CpuMilli> cpu;        // that it uses, with all in its group; nullopt: not measured
  std::optional<model::MemoryBytes> memory;  // that would be free without it
  ByDisk<DiskHeld> disks{};
  // To all disks together, since its group was made; nullopt: not measured. Cgroup v1 counts only what goes past the
  // page cache.
  std::optional<std::int64_t> written_bytes{};
  bool in_pods = true;  // it lies in the group of all pods: what it uses is of the limit that they have together
};

}  // namespace tidemark::policy
