// Orders the tasks to evict: one list over pods and tasks of every provider.
//
// Tasks that may be evicted for a gap (contract 7.4): offline work that is not terminal, not ending and not fixed to
// the node, whose `koordinator.sh/eviction-policy` allows the feature, and that releases something of what is missing;
// for use, only a task that has a cgroup now:
//
//   BECPUEvict, BEMemoryEvict   raw QoS BE
//   CPUEvict, MemoryEvict       koordinator.sh/eviction-enabled=true, priority ≤ evictEnabledPriorityThreshold, running
//                               or pending
//   *AllocatableEvict           the same by allocatableEvictPriorityThreshold, and a pod of the oversold class
//   MemoryPressure              any
//   Disk                        any that holds at least a tenth of the shortage, or whose data is not fully known
//   Reclaim                     a pod of the reclaimed class, by its own label
//
// For the limit of all pods only tasks in kubepods: YARN's may be outside, and then free nothing of that limit.
//
// Online work never: neither Koordinator's label nor a priority makes it a victim. A pod is offline if our manager lets
// an agent evict it (policy/admission/eviction.h), a copilot's task if is_offline (policy/protect/limits) is true; a
// host application belongs to its owner.
//
// The order, first victims first:
//
//   infrastructure last     tasks that others depend on come after all others: masters after tasks, and after those the
//                           pods that serve them (NodeManagers, shuffle workers)
//   own business last       work of the pool's own business comes after all other work
//   sight                   disks only: a task whose data is not fully known comes after those that are known to help,
//                           and before others like it one that wrote at least a tenth of the shortage. It counts as
//                           releasing all, so that it is evicted alone and its result is awaited
//
//   eviction priority       koordinator.sh/eviction-priority, lower first; it outranks the class
//   class                   the least timely first; work without a class, or of an unknown one, before all others
//   priority                lower first; with default
//   sub-priority            lower first; if unset, the priority
//
//   cause                   memory in use only: a copilot's task first that uses more than it requested, if that is at
//                           least a tenth of what is missing
//   worth                   tasks that release less than a tenth of what is still missing come after the others
//
//   loss                    lost × release of the other < …: least lost for what is released
//
//   release                 larger first
//
//   name                    so that the order is deterministic
//
// If a ResourceManager preempts YARN's tasks, it ends the newest first and masters last, whichever task is named. The
// order above decides when it is YARN's turn. The order of the ResourceManager decides which task of equal timeliness
// is named, so that the asked task is the one that ends. The copilot, not the ResourceManager, ends these tasks:
//
//   known cause    it is known to hold the shortage of a disk, or to cause that of memory: the newest one would free
//                  nothing, or did not cause it
//   out of turn    the newest one is more timely (by what is compared before the cause, without `sight`), or may not be
//                  evicted for this gap. Without VictimRules::yarn_by_class, the ResourceManager chooses among all
//
//   lost    = cores in use (at least 100m) × lost seconds + held bytes / kHeldBytesPerCoreSecond, rounded up
//   lost seconds = its age; for a class that writes checkpoints at most its restart cost. A task that reports its
//     progress loses that part of its age more:  age × (100 + progress) / 100;  and at least the class's restart cost
//     if the class writes no checkpoints. Its age is from its start, else from its creation; 0 if unknown.
//     At least kLostMin_core_seconds: otherwise a task of cost 0 would always be asked first, however little it frees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "policy/evict/gap.h"
#include "policy/evict/task_seen.h"
#include "policy/protect/node_rules.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::evict {

// Recreating it costs about this: one core writes a hundred megabytes of shuffle in a second.
inline constexpr std::int64_t kHeldBytesPerCoreSecond = 100 * 1000 * 1000;

// An evicted task has to be started again.
inline constexpr std::int64_t kLostMin_core_seconds = 1;

// Of what is missing: a task that releases less than this part is evicted for nearly nothing. As many of them as a step
// may ask (kVictimsAStep) would not be enough.
inline constexpr std::int64_t kWorthPart = 10;

struct VictimRules {
  const protect::ThresholdRules& threshold;
  std::span<const model::WorkClass> classes;  // by ascending order
  std::string_view business;                  // the pool's own; "": unset
  bool yarn_preempts = false;                 // its ResourceManager preempts YARN's tasks
  bool yarn_by_class = true;                  // model::EvictSettings
};

// Offline work that neither the node nor another owner controls: only such work is ever asked to end.
bool is_ours_to_end(const model::Task& task);

// What depends on it: nothing (0), the tasks of a master (1), masters too: a pod that serves them (2).
int service_rank(const model::Task& task);

// What it would release towards the gap; 0: nothing, or unknown. 0 for the limit of all pods if it is outside kubepods.
// If its data on a disk is not fully known: all that is missing.
std::int64_t release_of(const TaskSeen& seen, const Gap& gap);
// Without such a guess.
std::int64_t known_release_of(const TaskSeen& seen, const Gap& gap);

// Whether it may be evicted for that gap.
bool may_go(const TaskSeen& seen, const Gap& gap, const VictimRules& rules);

// How certain it is that it helps, the best first. kSeen for everything except disks.
enum class Sight : std::uint8_t { kSeen, kWrote, kUnseen };

struct Victim {
  std::size_t task = 0;  // index in the given list
  std::int64_t release = 0;
  std::int64_t order = -1;  // of its class; -1: none
  std::int64_t lost_core_seconds = 0;
  Sight sight = Sight::kSeen;  // else `release` is a guess
  bool causes = false;         // it uses so much more memory than it requested
  bool out_of_turn = false;    // its ResourceManager would end a more timely one
  bool operator==(const Victim&) const = default;
};

// It is known to hold the shortage of a disk, or to cause that of memory: no other one may end in its place.
bool is_known_cause(const Victim& victim, const Gap& gap);

// All tasks that may be evicted, in order, while `missing` of the gap is left. Total and deterministic; the order of
// `tasks` does not matter.
std::vector<Victim> victims(std::span<const TaskSeen> tasks, const Gap& gap, std::int64_t missing,
                            const VictimRules& rules, base::WallTime now);

}  // namespace tidemark::policy::evict
