// The timeliness classes of offline work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace tidemark::model {

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

inline constexpr std::size_t kClassesMax = 64;
inline constexpr std::int64_t kClassOrderMax = 1'000'000;
inline constexpr std::int64_t kClassWeightMax = 10'000;  // cgroup v2's cpu.weight
inline constexpr std::int64_t kClassMemoryLowMax = 100;  // percent of a task's request
inline constexpr base::Duration kClassRestartCostMax = std::chrono::hours(24 * 30);

}  // namespace tidemark::model
