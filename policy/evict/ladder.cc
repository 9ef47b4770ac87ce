#include "policy/evict/ladder.h"

#include <algorithm>

#include "policy/evict/budget/budget.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::policy::evict {
namespace {

using base::Duration;
using base::MonotonicTime;
using base::WallTime;
using model::Reason;

constexpr Duration kHour = std::chrono::hours(1);

// For these features the whole machine may stall, so a task that cannot be ended in a better way is killed. A kill
// frees no disk: a pod's data stays until its kubelet removes the pod.
bool saves_the_machine(EvictFeature feature) {
  return feature == EvictFeature::kBeMemory || feature == EvictFeature::kMemory ||
         feature == EvictFeature::kMemoryPressure;
}

// It waits for an answer, or no answer came so far and one may still come.
bool is_unanswered(const Leaving& one) {
  return one.stage == EvictStage::kAsked || (one.stage == EvictStage::kForbidden && one.unreachable);
}

// The time until then; bounded by `most` both ways, for any times.
Duration until(WallTime then, WallTime now, Duration most) {
  std::int64_t left = 0;
  if (__builtin_sub_overflow(then.since_epoch.count(), now.since_epoch.count(), &left)) {
    return then > now ? most : -most;
  }
  return std::clamp(Duration(left), -most, most);
}

}  // namespace

bool is_of_cpu(EvictFeature feature) {
  return feature == EvictFeature::kBeCpu || feature == EvictFeature::kCpuAllocatable || feature == EvictFeature::kCpu ||
         feature == EvictFeature::kReclaim;
}

Duration pause_after(EvictFeature feature) {
  if (feature == EvictFeature::kMemoryPressure) return kPressureEvictPause;
  if (feature == EvictFeature::kDisk) return kDiskEvictPause;
  return is_of_cpu(feature) ? kCpuEvictPause : kMemoryEvictPause;
}

bool is_on_its_way(EvictStage stage) {
  return stage == EvictStage::kAsked || stage == EvictStage::kLeaving || stage == EvictStage::kKilled;
}

Ladder::Ladder(EvictState& state, EvictPlan& plan, const EvictObservation& seen, Duration grace, MonotonicTime now,
               WallTime wall)
    : state_(state), plan_(plan), seen_(seen), grace_(grace), now_(now), wall_(wall) {}

void Ladder::look() {
  keep_time();
  name_tasks();
  for (const EvictAnswer& each : seen_.answers) {
    if (Leaving* one = find(each.task)) hear(*one, each.outcome);
  }
  std::erase_if(state_.leaving, [&](Leaving& one) {
    const auto index = task_of(one);
    const bool spared = one.stage == EvictStage::kSpared;
    if (!index || (spared ? task(*index).terminal() : !is_here(task(*index)))) {
      if (one.feature == EvictFeature::kDisk && is_on_its_way(one.stage)) await_disk();
      plan_.ended.push_back(one);
      return true;
    }
    if (const auto& ends = task(*index).deleted) end_as_told(one, *ends);
    return false;
  });
}

// The kubelet frees what a task held, and the next look at the disk shows it.
void Ladder::await_disk() {
  auto& time = not_before(EvictFeature::kDisk);
  time = std::max(time.value_or(now_), now_ + kDiskEvictPause);
}

// A clock that went back neither frees nor extends anything.
void Ladder::keep_time() {
  for (MonotonicTime& each : state_.hour) each = std::min(each, now_);
  std::erase_if(state_.hour, [&](MonotonicTime each) { return now_ - each >= kHour; });
  for (const auto feature :
       {EvictFeature::kCpu, EvictFeature::kMemory, EvictFeature::kMemoryPressure, EvictFeature::kDisk}) {
    auto& time = not_before(feature);
    if (time) time = std::min(*time, now_ + pause_after(feature));
  }
  for (Leaving& one : state_.leaving) {
    one.since = std::min(one.since, now_);
    one.deadline = std::min(one.deadline, now_ + model::kEvictGraceMax);
    if (one.counted) one.counted = std::min(*one.counted, now_);
  }
}

void Ladder::name_tasks() {
  if (state_.leaving.empty()) return;  // nearly always
  for (std::size_t i = 0; i < seen_.tasks.size(); ++i) {
    if (seen_.tasks[i].task != nullptr) by_name_.emplace_back(evict_key(task(i)), i);
  }
  std::ranges::sort(by_name_);
}

std::optional<std::size_t> Ladder::task_of(const Leaving& one) const {
  const auto [from, to] = std::ranges::equal_range(by_name_, one.task, {}, &Named::first);
  const auto here = std::find_if(from, to, [&](const Named& each) { return is_here(task(each.second)); });
  if (here != to) return here->second;
  return from == to ? std::nullopt : std::optional(from->second);
}

