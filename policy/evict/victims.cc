#include "policy/evict/victims.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>

#include "policy/protect/limits/task_groups.h"

namespace tidemark::policy::evict {
namespace {

using model::Task;
using model::TaskKind;

using Wide = __int128;  // no product of two amounts overflows

constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kPercent = 100;
constexpr std::int64_t kNoClass = -1;  // before every order that settings can contain
// Even a task that uses nothing costs time to start again.
constexpr model::CpuMilli kCoresLostMin{100};

// "value-with-default ≤ evictEnabledPriorityThreshold, eviction-enabled=true, Pending/Running".
bool is_marked(const Task& task, std::optional<std::int64_t> priority) {
  const bool there = task.phase == model::PodPhase::kPending || task.phase == model::PodPhase::kRunning;
  return there && task.eviction_enabled && priority && task.priority_value <= *priority;
}

bool fits_feature(const Task& task, EvictFeature feature, const protect::ThresholdRules& rules) {
  switch (feature) {
    case EvictFeature::kBeCpu:
    case EvictFeature::kBeMemory:
      return task.qos_raw == model::Qos::kBe;
    case EvictFeature::kCpu:
    case EvictFeature::kMemory:
      return is_marked(task, rules.evict_priority);
    case EvictFeature::kCpuAllocatable:
    case EvictFeature::kMemoryAllocatable:
      return is_marked(task, rules.allocatable_evict_priority) &&
             *rules.allocatable_evict_priority <= kAllocatableEvictPriorityMax;
    case EvictFeature::kMemoryPressure:
    case EvictFeature::kDisk:
    case EvictFeature::kReclaim:
      return true;
  }
  return false;
}

bool is_of_use(Measure measure) {
  return measure != Measure::kCpuRequested && measure != Measure::kMemoryRequested;
}

bool is_of_disk(Measure measure) {
  return measure == Measure::kDiskHeld || measure == Measure::kInodesHeld;
}

bool is_worth_it(std::int64_t release, std::int64_t missing) {
  return Wide{release} * kWorthPart >= missing;
}

// The part of one disk that is short.
struct Part {
  std::int64_t amount = 0;
  bool large = false;  // large enough to evict the task for it
  bool whole = false;  // nothing else is held
};
Part part_of(const TaskSeen& seen, const Gap& gap) {
  const model::DiskHeld& its = seen.disks[static_cast<std::size_t>(gap.disk)];
  const std::int64_t amount = std::max<std::int64_t>(gap.measure == Measure::kDiskHeld ? its.bytes : its.inodes, 0);
  return {amount, is_worth_it(amount, gap.amount), its.whole};
}

Sight sight_of(const TaskSeen& seen, const Gap& gap) {
  if (!is_of_disk(gap.measure)) return Sight::kSeen;
  const Part part = part_of(seen, gap);
  if (part.large) return Sight::kSeen;
  // Also for a task whose data is completely known: a directory of the machine, or a deleted file, is no volume of it.
  const bool wrote = is_worth_it(seen.written_bytes.value_or(0), gap.amount);
  if (gap.measure == Measure::kDiskHeld && wrote) return Sight::kWrote;
  return part.whole ? Sight::kSeen : Sight::kUnseen;
}

const model::WorkClass* class_of(const Task& task, std::span<const model::WorkClass> classes) {
  const auto found = std::ranges::find(classes, task.identity.work_class, &model::WorkClass::name);
  return found == classes.end() ? nullptr : &*found;
}

std::int64_t whole_seconds(Wide nanoseconds) {
  constexpr Wide kSecond = std::chrono::nanoseconds(std::chrono::seconds(1)).count();
  return static_cast<std::int64_t>(std::max<Wide>(nanoseconds, 0) / kSecond);
}

std::int64_t lost_seconds(const Task& task, const model::WorkClass* work, base::WallTime now) {
  const auto begun = task.started ? task.started : task.created;
  const std::int64_t age =
      begun ? whole_seconds(Wide{now.since_epoch.count()} - begun->since_epoch.count()) : std::int64_t{0};
  const std::int64_t progress = std::clamp<std::int64_t>(task.progress_percent.value_or(0), 0, kPercent);
  const std::int64_t lost = age * (kPercent + progress) / kPercent;
  const std::int64_t restart = work == nullptr ? 0 : whole_seconds(work->restart_cost.count());
  return work != nullptr && work->checkpointing ? std::min(lost, restart) : std::max(lost, restart);
}

std::int64_t lost_core_seconds(const TaskSeen& seen, const model::WorkClass* work, base::WallTime now) {
  const Wide cores = std::max(seen.cpu.value_or(model::CpuMilli{}), kCoresLostMin).value;
  const Wide worked = cores * lost_seconds(*seen.task, work, now);
  const Wide held = std::max<std::int64_t>(seen.task->held_bytes.value_or(0), 0);
  const Wide lost = (worked + kMilli - 1) / kMilli + (held + kHeldBytesPerCoreSecond - 1) / kHeldBytesPerCoreSecond;
  return static_cast<std::int64_t>(
      std::clamp<Wide>(lost, kLostMin_core_seconds, std::numeric_limits<std::int64_t>::max()));
}

bool causes(const TaskSeen& seen, const Gap& gap, std::int64_t missing) {
  if (gap.measure != Measure::kMemoryUsed || seen.task->kind != TaskKind::kCopilotTask) return false;
  const auto& requested = seen.task->requests.batch.memory;
  if (!seen.memory || !requested || requested->value <= 0) return false;
  const Wide beyond = Wide{seen.memory->value} - requested->value;
  return beyond > 0 && beyond * kWorthPart >= missing;
}

// What is compared before the cause, without what depends on the gap.
auto timeliness(const Task& task, const Victim& victim, std::string_view business) {
  return std::tuple(service_rank(task), !business.empty() && task.identity.business == business, task.eviction_priority,
                    victim.order, task.priority_value, task.sub_priority.value_or(task.priority_value));
}

// What is compared before the loss.
auto standing(const Task& task, const Victim& victim, std::string_view business) {
  return std::tuple(service_rank(task), !business.empty() && task.identity.business == business, victim.sight,
                    task.eviction_priority, victim.order, task.priority_value,
                    task.sub_priority.value_or(task.priority_value));
}

// The time at which the ResourceManager allocated a task is unknown. The task starts a moment later; within one attempt
// the larger number was allocated later, whichever started first. A task without a first process was allocated last.
constexpr std::int64_t kNotStarted = std::numeric_limits<std::int64_t>::max();
struct HandedOut {
  Victim victim;
  const Task* task = nullptr;
  std::int64_t begun = 0;
};

// As a ResourceManager preempts: the newest first, masters last.
void newest_first(std::vector<HandedOut>& all) {
  const auto number = [](const HandedOut& each) {
    return std::tuple(each.task->infrastructure, std::string_view(each.task->identity.attempt),
                      std::string_view(each.task->identity.task));
  };
  std::ranges::sort(all, {}, number);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Task& one = *all[i].task;
    const Task& before = *all[i - 1].task;
    const bool same = one.infrastructure == before.infrastructure && one.identity.attempt == before.identity.attempt;
    if (same) all[i].begun = std::max(all[i].begun, all[i - 1].begun);
  }
  std::ranges::sort(all, [](const HandedOut& a, const HandedOut& b) {
    return std::tuple(a.task->infrastructure, b.begun, std::string_view(b.task->identity.task)) <
           std::tuple(b.task->infrastructure, a.begun, std::string_view(a.task->identity.task));
  });
}

bool is_of_yarn(const Task& task) {
  return task.kind == TaskKind::kCopilotTask && !task.identity.attempt.empty();
}

HandedOut handed_out(const Victim& victim, const Task& task) {
  return {victim, &task, task.created ? task.created->since_epoch.count() : kNotStarted};
}

// The positions of YARN's tasks stay, per source; its ResourceManager decides which task gets which position.
void let_yarn_choose(std::vector<Victim>& all, std::span<const TaskSeen> tasks, const Gap& gap) {
  std::map<std::string_view, std::vector<std::size_t>> turns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_known_cause(all[i], gap)) continue;
    const Task& task = *tasks[all[i].task].task;
    if (is_of_yarn(task)) turns[task.identity.source].push_back(i);
  }
  for (const auto& [source, places] : turns) {
    std::vector<HandedOut> theirs;
    for (const std::size_t place : places) theirs.push_back(handed_out(all[place], *tasks[all[place].task].task));
    newest_first(theirs);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = theirs[i].victim;
  }
}

