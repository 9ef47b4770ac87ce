// Which tasks end now, and how each of them is ended. A step a second.
//
//   gaps (gap.h)  −  what is on its way out  →  victims (victims.h), as many as are needed, at most kVictimsAStep
//
//   on its way out    counts with what it uses at this moment: once it is gone, so is its use from what is measured.
//                     With it what somebody else ends (or we, before a restart), where that comes no later than the end
//                     of one that is asked now. Who was killed kKilledLate ago and is there still holds what he uses
//   several gaps      one after the other in their order; a victim counts towards all of them, in each one's measure
//   cool-down         after a step that asked somebody: CPU 20 s, memory 4 s (contract 7.1), pressure 15 s, disks 60 s
//                     and again when he has ended, each for itself; of the CPU ones also at the start. Reclaim waits
//                     with the CPU ones. Who may not go
//                     evicted nobody: the next step looks for another one in its place, and where it was the only one
//                     there is no cool-down
//   budget            so many in any hour: the grant (policy/budget/grants.h), else that of policy/budget/budget.h;
//                     at most kEvictionsPerHourMax. Who may not go does not count, and a kill of the ladder is no new
//                     eviction. Where the kubelet is about to evict, by an order of its own that may take an online
//                     pod, kRescuesPerHour more that are known to help. (Of pods the manager has the last word)
//
//   depended on       (service_rank) nobody of a higher rank is asked while one of a lower is here of whom nobody has
//   said
//                     yet that he goes: asked without an answer, forbidden, or beyond the budget
//
// The ladder of one task:
//
//   asked, and it
//
//   ends by itself        its group is gone, or it is terminal
//
//   is replaced           its scheduler ended another one for it: it stays, and is asked again after kForbiddenPause,
//                         where it is needed still
//
//   is forbidden to go    by a disruption budget, by the manager: another one is looked for; asked again after
//                         kForbiddenPause, where it is needed still
//
//   is not answered       within kUnanswered of when it was asked, or kNobodyThere where it is told that nobody is: for
//                         memory that is above its line still it is killed, once; then, as without a kill, it stays as
//                         one that is forbidden: its kubelet may start it again
//
//   is not heard yet      who is asked has too much to do, and says so: he is asked again, for kBusyFor. Memory that is
//                         above its line then is saved as by an agent without a grant: killed is who is among the first
//                         kLocalEvictionsPerHour of the hour; the others stay as ones that are forbidden
//
//   is at its deadline    grace, or the end of its own grace period and kEndedLate, kEvictGraceMax at most: all of its
//                         group is killed; until it is gone again after as long as that was tried for, kKillAgain at
//                         least, kKillAgainMax at most
//
// A task that nobody may end (online after all, another one of that name) is left out until it is listed anew; so is
// one whose group is there kGiveUp after the first kill: it counts as staying, and another one may go. One that is
// forbidden is forgotten after kGiveUp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/evict/gap.h"
#include "policy/evict/settings.h"
#include "policy/evict/victims.h"
#include "policy/node_rules/node_rules.h"

