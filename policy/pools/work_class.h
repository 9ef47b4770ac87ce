// The timeliness classes of offline work.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace tidemark::policy {

// A timeliness class of offline work, the value of `tidemark.io/class`.
struct WorkClass {
  std::string name;
  std::int64_t order = 0;               // the lowest is reclaimed first
  base::Duration restart_cost{0};       // work that a restart throws away
  bool checkpointing = false;           // then a restart costs no more than the time since the last checkpoint
  std::int64_t cpu_weight = 100;        // against other classes; as cgroup v2's cpu.weight
  std::int64_t memory_low_percent = 0;  // of a task's memory request that is reclaimed after other offline work's
  bool operator==(const WorkClass&) const = default;
};

}  // namespace tidemark::policy