// The tasks of each ResourceManager. It would end the last one of its list first.
std::map<std::string_view, std::vector<std::size_t>> tasks_by_manager(std::span<const TaskSeen> tasks) {
  std::map<std::string_view, std::vector<HandedOut>> by_source;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].task == nullptr || tasks[i].task->terminal() || !is_of_yarn(*tasks[i].task)) continue;
    by_source[tasks[i].task->identity.source].push_back(handed_out({.task = i}, *tasks[i].task));
  }
  std::map<std::string_view, std::vector<std::size_t>> out;
  for (auto& [source, theirs] : by_source) {
    newest_first(theirs);
    std::vector<std::size_t>& of = out[source];
    for (const HandedOut& each : theirs) of.push_back(each.victim.task);
    std::ranges::reverse(of);
  }
  return out;
}

// Among tasks of equal timeliness the ResourceManager chooses. If it would end another task, the victim is out of turn.
void keep_order_of_classes(std::vector<Victim>& all, std::span<const TaskSeen> tasks, const Gap& gap,
                           std::string_view business) {
  auto left = tasks_by_manager(tasks);
  for (auto at = all.begin(); at != all.end(); ++at) {
    const Task& task = *tasks[at->task].task;
    if (!is_of_yarn(task)) continue;
    std::vector<std::size_t>& theirs = left[task.identity.source];
    if (!is_known_cause(*at, gap)) {
      const auto newest = std::find_if(at, all.end(), [&](const Victim& each) { return each.task == theirs.back(); });
      const bool its_turn = newest != all.end() && !is_known_cause(*newest, gap) &&
                            timeliness(task, *at, business) == timeliness(*tasks[newest->task].task, *newest, business);
      if (its_turn) {
        std::iter_swap(at, newest);
      } else {
        at->out_of_turn = true;
      }
    }
    std::erase(theirs, at->task);
  }
}