namespace tidemark::policy {

inline constexpr std::size_t kVictimsAStep = 10;
inline constexpr base::Duration kCpuEvictPause = std::chrono::seconds(20);
inline constexpr base::Duration kMemoryEvictPause = std::chrono::seconds(4);
// The kernel's average of pressure tells of ten seconds: before that nobody knows whether the last one helped.
inline constexpr base::Duration kPressureEvictPause = std::chrono::seconds(15);
// A kubelet takes away what a pod leaves on its disks when all of it has ended, not before.
inline constexpr base::Duration kDiskEvictPause = std::chrono::seconds(60);
inline constexpr base::Duration kForbiddenPause = std::chrono::seconds(30);
// An API server waits five seconds for our own webhook (timeoutSeconds of the chart) before it answers, by a disruption
// budget, maybe: sooner nobody is killed for its silence.
inline constexpr base::Duration kUnanswered = std::chrono::seconds(8);
inline constexpr base::Duration kNobodyThere = std::chrono::seconds(5);  // no connection, no right, no sense in it
// Ten thousand nodes that ask at once are through a webhook of ours sooner (manager/webhook), asking again included;
// and a kubelet seldom evicts by itself within it, where the line is not right below its own.
inline constexpr base::Duration kBusyFor = std::chrono::seconds(30);
inline constexpr base::Duration kKillAgain = std::chrono::seconds(2), kKillAgainMax = std::chrono::seconds(30);
// A kernel takes some seconds for the memory of a large one; whoever is there still waits in the kernel for something
// that does not answer, mostly a disk.
inline constexpr base::Duration kKilledLate = std::chrono::seconds(30);
inline constexpr base::Duration kGiveUp = std::chrono::minutes(10);
inline constexpr base::Duration kEndedLate = std::chrono::seconds(2);  // past the end of its own grace period
inline constexpr std::size_t kLeavingMax = 256;                        // where there are as many, nobody new is asked
inline constexpr std::int64_t kEvictionsPerHourMax = 1024;
// Beyond what was granted: enough for what a few tasks at once can do to a node, too few for a wrong reading to empty a
// cluster.
inline constexpr std::int64_t kRescuesPerHour = 10;

enum class EvictStage : std::uint8_t {
  kAsked,      // the API server or its provider was asked to end it; no answer yet
  kLeaving,    // it was told, and has until its deadline
  kForbidden,  // it may not go for now, or nobody could be asked
  kSpared,     // nobody may end it, or could
  kKilled,     // its group was killed, where it has one, and it is there still
};

struct Leaving {
  std::string task;  // model::TaskIdentity::task, with its source: identity.source + "/" + identity.task
  EvictStage stage = EvictStage::kAsked;
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictMemoryLine;
  base::MonotonicTime asked;                   // first
  base::MonotonicTime since;                   // of the stage
  base::MonotonicTime deadline;                // of kLeaving: when it is killed; of kKilled: when it is killed again
  bool unreachable = false;                    // nobody answered
  bool busy = false;                           // of kAsked: somebody did, and has too much to do for now
  bool killed = false;                         // its group was, once at least
  std::optional<base::MonotonicTime> counted;  // in EvictState::hour; nullopt: it evicted nobody
  std::optional<base::WallTime> ends;          // of its own grace period, by which the deadline was set
  std::int64_t lost_core_seconds = 0;          // by its end, as it was asked
  bool operator==(const Leaving&) const = default;
};

struct EvictState {
  std::vector<Leaving> leaving;  // by task
  std::optional<base::MonotonicTime> cpu_not_before, memory_not_before, pressure_not_before, disk_not_before;
  std::vector<base::MonotonicTime> hour;  // when each was asked, the oldest first; of the last hour
  bool operator==(const EvictState&) const = default;
};
// With which an agent begins.
EvictState first_evict_state(base::MonotonicTime now);

// What came of an order, told by whoever carried it out.
enum class EvictOutcome : std::uint8_t {
  kAccepted,     // it is going to end
  kForbidden,    // not now
  kNever,        // not by us: it is online, or another one
  kUnreachable,  // nobody answered, or not with sense
  kGone,         // there is no such task any more
  kPreempted,    // its scheduler has ended it; what is left of it goes
  kReplaced,     // its scheduler ended another one for it
  kSent,         // no answer yet: the order left only now, after the last words of the task were kept
  kBusy,         // whoever was asked is there and has too much to do; he is asked again
};
struct EvictAnswer {
  std::string task;
  EvictOutcome outcome = EvictOutcome::kAccepted;
};

struct EvictObservation {
  const NodeSeen& node;
  std::span<const TaskSeen> tasks;
  std::span<const EvictAnswer> answers;  // since the last step
  std::int64_t per_hour = 0;             // evictions
  bool may_act = true;                   // false: decided and shown, nothing is ordered
  bool yarn_preempts = false;            // see VictimRules
};

enum class EvictVerb : std::uint8_t { kAsk, kKill };
struct EvictOrder {
  EvictVerb verb = EvictVerb::kAsk;
  std::size_t task = 0;  // index in the observation
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictMemoryLine;  // the gap's: why it goes
  model::Reason by = model::Reason::kEvictAsked;           // Asked; of kKill Killed (deadline) or Unreachable
  Gap gap;                                                 // of kAsk: as it was before this one
  std::int64_t release = 0;
  std::int64_t lost_core_seconds = 0;  // of kAsk
  base::Duration grace{};              // of kAsk: until its kill, where nobody says otherwise
  bool itself = false;                 // of kAsk: the end of another one in its place frees nothing
  bool beyond_grant = false;           // of kAsk: the hour has none left, and the kubelet is about to evict
  bool operator==(const EvictOrder&) const = default;
};

// How each feature that is switched on came out.
struct EvictVerdict {
  FeatureVerdict feature;
  model::Reason reason = model::Reason::kEvictBelowLine;  // BelowLine …, or what held a victim back, or the gap's
  std::int64_t missing = 0;                               // of its gap, when all was counted
  bool operator==(const EvictVerdict&) const = default;
};

struct EvictPlan {
  std::vector<EvictOrder> orders;
  PerFeature<EvictVerdict> verdicts;
  // That ended since the last step after they were asked to, each once, by task. Its stage tells whether that came of
  // it: one that was forbidden or spared ended for a reason of its own.
  std::vector<Leaving> ended;
};

struct EvictStep {
  EvictState state;
  EvictPlan plan;
};

// Total and deterministic.
EvictStep evict(const EvictState& before, const EvictObservation& seen, const NodeRules& rules, EvictSwitches switches,
                base::MonotonicTime now, base::WallTime wall);

// By which a task is known over steps.
std::string evict_key(const model::Task& task);

}  // namespace tidemark::policy
