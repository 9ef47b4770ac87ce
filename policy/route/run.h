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
// A run moves only if its sink is declared safe to re-run, and only from `ending` with a known end: then the driver of
// the first attempt is gone. A cancelled run never starts another attempt.
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

enum class StopReason : std::uint8_t { kNone, kCancel, kAdmission, kSwitchedOff };

struct Attempt {
  Side side = Side::kKubernetes;
  RouteReason reason = RouteReason::kOnlyPossibleSide;
  std::string handle;  // name of the driver pod, or application id
  StopReason stop = StopReason::kNone;
  std::optional<End> end;
  std::optional<base::WallTime> absent_since;  // its side does not know it although it accepted it
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
// Whether an end as it is known now leads to a second attempt. Then `release` also confirms that no executor is left.
bool will_move(const Run& run, const RunFacts& facts);

// Steps. Each ignores an event that does not belong to the phase: replies may come late or twice.
Run queue(Run run, base::WallTime now);
Run on_routed(Run run, const RouteDecision& decision, base::WallTime now);
Run on_reserved(Run run, std::string handle, base::WallTime now);
Run on_accepted(Run run, base::WallTime now);
// Its side refused the submission and has nothing of it. A refusal for lack of quota repeats if the run cannot move.
Run on_refused(Run run, EndClass end, const RunFacts& facts, base::WallTime now);
Run on_observed(Run run, const Observation& seen, const RunFacts& facts, const RunConfig& config, base::WallTime now);
// The driver is confirmed to be gone; `seen` is its end if it left one.
Run on_stopped(Run run, std::optional<End> seen, base::WallTime now);
Run on_released(Run run, const RunFacts& facts, base::WallTime now);
Run on_cancel(Run run, base::WallTime now);

// The result for the user: the class of the last end; nullopt before the run is final, and if it is cancelled.
std::optional<End> result_of(const Run& run);

}  // namespace tidemark::policy::route
