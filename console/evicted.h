// Evictions of offline work that the console saw, for counts by class and job. An evicted pod is often deleted at once,
// so what the API server still has is not enough. YARN containers have no object: agents and the yarn-operator report
// their ends on the node (model/ended_tasks.h), for minutes. The record begins when the console starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "console/projections.h"
#include "kube/objects.h"

namespace tidemark::console {

struct EvictedTask {
  std::int64_t at_s = 0;
  std::string ns, job, work_class;
  std::int64_t count = 1;  // of YARN containers that one report has together
  // Requested CPU × time from its start to its eviction; nullopt: a YARN container, of which no report has these.
  std::optional<std::int64_t> lost_core_seconds{};
};

class EvictedTasks {
 public:
  static constexpr std::size_t kKept = 10'000;  // older ones are dropped

  // A change of a pod: before and after, or null.
  void see(const Task* before, const Task* after, base::WallTime now);
  // A change of a node: before, or null, and after.
  void see(const kube::Node* before, const kube::Node& after);
  const std::deque<EvictedTask>& all() const { return all_; }  // the oldest first

 private:
  void keep(EvictedTask task);
  std::deque<EvictedTask> all_;
};

}  // namespace tidemark::console