Leaving* Ladder::find(std::string_view name) {
  const auto at = std::ranges::lower_bound(state_.leaving, name, {}, &Leaving::task);
  return at != state_.leaving.end() && at->task == name ? &*at : nullptr;
}

std::optional<MonotonicTime>& Ladder::not_before(EvictFeature feature) {
  if (feature == EvictFeature::kMemoryPressure) return state_.pressure_not_before;
  if (feature == EvictFeature::kDisk) return state_.disk_not_before;
  return is_of_cpu(feature) ? state_.cpu_not_before : state_.memory_not_before;
}

bool& Ladder::refused_flag(EvictFeature feature) {
  if (feature == EvictFeature::kDisk) return disk_refused_;
  return is_of_cpu(feature) ? cpu_refused_ : memory_refused_;
}

bool Ladder::refused(EvictFeature feature) const {
  if (feature == EvictFeature::kDisk) return disk_refused_;
  return is_of_cpu(feature) ? cpu_refused_ : memory_refused_;
}

void Ladder::enter(Leaving& one, EvictStage stage) const {
  one.stage = stage;
  one.since = now_;
}

void Ladder::leave(Leaving& one) const {
  enter(one, EvictStage::kLeaving);
  one.unreachable = false;
  one.deadline = now_ + grace_;
}

bool Ladder::discount(Leaving& one) {
  if (!one.counted) return false;
  const auto at = std::ranges::find(state_.hour, *one.counted);
  if (at != state_.hour.end()) state_.hour.erase(at);
  one.counted.reset();
  return true;
}

// The task was not evicted, unless it was killed. The cool-down is that of the last task that did not refuse.
void Ladder::undo(Leaving& one) {
  if (one.killed || !discount(one)) return;
  auto& time = not_before(one.feature);
  if (!time) return;
  if (state_.hour.empty()) {
    time.reset();
  } else {
    time = std::min(*time, state_.hour.back() + pause_after(one.feature));
  }
}

// The task ended for another reason. Its kubelet still has to free its data on the disk: that is awaited all the same.
void Ladder::went_by_itself(Leaving& one) {
  const auto disk = state_.disk_not_before;
  undo(one);
  if (one.feature == EvictFeature::kDisk) state_.disk_not_before = disk;
}

void Ladder::refuse(Leaving& one, EvictStage stage) {
  undo(one);
  refused_flag(one.feature) = true;
  one.unreachable = false;
  enter(one, stage);
}

void Ladder::hear(Leaving& one, EvictOutcome outcome) {
  switch (outcome) {
    case EvictOutcome::kAccepted:
    case EvictOutcome::kPreempted:
      if (is_unanswered(one)) leave(one);
      break;
    case EvictOutcome::kReplaced:
      // A task was evicted: the cool-down applies, and the hour has one more.
      if (!is_unanswered(one)) break;
      one.unreachable = false;
      enter(one, EvictStage::kForbidden);
      break;
    case EvictOutcome::kGone:
      // Its provider sees it a moment later; until then it is not asked again.
      if (!is_unanswered(one)) break;
      went_by_itself(one);
      leave(one);
      break;
    case EvictOutcome::kForbidden:
      if (is_unanswered(one)) refuse(one, EvictStage::kForbidden);
      break;
    case EvictOutcome::kNever:
      if (one.stage == EvictStage::kAsked || one.stage == EvictStage::kForbidden) {
        refuse(one, EvictStage::kSpared);
      } else if (one.stage != EvictStage::kSpared) {
        enter(one, EvictStage::kSpared);
      }
      break;
    case EvictOutcome::kUnreachable:
      if (one.stage == EvictStage::kAsked) one.unreachable = true;
      break;
    case EvictOutcome::kBusy:
      if (one.stage == EvictStage::kAsked) one.busy = true;
      break;
    case EvictOutcome::kSent:
      if (one.stage == EvictStage::kAsked) one.since = now_;
      break;
  }
}

// Once per reported time, so that a later jump of the wall clock changes nothing.
void Ladder::end_as_told(Leaving& one, WallTime ends) const {
  if (is_unanswered(one)) leave(one);
  if (one.stage != EvictStage::kLeaving || one.ends == ends) return;
  one.ends = ends;
  const MonotonicTime own =
      now_ + std::min(until(ends, wall_, model::kEvictGraceMax) + kEndedLate, model::kEvictGraceMax);
  one.deadline = std::max(one.since + grace_, own);
}

void Ladder::climb(EvictSwitches above) {
  for (Leaving& one : state_.leaving) climb(one, above);
  std::erase_if(state_.leaving,
                [&](const Leaving& one) { return one.stage == EvictStage::kForbidden && now_ - one.since >= kGiveUp; });
}

