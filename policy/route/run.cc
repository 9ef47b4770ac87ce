#include "policy/route/run.h"

#include <algorithm>
#include <utility>

namespace tidemark::policy::route {
namespace {

Run enter(Run run, Phase phase, base::WallTime now) {
  run.phase = phase;
  run.since = now;
  return run;
}

Run stop(Run run, StopReason reason, base::WallTime now) {
  run.attempts.back().stop = reason;
  return enter(std::move(run), Phase::kEnding, now);
}

Run end(Run run, End seen, base::WallTime now) {
  run.attempts.back().end = seen;
  run.attempts.back().ended = now;
  return enter(std::move(run), Phase::kEnding, now);
}

// If the sink allows it.
bool has_another_side(const Run& run, const RunFacts& facts) {
  return !run.cancel && run.attempts.size() < kAttemptsMax && facts.other_side_possible;
}

bool is_followed(Phase phase) {
  return phase == Phase::kSubmitted || phase == Phase::kAdmitted || phase == Phase::kRunning;
}

EndClass class_of(StopReason reason) {
  if (reason == StopReason::kCancel) return EndClass::kKilled;
  return reason == StopReason::kImage ? EndClass::kUser : EndClass::kAdmission;
}

// Our own stop looks like a kill by another program.
End by_our_stop(const std::optional<End>& seen, StopReason reason) {
  if (!seen) return {.end_class = class_of(reason)};
  if (seen->end_class == EndClass::kKilled) return {class_of(reason), seen->exit_code, seen->never_started};
  return *seen;
}

Run on_absent(Run run, const RunConfig& config, base::WallTime now) {
  Attempt& attempt = run.attempts.back();
  if (!attempt.absent_since) attempt.absent_since = now;
  if (now - *attempt.absent_since < config.absent_grace) return run;
  return end(std::move(run), End{EndClass::kLost}, now);
}

// Time in which the side did not answer counts for no limit.
void skip_unknown_time(Run& run, base::WallTime now) {
  Attempt& attempt = run.attempts.back();
  if (!attempt.unknown_since) return;
  const base::Duration gap = std::max(now - *attempt.unknown_since, base::Duration::zero());
  attempt.unknown_since.reset();
  run.since = run.since + gap;
  if (attempt.absent_since) attempt.absent_since = *attempt.absent_since + gap;
}

// It has no node or container yet.
Run on_pending(Run run, const RunFacts& facts, const RunConfig& config, base::WallTime now) {
  if (run.phase != Phase::kSubmitted) return run;
  const bool is_late = now - run.since >= config.admission_limit;
  if (run.attempts.back().side == Side::kYarn) {
    // A queue of YARN may be long, and a stop there may meet a driver that has just started.
    const bool moves = is_late && facts.rerun_safe && has_another_side(run, facts);
    return moves ? stop(std::move(run), StopReason::kAdmission, now) : run;
  }
  if (config.no_more_kubernetes && has_another_side(run, facts)) {
    return stop(std::move(run), StopReason::kSwitchedOff, now);
  }
  return is_late ? stop(std::move(run), StopReason::kAdmission, now) : run;
}

// It has a node, and its container does not run.
Run on_admitted(Run run, const Observation& seen, const RunConfig& config, base::WallTime now) {
  if (run.phase == Phase::kSubmitted) return enter(std::move(run), Phase::kAdmitted, now);
  if (run.phase != Phase::kAdmitted || now - run.since < config.admission_limit) return run;
  return stop(std::move(run), seen.image_unavailable ? StopReason::kImage : StopReason::kStart, now);
}

}  // namespace

Effect effect_of(const Run& run) {
  switch (run.phase) {
    case Phase::kQueued:
      return Effect::kRoute;
    case Phase::kRouted:
      return Effect::kReserve;
    case Phase::kReserved:
      return Effect::kSubmit;
    case Phase::kEnding:
      return run.attempts.back().end ? Effect::kRelease : Effect::kStop;
    case Phase::kReceived:
    case Phase::kSubmitted:
    case Phase::kAdmitted:
    case Phase::kRunning:
    case Phase::kDone:
    case Phase::kCancelled:
      break;
  }
  return Effect::kNone;
}

bool will_move(const Run& run, const RunFacts& facts) {
  if (run.phase != Phase::kEnding || !run.attempts.back().end) return false;
  const End& end = *run.attempts.back().end;
  return may_move(end.end_class) && has_another_side(run, facts) && (facts.rerun_safe || end.never_started);
}

Run queue(Run run, base::WallTime now) {
  if (run.phase != Phase::kReceived) return run;
  return enter(std::move(run), Phase::kQueued, now);
}

Run on_routed(Run run, const RouteDecision& decision, base::WallTime now) {
  if (run.phase != Phase::kQueued || !decision.side || run.attempts.size() == kAttemptsMax) return run;
  Attempt& attempt = run.attempts.emplace_back();
  attempt.side = *decision.side;
  attempt.reason = decision.reason;
  attempt.rule = decision.rule;
  return enter(std::move(run), Phase::kRouted, now);
}

Run on_reserved(Run run, Reservation reservation, base::WallTime now) {
  if (run.phase != Phase::kRouted) return run;
  Attempt& attempt = run.attempts.back();
  attempt.handle = std::move(reservation.handle);
  attempt.way = reservation.way;
  attempt.way_reason = std::move(reservation.way_reason);
  return enter(std::move(run), Phase::kReserved, now);
}

Run on_accepted(Run run, base::WallTime now) {
  if (run.phase != Phase::kReserved) return run;
  run.attempts.back().accepted = now;
  return enter(std::move(run), Phase::kSubmitted, now);
}

Run on_refused(Run run, EndClass why, const RunFacts& facts, const RunConfig& config, base::WallTime now) {
  if (run.phase != Phase::kReserved) return run;
  if (!may_move(why)) return end(std::move(run), End{why}, now);
  if (!has_another_side(run, facts) && now - run.since < config.admission_limit) return run;
  // An earlier creation without an answer may still arrive: the stop makes sure that it never starts.
  return stop(std::move(run), StopReason::kRefused, now);
}

Run on_observed(Run run, const Observation& seen, const RunFacts& facts, const RunConfig& config, base::WallTime now) {
  if (!is_followed(run.phase)) return run;
  if (seen.state == DriverState::kUnknown) {
    if (!run.attempts.back().unknown_since) run.attempts.back().unknown_since = now;
    return run;
  }
  skip_unknown_time(run, now);
  if (seen.state == DriverState::kAbsent) return on_absent(std::move(run), config, now);
  run.attempts.back().absent_since.reset();
  switch (seen.state) {
    case DriverState::kEnded:
      return end(std::move(run), seen.end.value_or(End{EndClass::kLost}), now);
    case DriverState::kRunning:
      if (run.phase == Phase::kRunning) return run;
      if (!run.attempts.back().running_since) run.attempts.back().running_since = now;
      return enter(std::move(run), Phase::kRunning, now);
    case DriverState::kAdmitted:
      return on_admitted(std::move(run), seen, config, now);
    case DriverState::kPending:
      return on_pending(std::move(run), facts, config, now);
    case DriverState::kUnknown:
    case DriverState::kAbsent:
      break;
  }
  return run;
}

Run on_stopped(Run run, std::optional<End> seen, base::WallTime now) {
  if (run.phase != Phase::kEnding || run.attempts.back().end) return run;
  const StopReason reason = run.attempts.back().stop;
  return end(std::move(run), by_our_stop(seen, reason), now);
}

Run on_stop_too_late(Run run, base::WallTime now) {
  if (run.phase != Phase::kEnding || run.attempts.back().end || run.cancel) return run;
  const StopReason reason = std::exchange(run.attempts.back().stop, StopReason::kNone);
  return enter(std::move(run), reason == StopReason::kRefused ? Phase::kReserved : Phase::kAdmitted, now);
}

Run on_stop_absent(Run run, const RunConfig& config, base::WallTime now) {
  if (run.phase != Phase::kEnding || run.attempts.back().end) return run;
  return on_absent(std::move(run), config, now);
}

Run on_released(Run run, const RunFacts& facts, base::WallTime now) {
  if (run.phase != Phase::kEnding || !run.attempts.back().end) return run;
  const Phase next = run.cancel ? Phase::kCancelled : will_move(run, facts) ? Phase::kQueued : Phase::kDone;
  return enter(std::move(run), next, now);
}

Run on_cancel(Run run, base::WallTime now) {
  if (is_final(run.phase)) return run;
  run.cancel = true;
  switch (run.phase) {
    case Phase::kReceived:
    case Phase::kQueued:
    case Phase::kRouted:  // an application id at most: it has no application
      return enter(std::move(run), Phase::kCancelled, now);
    case Phase::kReserved:
    case Phase::kSubmitted:
    case Phase::kAdmitted:
    case Phase::kRunning:
      return stop(std::move(run), StopReason::kCancel, now);
    case Phase::kEnding:
      if (!run.attempts.back().end) run.attempts.back().stop = StopReason::kCancel;
      return run;
    case Phase::kDone:
    case Phase::kCancelled:
      break;
  }
  return run;
}

std::optional<End> result_of(const Run& run) {
  if (run.phase != Phase::kDone) return std::nullopt;
  return run.attempts.back().end;
}

}  // namespace tidemark::policy::route
