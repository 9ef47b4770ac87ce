// Detects a second writer of the same numbers. One overwrite of ours is repaired. Repeated overwrites mean another
// manager, and two managers would overwrite each other forever. Then ours stands back: it continues to decide and to
// show its decisions, and leaves the node to the other writer.
//
//   ours replaced `overwrites` times within `window`           →  stand back
//   no foreign write for `calm` (twice as long each time,
//     at most `calm_max`)                                      →  write again, on probation: one more overwrite and
//                                                                 it stands back
//   nothing foreign for `calm_max` after that                  →  forget everything
//
// The original value may also return by accident: with the systemd cgroup driver, the kubelet sets the shares of its
// cgroups each minute, and systemd rewrites their quota with them. So a reset at least `reset_gap` after the previous
// one is repaired, and the previous one no longer counts. For cgroups created by systemd the gap is 0.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"

namespace tidemark::policy::state {

struct ContestConfig {
  std::int64_t overwrites = 3;
  base::Duration window = std::chrono::minutes(5);
  base::Duration calm = std::chrono::minutes(10);
  base::Duration calm_max = std::chrono::hours(4);
  base::Duration reset_gap = std::chrono::seconds(30);
};
inline constexpr std::int64_t kOverwritesMax = 16;

// The history of one node. The default value is a node without a history.
struct ContestState {
  std::vector<base::MonotonicTime> overwrites;  // within the last window, oldest first
  std::optional<base::MonotonicTime> reset_at;  // the last reset, within that window
  std::int64_t times = 0;                       // number of times it stood back
  bool standing_back = false;
  base::MonotonicTime foreign_at;                      // the last foreign write, while standing back
  std::optional<base::MonotonicTime> on_probation_at;  // since when it writes again
  bool operator==(const ContestState&) const = default;
};

enum class ContestEvent : std::uint8_t {
  kNothing,      // only time passed
  kOverwritten,  // our last value was replaced by another value
  kReset,        // our last value was replaced by the value before ours
  kForeign,      // the numbers changed while we stand back
};

struct ContestStep {
  ContestState state;
  // kContestRepair, kContestStandBack, kContestReturn: the decision of this step; nullopt: nothing new.
  std::optional<model::Reason> reason;
  std::optional<base::Duration> again_after;  // time alone changes the answer
};

// Total.
ContestStep step(const ContestState& state, ContestEvent event, const ContestConfig& config, base::MonotonicTime now);

}  // namespace tidemark::policy::state
