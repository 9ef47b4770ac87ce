// A task as eviction sees it: its identity, its current use, and what its end would free.
#pragma once

#include <cstdint>
#include <optional>

#include "model/disk.h"
#include "model/resources.h"
#include "model/task.h"

namespace tidemark::policy::evict {

struct TaskSeen {
  const model::Task* task = nullptr;         // outlives the step
  std::optional<model::CpuMilli> cpu;        // used by its whole cgroup; nullopt: not measured
  std::optional<model::MemoryBytes> memory;  // freed by its end
  model::ByDisk<model::DiskHeld> disks{};
  // To all disks together, since its cgroup was created; nullopt: not measured. Cgroup v1 counts only writes that
  // bypass the page cache.
  std::optional<std::int64_t> written_bytes{};
  bool in_pods = true;  // it is in kubepods: its use counts towards the limit of all pods
};

}  // namespace tidemark::policy::evict
