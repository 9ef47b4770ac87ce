#include "policy/sell/usage/report_due.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tidemark::policy::sell {
namespace {

constexpr std::int64_t kWholePermille = 1000;
constexpr std::int64_t kPermilleOfPercent = 10;

// |now − reported| in thousandths of capacity; nullopt without a value to compare.
std::optional<ReportMoved> largest_move(const ReportedLevels& told, const ReportObservation& observation) {
  struct Pair {
    ReportSubject subject;
    const model::ReportedUsage& told;
    const model::ReportedUsage& now;
  };
  std::optional<ReportMoved> largest;
  const auto look = [&](ReportSubject subject, ReportResource resource, std::int64_t before, std::int64_t after,
                        std::int64_t capacity) {
    if (capacity <= 0) return;
    const __int128 apart =
        before < after ? static_cast<__int128>(after) - before : static_cast<__int128>(before) - after;
    const auto permille = static_cast<std::int64_t>(
        std::min<__int128>(apart * kWholePermille / capacity, std::numeric_limits<std::int64_t>::max()));
    if (!largest || permille > largest->permille) largest = ReportMoved{subject, resource, before, after, permille};
  };
  for (const Pair& each : std::array{Pair{ReportSubject::kNode, told.node, observation.levels.node},
                                     Pair{ReportSubject::kSystem, told.system, observation.levels.system}}) {
    if (!each.told || !each.now) continue;
    look(each.subject, ReportResource::kCpu, each.told->cpu.value, each.now->cpu.value, observation.capacity.cpu.value);
    look(each.subject, ReportResource::kMemory, each.told->memory.value, each.now->memory.value,
         observation.capacity.memory.value);
  }
  return largest;
}

bool is_ahead(const std::optional<base::MonotonicTime>& at, base::MonotonicTime now) {
  return at && *at > now;
}

constexpr int kDoublingsMax = 16;

}  // namespace

ReportStep report_due(const ReportState& before, const ReportObservation& observation, const ReportConfig& config,
                      base::MonotonicTime now) {
  ReportStep step{before, {}};
  ReportState& state = step.state;
  if (is_ahead(state.begun, now) || is_ahead(state.attempted, now) || is_ahead(state.arrived, now)) {
    state.begun = now;
    state.attempted.reset();
    state.arrived.reset();
    state.failed = false;
  }
  if (!state.begun) state.begun = now;
  if (observation.outcome) {
    state.failed = *observation.outcome == ReportOutcome::kFailed && state.attempted;
    state.failures = state.failed ? std::min(state.failures + 1, kDoublingsMax) : 0;
    if (*observation.outcome == ReportOutcome::kArrived) {
      state.arrived = state.attempted ? state.attempted : now;
      state.told = observation.outcome_levels.value_or(ReportedLevels());
    }
  }

  if (!observation.object_exists) {
    step.plan.why = ReportWhy::kNoObject;
    return step;
  }
  if (state.attempted && now - *state.attempted < kReportGapMin) return step;

  const base::Duration interval = std::max(config.interval, kReportIntervalMin);
  const base::MonotonicTime since = state.arrived.value_or(*state.begun);
  const auto moved = largest_move(state.told, observation);
  const base::Duration wait = state.arrived ? interval : config.first.value_or(interval + config.spread);
  const base::Duration retry =
      std::min<base::Duration>(kReportRetry * (1 << std::max(state.failures - 1, 0)), interval) + config.spread;
  const bool back = state.failed && observation.back && *observation.back > *state.attempted &&
                    now - *observation.back >= config.spread;
  if (state.failed && (back || now - *state.attempted >= retry)) {
    step.plan.why = ReportWhy::kFailedLast;
  } else if (!state.failed && now - since >= wait && (!state.attempted || now - *state.attempted >= interval)) {
    step.plan.why = ReportWhy::kInterval;
  } else if (config.at_once && state.arrived && moved && moved->permille > kLargeChange_percent * kPermilleOfPercent) {
    step.plan.why = ReportWhy::kLargeChange;
    step.plan.moved = moved;
  } else {
    return step;
  }
  step.plan.report = true;
  state.attempted = now;
  state.failed = false;
  return step;
}

}  // namespace tidemark::policy::sell