auto names(const Task& task) {
  return std::tie(task.identity.source, task.ns, task.name, task.identity.task, task.path);
}

}  // namespace

int service_rank(const Task& task) {
  if (!task.infrastructure) return 0;
  return task.kind == TaskKind::kCopilotTask ? 1 : 2;
}

bool is_ours_to_end(const Task& task) {
  switch (task.kind) {
    case TaskKind::kPod:
      return !task.fixed && model::is_offline(task.qos_raw, task.priority_raw);
    case TaskKind::kCopilotTask:
      return protect::is_offline(task);
    case TaskKind::kHostApplication:
      return false;
  }
  return false;
}

std::int64_t release_of(const TaskSeen& seen, const Gap& gap) {
  if (seen.task == nullptr) return 0;
  const Task& task = *seen.task;
  switch (gap.measure) {
    case Measure::kCpuUsed:
      return std::max<std::int64_t>(seen.cpu.value_or(model::CpuMilli{}).value, 0);
    case Measure::kMemoryUsed:
      if (gap.of_pods && !seen.in_pods) return 0;
      return std::max<std::int64_t>(seen.memory.value_or(model::MemoryBytes{}).value, 0);
    case Measure::kDiskHeld:
    case Measure::kInodesHeld:
      if (task.kind == TaskKind::kHostApplication) return 0;
      return sight_of(seen, gap) == Sight::kSeen ? part_of(seen, gap).amount : gap.amount;
    case Measure::kCpuRequested:
    case Measure::kMemoryRequested:
      break;
  }
  if (gap.feature == EvictFeature::kReclaim) return requested_of_work(task, gap.work_class, gap.measure);
  if (gap.feature != EvictFeature::kBeCpu) return requested_of_class(task, gap.oversold, gap.measure);
  // As OfflineCpu::request counts.
  if (task.kind == TaskKind::kHostApplication || task.qos_raw != model::Qos::kBe) return 0;
  return std::max<std::int64_t>(task.requests.batch.cpu.value_or(model::CpuMilli{}).value, 0);
}

std::int64_t known_release_of(const TaskSeen& seen, const Gap& gap) {
  if (seen.task == nullptr || !is_of_disk(gap.measure)) return release_of(seen, gap);
  return seen.task->kind == TaskKind::kHostApplication ? 0 : part_of(seen, gap).amount;
}

bool may_go(const TaskSeen& seen, const Gap& gap, const VictimRules& rules) {
  if (seen.task == nullptr) return false;
  const Task& task = *seen.task;
  if (task.terminal() || task.deleted || !is_ours_to_end(task)) return false;
  if (is_of_use(gap.measure) && task.path.empty()) return false;
  if (is_of_disk(gap.measure) && !part_of(seen, gap).large && sight_of(seen, gap) == Sight::kSeen) return false;
  return task.may_be_evicted_by(to_string(gap.feature)) && fits_feature(task, gap.feature, rules.threshold) &&
         release_of(seen, gap) > 0;
}

bool is_known_cause(const Victim& victim, const Gap& gap) {
  return victim.causes || (is_of_disk(gap.measure) && victim.sight == Sight::kSeen);
}

std::vector<Victim> victims(std::span<const TaskSeen> tasks, const Gap& gap, std::int64_t missing,
                            const VictimRules& rules, base::WallTime now) {
  std::vector<Victim> out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!may_go(tasks[i], gap, rules)) continue;
    const model::WorkClass* work = class_of(*tasks[i].task, rules.classes);
    out.push_back({i, release_of(tasks[i], gap), work == nullptr ? kNoClass : work->order,
                   lost_core_seconds(tasks[i], work, now), sight_of(tasks[i], gap), causes(tasks[i], gap, missing)});
  }
  std::ranges::sort(out, [&](const Victim& a, const Victim& b) {
    const Task& first = *tasks[a.task].task;
    const Task& second = *tasks[b.task].task;
    const auto its = standing(first, a, rules.business);
    const auto other = standing(second, b, rules.business);
    if (its != other) return its < other;
    if (a.causes != b.causes) return a.causes;
    const bool worth = is_worth_it(a.release, missing);
    if (worth != is_worth_it(b.release, missing)) return worth;
    const Wide lost = Wide{a.lost_core_seconds} * b.release;
    const Wide lost_with_other = Wide{b.lost_core_seconds} * a.release;
    if (lost != lost_with_other) return lost < lost_with_other;
    if (a.release != b.release) return a.release > b.release;
    return names(first) < names(second);
  });
  if (rules.yarn_preempts && rules.yarn_by_class) {
    keep_order_of_classes(out, tasks, gap, rules.business);
  } else if (rules.yarn_preempts) {
    let_yarn_choose(out, tasks, gap);
  }
  return out;
}

}  // namespace tidemark::policy::evict
