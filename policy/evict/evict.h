// Decides which tasks end now, and how. One step per second.
//
//   gaps (gap.h)  −  what is on its way out  →  victims (victims.h), as many as are needed, at most kVictimsAStep
//
//   on its way out    counts with its current use: when it is gone, the measured use drops too. Includes tasks that
//                     others end (or we, before a restart), if they end no later than a task asked now. A task that was
//                     killed kKilledLate ago and still exists counts as holding what it uses
//   several gaps      one after the other in their order; a victim counts towards all of them, in each one's measure
//   cool-down         after a step that asked a task: CPU 20 s, memory 4 s (contract 7.1), pressure 15 s, disks 60 s
//                     and again when the task has ended, each separately; for CPU also at the start. Reclaim shares the
//                     CPU cool-down. A forbidden task was not evicted: the next step asks another one instead, and if
//                     it was the only one there is no cool-down
//   budget            evictions in any hour: the grant (policy/evict/budget/grants.h), else EvictSettings::per_hour; at
//                     most kEvictionsPerHourMax. A forbidden task does not count, and a kill of the ladder is no new
//                     eviction. If the kubelet is about to evict, in its own order that may include online pods,
//                     kRescuesPerHour more tasks that are known to help. (For pods the manager decides)
//
//   depended on       (service_rank) no task of a higher rank is asked while one of a lower rank is here that is not
//                     known to leave: asked without an answer, forbidden, or beyond the budget
//
// The ladder of one task. It is asked to end, and then:
//
//   it ends               its cgroup is gone, or it is terminal
//
//   it is replaced        its scheduler ended another one for it: it stays, and is asked again after kForbiddenPause
//                         if it is still needed
//
//   it is forbidden       by a disruption budget or by the manager: another one is asked; this one is asked again after
//                         kForbiddenPause if it is still needed
//
//   no answer             within kUnanswered of the request, or kUnreachableFor if the server is unreachable;
//                         for a container of YARN the grace comes in addition, because its ResourceManager answers at
//                         the end of it. If memory is still above its line the task is killed, once. Then, as without a
//                         kill, it stays like a forbidden one: its kubelet may restart it
//
//   the server is busy    and says so: the task is asked again, for kBusyFor. If memory is above its line then, the
//                         tasks among the first kKillsWhileBusyPerHour of the hour are killed; the others stay like
//                         forbidden ones
//
//   its deadline passes   grace, or the end of its own grace period plus kEndedLate, at most kEvictGraceMax: its whole
//                         cgroup is killed, and again until it is gone, each time after as long as was tried so far,
//                         within kKillAgain and kKillAgainMax
//
// A task that may never be evicted (online after all, another task of that name) is skipped until it is listed anew. So
// is a task whose cgroup still exists kGiveUp after the first kill: it counts as staying, and another one may be
// evicted. A forbidden one is forgotten after kGiveUp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "model/settings/evict_settings.h"
#include "policy/evict/gap.h"
#include "policy/evict/victims.h"
#include "policy/protect/node_rules.h"

