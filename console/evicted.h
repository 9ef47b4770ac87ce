// Evictions of offline pods that the console saw, for counts by class and job. An evicted pod is often deleted at once,
// so what the API server still has is not enough. The record begins when the console starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/clock.h"
#include "console/projections.h"

namespace tidemark::console {

struct EvictedTask {
  std::int64_t at_s = 0;
  std::string ns, job, work_class;
  std::int64_t lost_core_seconds = 0;  // requested CPU × time from its start to its eviction
};

class EvictedTasks {
 public:
  static constexpr std::size_t kKept = 10'000;  // older ones are dropped

  // A change of a pod: before and after, or null.
  void see(const Task* before, const Task* after, base::WallTime now);
  const std::deque<EvictedTask>& all() const { return all_; }  // the oldest first

 private:
  std::deque<EvictedTask> all_;
};

}  // namespace tidemark::console
