// Who goes first where something has to: one list over pods and tasks of every provider.
//
// Who may go for a gap at all (contract 7.4): offline work that is neither over nor ending nor fixed to the node, whose
// `koordinator.sh/eviction-policy` does not leave the feature out, and that releases something of what is missing; of
// what is used, only a task that has a group now:
//
//   BECPUEvict, BEMemoryEvict   raw QoS BE
//   CPUEvict, MemoryEvict       koordinator.sh/eviction-enabled=true, priority ≤ evictEnabledPriorityThreshold, running
//                               or pending
//   *AllocatableEvict           the same by allocatableEvictPriorityThreshold, and a pod of the class that is oversold
//   MemoryPressure              any
//   Disk                        any that holds a tenth at least of what is short there, or of which nobody can see all
//                               that it holds
//   Reclaim                     a pod of the class that is asked back, by its own label
//
// For what is left of the limit of all pods together only who lies in their group: YARN's may be beside it, and nothing
// of that limit is free without it.
//
// Online work never: neither the peer's label nor a priority makes a victim of it here. A pod is offline where our
// manager lets an agent evict it (policy/admission/eviction.h), a copilot's task where is_offline (policy/limits) says
// so; a host application is its owner's.
//
// The order, what goes first first:
//
//   infrastructure last     all that others depend on comes after all others: masters after tasks, and after those the
//                           pods that serve them (NodeManagers, shuffle workers)
//   own business last       work of the pool's own business comes after everybody else's
//   sight                   for a disk, one of which nobody can see enough comes after those that are known to help,
//   and
//                           before others like it one that wrote a tenth at least of what is short. It counts as one
//                           that releases all, so that it goes alone, and what came of it is awaited
//
//   eviction priority       koordinator.sh/eviction-priority, lower first; it outranks the class
//   class                   the least timely first; work of no class, and of an unknown one, before all that have one
//   priority                lower first; with default
//   sub-priority            lower first; the priority stands for one that is not said
//
//   worth                   who releases less than a tenth of what is missing still comes after those who release more
//
//   loss                    lost × release of the other < …: least lost for what is released
//
//   release                 what releases more first
//
//   name                    so that nothing is left to chance
//
// Where a ResourceManager ends YARN's tasks, it ends the newest first and masters last, whoever is named. When it is
// YARN's turn is decided as above; who of YARN's goes then is its order. So who is asked is who goes. But who is seen
// to hold what is short on a disk goes himself, by his copilot: the newest holds nothing of it.
//
//   lost    = cores in use (100m at least) × lost seconds + held bytes / kHeldBytesPerCoreSecond, rounded up
//   lost seconds = its age, for a class that writes checkpoints its restart cost at most; a task that says how far it
//   has come loses that part of its age more:  age × (100 + progress) / 100;  and never less than the class's restart
//   cost where it writes none. Its age is from its start, else from when it was made; 0 where nobody says.
//   At least kLostMin_core_seconds: beside something that costs nothing nobody else would be asked, however much he
//   has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "policy/evict/gap.h"
#include "policy/evict/task_seen.h"
#include "policy/node_rules/node_rules.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {

// Making it again costs about so much: a core writes a hundred megabytes of shuffle in a second.
inline constexpr std::int64_t kHeldBytesPerCoreSecond = 100 * 1000 * 1000;

// Whoever ends has to be started again.
inline constexpr std::int64_t kLostMin_core_seconds = 1;

// Of what is missing: who releases less than this part of it ends for nearly nothing. As many of them as may be asked
// in a step (kVictimsAStep) would not be enough.
inline constexpr std::int64_t kWorthPart = 10;

struct VictimRules {
  const ThresholdRules& threshold;
  std::span<const WorkClass> classes;  // by ascending order
  std::string_view business;           // the pool's own; "": nobody said
  bool yarn_preempts = false;          // its ResourceManager ends YARN's tasks
};

// Offline work that neither the node nor somebody else owns: nobody else is ever asked to end.
bool is_ours_to_end(const model::Task& task);

// Who depends on it: nobody (0), the tasks of a master (1), masters too: a pod that serves them (2).
int service_rank(const model::Task& task);

// What it would release towards the gap; 0: nothing, or nobody knows. Of what all pods have left nothing, where it lies
// outside of their group. Of a disk of which nobody can see what it holds:
// all that is missing.
std::int64_t release_of(const TaskSeen& seen, const Gap& gap);
// Without such a guess.
std::int64_t known_release_of(const TaskSeen& seen, const Gap& gap);

// Whether it may go for that gap.
bool may_go(const TaskSeen& seen, const Gap& gap, const VictimRules& rules);

// How well it is known that it helps, the best first. Of all but disks kSeen.
enum class Sight : std::uint8_t { kSeen, kWrote, kUnseen };

struct Victim {
  std::size_t task = 0;  // index in the list that was given
  std::int64_t release = 0;
  std::int64_t order = -1;  // of its class; -1: none
  std::int64_t lost_core_seconds = 0;
  Sight sight = Sight::kSeen;  // else `release` is a guess
  bool operator==(const Victim&) const = default;
};

// Of a disk: it is known to hold what is short there, so no other one may end in its place.
bool is_seen_to_hold(const Victim& victim, const Gap& gap);

// All that may go, in the order in which they do, where so much of the gap is `missing` still. Total and deterministic;
// the order of `tasks` does not matter.
std::vector<Victim> victims(std::span<const TaskSeen> tasks, const Gap& gap, std::int64_t missing,
                            const VictimRules& rules, base::WallTime now);

}  // namespace tidemark::policy