namespace tidemark::policy::evict {

inline constexpr std::size_t kVictimsAStep = 10;
inline constexpr base::Duration kCpuEvictPause = std::chrono::seconds(20);
inline constexpr base::Duration kMemoryEvictPause = std::chrono::seconds(4);
// The kernel's average of pressure covers ten seconds: before that the effect of the last eviction is unknown.
inline constexpr base::Duration kPressureEvictPause = std::chrono::seconds(15);
// A kubelet removes a pod's data from its disks only after the whole pod has ended.
inline constexpr base::Duration kDiskEvictPause = std::chrono::seconds(60);
inline constexpr base::Duration kForbiddenPause = std::chrono::seconds(30);
// An API server waits five seconds for our webhook (timeoutSeconds of the chart) before it answers, maybe with a
// disruption budget. No task is killed for a missing answer before that.
inline constexpr base::Duration kUnanswered = std::chrono::seconds(8);
// no connection, no permission, an invalid answer
inline constexpr base::Duration kUnreachableFor = std::chrono::seconds(5);
// Ten thousand nodes that ask at once pass our webhook sooner (manager/webhook), including retries. A kubelet seldom
// evicts within this time, unless our line is right below its own.
inline constexpr base::Duration kBusyFor = std::chrono::seconds(30);
inline constexpr base::Duration kKillAgain = std::chrono::seconds(2), kKillAgainMax = std::chrono::seconds(30);
// A kernel needs some seconds to free the memory of a large task. A task that exists longer waits in the kernel, mostly
// for a disk.
inline constexpr base::Duration kKilledLate = std::chrono::seconds(30);
inline constexpr base::Duration kGiveUp = std::chrono::minutes(10);
inline constexpr base::Duration kEndedLate = std::chrono::seconds(2);  // past the end of its own grace period
inline constexpr std::size_t kLeavingMax = 256;                        // at this many no further task is asked
// Kills of the ladder within an hour while the server is busy.
inline constexpr std::int64_t kKillsWhileBusyPerHour = 2;
// Beyond the grant: enough for what a few tasks at once can do to a node, too few for a wrong reading to empty a
// cluster.
inline constexpr std::int64_t kRescuesPerHour = 10;

enum class EvictStage : std::uint8_t {
  kAsked,      // the API server or the provider was asked to end it; no answer yet
  kLeaving,    // the request was accepted; it has time until its deadline
  kForbidden,  // it may not be evicted now, or no server could be asked
  kSpared,     // it may not or cannot be evicted
  kKilled,     // its cgroup, if it has one, was killed, and the task still exists
};

struct Leaving {
  std::string task;  // model::TaskIdentity::task, with its source: identity.source + "/" + identity.task
  EvictStage stage = EvictStage::kAsked;
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictMemoryLine;
  base::MonotonicTime asked;                   // first request
  base::MonotonicTime since;                   // the start of the stage
  base::MonotonicTime deadline;                // kLeaving: when it is killed; kKilled: when it is killed again
  bool unreachable = false;                    // no answer
  bool busy = false;                           // kAsked: the server answered that it is busy
  bool killed = false;                         // its cgroup was killed at least once
  std::optional<base::MonotonicTime> counted;  // in EvictState::hour; nullopt: not counted as an eviction
  std::optional<base::WallTime> ends;          // the end of its own grace period, which set the deadline
  std::int64_t lost_core_seconds = 0;          // the loss by its end, estimated at the request
  bool operator==(const Leaving&) const = default;
};

struct EvictState {
  std::vector<Leaving> leaving;  // by task
  std::optional<base::MonotonicTime> cpu_not_before, memory_not_before, pressure_not_before, disk_not_before;
  std::vector<base::MonotonicTime> hour;  // request times of the last hour, oldest first
  bool operator==(const EvictState&) const = default;
};
// The state of an agent that starts.
EvictState first_evict_state(base::MonotonicTime now);

// The result of an order, reported by the code that carried it out.
enum class EvictOutcome : std::uint8_t {
  kAccepted,     // it is going to end
  kForbidden,    // not now
  kNever,        // never by us: it is online, or another task
  kUnreachable,  // no answer, or an invalid one
  kGone,         // the task no longer exists
  kPreempted,    // its scheduler has ended it; the rest of it is going
  kReplaced,     // its scheduler ended another one for it
  kSent,         // no answer yet: the request was sent only now, after the last logs of the task were saved
  kBusy,         // the server is busy; the request is repeated
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
  bool may_act = true;                   // false: decide and show, but order nothing
  bool yarn_preempts = false;            // see VictimRules
};

enum class EvictVerb : std::uint8_t { kAsk, kKill };
struct EvictOrder {
  EvictVerb verb = EvictVerb::kAsk;
  std::size_t task = 0;  // index in the observation
  EvictFeature feature = EvictFeature::kBeCpu;
  model::Reason reason = model::Reason::kEvictMemoryLine;  // of the gap: why it is evicted
  model::Reason by = model::Reason::kEvictAsked;           // Asked; for kKill Killed (deadline) or Unreachable
  Gap gap;                                                 // of kAsk: before this order
  std::int64_t release = 0;
  std::int64_t lost_core_seconds = 0;  // of kAsk
  base::Duration grace{};              // of kAsk: until the kill, unless an answer changes it
  bool itself = false;                 // of kAsk: its ResourceManager would end a wrong one in its place
  bool beyond_grant = false;           // of kAsk: the hour's budget is used up, and the kubelet is about to evict
  bool operator==(const EvictOrder&) const = default;
};

// The result of each enabled feature.
struct EvictVerdict {
  FeatureVerdict feature;
  model::Reason reason = model::Reason::kEvictBelowLine;  // BelowLine …, or what held a victim back, or the gap's
  std::int64_t missing = 0;                               // of its gap, after everything counted
  bool operator==(const EvictVerdict&) const = default;
};

struct EvictPlan {
  std::vector<EvictOrder> orders;
  PerFeature<EvictVerdict> verdicts;
  // Tasks that were asked to end and ended since the last step, each once, by task. The stage shows whether the request
  // was the cause: a forbidden or spared one ended for another reason.
  std::vector<Leaving> ended;
};

struct EvictStep {
  EvictState state;
  EvictPlan plan;
};

// Total and deterministic.
EvictStep evict(const EvictState& before, const EvictObservation& seen, const protect::NodeRules& rules,
                EvictSwitches switches, base::MonotonicTime now, base::WallTime wall);

// The key that identifies a task over steps.
std::string evict_key(const model::Task& task);

}  // namespace tidemark::policy::evict
