// Moves the tasks that were asked to end through the ladder of evict.h for one step. It does not choose new victims. It
// writes to the state and the plan of the step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/task.h"
#include "policy/evict/evict.h"

namespace tidemark::policy::evict {

// CPU features, and Reclaim, which shares their cool-down.
bool is_of_cpu(EvictFeature feature);
base::Duration pause_after(EvictFeature feature);

// What it uses will be free soon.
bool is_on_its_way(EvictStage stage);

class Ladder {
 public:
  Ladder(EvictState& state, EvictPlan& plan, const EvictObservation& seen, base::Duration grace,
         base::MonotonicTime now, base::WallTime wall);

  // Handles elapsed time, answers and ended tasks.
  void look();
  // Handles what is due: kills, and expired waits. `above`: the features above their line now.
  void climb(EvictSwitches above);

  // A task was refused in this step: another one is asked at once.
  bool refused(EvictFeature feature) const;
  std::optional<base::MonotonicTime>& not_before(EvictFeature feature);
  Leaving* find(std::string_view name);
  // Of several with one name, the one that still exists. nullopt: it is not listed.
  std::optional<std::size_t> task_of(const Leaving& one) const;
  bool may_be_asked(const Leaving* known) const;
  // Evictions of the last hour, without the one of this task.
  std::int64_t in_hour_beside(const Leaving* known) const;
  // `known`: found by that name.
  void asked(Leaving* known, std::string name, const Gap& gap, std::int64_t lost_core_seconds);
  // It was killed so long ago that what it uses will not be free soon.
  bool holds_on(const Leaving& one) const;
  // It ends no later than a task asked now, whatever ends it.
  bool ends_anyway(const model::Task& task) const;

 private:
  void await_disk();
  void keep_time();
  void name_tasks();
  void hear(Leaving& one, EvictOutcome outcome);
  void enter(Leaving& one, EvictStage stage) const;
  void leave(Leaving& one) const;
  bool discount(Leaving& one);
  void undo(Leaving& one);
  void went_by_itself(Leaving& one);
  void refuse(Leaving& one, EvictStage stage);
  void end_as_told(Leaving& one, base::WallTime ends) const;
  void climb(Leaving& one, EvictSwitches above);
  bool is_waited_for(const Leaving& one) const;
  base::Duration answered_within(const Leaving& one) const;
  bool is_within_local_budget(const Leaving& one) const;
  void kill(Leaving& one);
  const model::Task& task(std::size_t index) const { return *seen_.tasks[index].task; }
  bool& refused_flag(EvictFeature feature);

  using Named = std::pair<std::string, std::size_t>;

  EvictState& state_;
  EvictPlan& plan_;
  const EvictObservation& seen_;
  const base::Duration grace_;
  const base::MonotonicTime now_;
  const base::WallTime wall_;
  std::vector<Named> by_name_;  // of all tasks, while any is leaving
  bool cpu_refused_ = false;
  bool memory_refused_ = false;
  bool disk_refused_ = false;
};

}  // namespace tidemark::policy::evict