// The caller repeats the request meanwhile if there was no answer, or only "later".
bool Ladder::is_waited_for(const Leaving& one) const {
  const Duration asked_for = now_ - one.since;
  if (one.busy) return asked_for < kBusyFor;
  if (one.unreachable) return asked_for < kUnreachableFor && saves_the_machine(one.feature);
  return asked_for < answered_within(one);
}

// A ResourceManager answers at the end of the grace that it gives.
Duration Ladder::answered_within(const Leaving& one) const {
  const auto index = task_of(one);
  const bool of_yarn =
      index && task(*index).kind == model::TaskKind::kCopilotTask && !task(*index).identity.attempt.empty();
  return of_yarn ? kUnanswered + grace_ : kUnanswered;
}

// If a surge makes many nodes wait, each ends only a few tasks without a decision on budgets.
// A task that is only asked has cost nothing yet.
bool Ladder::is_within_local_budget(const Leaving& one) const {
  const auto still_asked = std::ranges::count_if(state_.leaving, [&](const Leaving& each) {
    return &each != &one && each.stage == EvictStage::kAsked && each.counted;
  });
  return std::ssize(state_.hour) - still_asked <= kKillsWhileBusyPerHour;
}

void Ladder::climb(Leaving& one, EvictSwitches above) {
  const Duration in_stage = now_ - one.since;
  switch (one.stage) {
    case EvictStage::kAsked:
      if (is_waited_for(one)) break;
      one.unreachable = true;
      // It is unknown whether the request arrived: do not kill unless it is still needed.
      if (saves_the_machine(one.feature) && above.has(one.feature) && (!one.busy || is_within_local_budget(one))) {
        kill(one);
      } else {
        enter(one, EvictStage::kForbidden);
      }
      break;
    case EvictStage::kLeaving:
      if (now_ >= one.deadline) kill(one);
      break;
    case EvictStage::kKilled:
      if (one.unreachable && now_ >= one.deadline) {
        // Its kubelet may have restarted it: only a task that accepts stays away. It is asked again if needed.
        enter(one, EvictStage::kForbidden);
      } else if (in_stage >= kGiveUp) {
        enter(one, EvictStage::kSpared);
      } else if (now_ >= one.deadline) {
        kill(one);
      }
      break;
    case EvictStage::kForbidden:
    case EvictStage::kSpared:
      break;
  }
}

void Ladder::kill(Leaving& one) {
  if (one.stage != EvictStage::kKilled) enter(one, EvictStage::kKilled);
  // A task without a cgroup may start any moment.
  one.deadline = now_ + (one.killed ? std::clamp(now_ - one.since, kKillAgain, kKillAgainMax) : kKillAgain);
  const auto index = task_of(one);
  if (!index || task(*index).path.empty()) return;  // pending, without processes
  one.killed = true;
  const Reason by = one.unreachable ? Reason::kEvictUnreachable : Reason::kEvictKilled;
  plan_.orders.push_back({EvictVerb::kKill, *index, one.feature, one.reason, by, {}, 0, 0, {}});
}

bool Ladder::may_be_asked(const Leaving* known) const {
  if (known == nullptr) return true;
  return known->stage == EvictStage::kForbidden && now_ - known->since >= kForbiddenPause;
}

std::int64_t Ladder::in_hour_beside(const Leaving* known) const {
  const auto all = static_cast<std::int64_t>(state_.hour.size());
  if (known == nullptr || !known->counted) return all;
  return std::ranges::find(state_.hour, *known->counted) == state_.hour.end() ? all : all - 1;
}

void Ladder::asked(Leaving* known, std::string name, const Gap& gap, std::int64_t lost_core_seconds) {
  if (known == nullptr) {
    const auto at = std::ranges::lower_bound(state_.leaving, name, {}, &Leaving::task);
    known = &*state_.leaving.insert(at, Leaving());
    known->task = std::move(name);
    known->asked = now_;
  } else {
    discount(*known);  // a task counts as evicted only once: move its time to now
  }
  enter(*known, EvictStage::kAsked);
  known->feature = gap.feature;
  known->reason = gap.reason;
  known->unreachable = false;
  known->busy = false;
  known->counted = now_;
  known->ends.reset();
  known->lost_core_seconds = lost_core_seconds;
  state_.hour.push_back(now_);
  not_before(gap.feature) = now_ + pause_after(gap.feature);
}

bool Ladder::holds_on(const Leaving& one) const {
  return one.stage == EvictStage::kKilled && now_ - one.since >= kKilledLate;
}

bool Ladder::ends_anyway(const model::Task& task) const {
  if (!task.deleted || !is_here(task) || !protect::is_offline(task)) return false;
  const Duration left = until(*task.deleted, wall_, model::kEvictGraceMax + kEndedLate);
  return left <= grace_ && left > -kEndedLate;
}

}  // namespace tidemark::policy::evict
