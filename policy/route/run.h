// The life of one run, as pure steps.
//
//   received → queued → routed → reserved → submitted → admitted → running → ending → done or cancelled
//                 ▲                                                             │
//                 └───────────── second attempt, on the other side ◄────────────┘   at most once
//
// The caller stores the run after each step, before the effect that the run wants next. So each effect has a stored
// intent. Each effect may run again after a crash or a lost reply: a pod's name and an application's id are fixed
// before the submission. The check after an effect is an event: accepted, stopped, released.
//
// A run moves only from `ending` with a known end: then the driver of the first attempt is gone. And it moves only if
// its sink is declared safe to re-run, or if the first driver certainly never started. A cancelled run never starts
// another attempt.
//
// No run waits for ever at Kubernetes: after the admission limit it moves or ends. Time in which the side does not
// answer does not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "policy/route/ends.h"
#include "policy/route/side.h"

namespace tidemark::policy::route {

enum class Phase : std::uint8_t {
  kReceived,   // stored, and answered to the client
  kQueued,     // waits for a side
  kRouted,     // has a side; gets a pod name or an application id
  kReserved,   // the submission may have happened
  kSubmitted,  // the side has accepted it
  kAdmitted,
  kRunning,
  kEnding,  // to be stopped, or ended and to be released
  kDone,
  kCancelled,
};
constexpr bool is_final(Phase phase) {
  return phase == Phase::kDone || phase == Phase::kCancelled;
}

enum class StopReason : std::uint8_t {
  kNone,
  kCancel,
  // Only a driver that has no node yet:
  kAdmission,    // it got none in time
  kSwitchedOff,  // the switch "no more Kubernetes"
  kRefused,      // a quota refused it
  // A driver that has a node and does not start:
  kImage,  // its image was not pulled in time
  kStart,
};
constexpr bool stops_only_waiting(StopReason reason) {
  return reason == StopReason::kAdmission || reason == StopReason::kSwitchedOff || reason == StopReason::kRefused;
}

// How an attempt is submitted.
enum class Way : std::uint8_t {
  kNative,
  kSparkSubmit,    // stock spark-submit makes the objects, and the gateway creates them
  kSparkOperator,  // the gateway creates a SparkApplication, and Spark Operator makes the driver
};

struct Attempt {
  Side side = Side::kKubernetes;
  RouteReason reason = RouteReason::kOnlyPossibleSide;
  std::string rule;    // the label of the rule that decided; "": none did
  std::string handle;  // name of the driver pod, or application id
  Way way = Way::kNative;
  std::string way_reason;  // why the way is not native: the property that the native way does not translate
  std::string inputs;      // of the decision for the side, as the caller stores them; "": they are not stored
  StopReason stop = StopReason::kNone;
  std::optional<End> end;
  std::optional<base::WallTime> absent_since;   // its side does not know it although it accepted it
  std::optional<base::WallTime> unknown_since;  // its side does not answer
  std::optional<base::WallTime> accepted;       // when its side accepted it
  std::optional<base::WallTime> running_since;  // its driver was first seen to run; nullopt: it never was
  std::optional<base::WallTime> ended;          // when `end` became known
  bool operator==(const Attempt&) const = default;
};
inline constexpr std::size_t kAttemptsMax = 2;

struct Run {
  Phase phase = Phase::kReceived;
  base::WallTime since;  // of the phase
  bool cancel = false;
  std::vector<Attempt> attempts;  // the last one is current from `routed` on
  bool operator==(const Run&) const = default;
};

struct RunConfig {
  base::Duration admission_limit = std::chrono::minutes(10);
  base::Duration absent_grace = std::chrono::minutes(2);
  bool no_more_kubernetes = false;
};
struct RunFacts {
  bool rerun_safe = false;           // its sink gets each row once, also if the job runs twice
  bool other_side_possible = false;  // of the current attempt
};

enum class Effect : std::uint8_t { kNone, kRoute, kReserve, kSubmit, kStop, kRelease };
// The effect that the stored run wants.
Effect effect_of(const Run& run);
// Whether the end that is known now leads to a second attempt. Then `release` also confirms that no executor is left.
bool will_move(const Run& run, const RunFacts& facts);

// Steps. Each ignores an event that does not belong to the phase: replies may come late or twice.
Run queue(Run run, base::WallTime now);
Run on_routed(Run run, const RouteDecision& decision, base::WallTime now);
// The name or id under which the attempt will be submitted, and how.
struct Reservation {
  std::string handle;
  Way way = Way::kNative;
  std::string way_reason{};
};
Run on_reserved(Run run, Reservation reservation, base::WallTime now);
Run on_accepted(Run run, base::WallTime now);
// Its side refused the submission. After a refusal for lack of quota the run tries again if no other side can run it,
// until the admission limit.
Run on_refused(Run run, EndClass end, const RunFacts& facts, const RunConfig& config, base::WallTime now);
Run on_observed(Run run, const Observation& seen, const RunFacts& facts, const RunConfig& config, base::WallTime now);
// The driver is confirmed to be gone; `seen` is its end if it left one.
Run on_stopped(Run run, std::optional<End> seen, base::WallTime now);
// The driver got its place before the stop took effect: the run goes on.
Run on_stop_too_late(Run run, base::WallTime now);
// The driver to stop is unknown to its side. It is lost after the grace time.
Run on_stop_absent(Run run, const RunConfig& config, base::WallTime now);
Run on_released(Run run, const RunFacts& facts, base::WallTime now);
Run on_cancel(Run run, base::WallTime now);

// The result for the user: the class of the last end; nullopt before the run is final, and if it is cancelled.
std::optional<End> result_of(const Run& run);

}  // namespace tidemark::policy::route
