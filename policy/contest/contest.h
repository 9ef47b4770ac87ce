// Two writers of the same numbers. Somebody who replaces ours once is repaired; somebody who does it again and again is
// another manager, and two of them would overwrite each other for ever. Then ours stands back: it goes on deciding and
// showing, and leaves the node to the other.
//
//   ours replaced `overwrites` times within `window`           →  stand back
//   no foreign write for `calm` (twice as long each time,
//     at most `calm_max`)                                      →  write again, on probation: one more and it stands
//     back
//   nothing foreign for `calm_max` after that                  →  all is forgotten
//
// What ours had found there may come back by somebody who does not want it: where groups are systemd's, the kubelet
// sets the shares of its own each minute, and systemd says their quota anew with them. So a reset that comes no sooner
// than `reset_gap` after the one before is repaired, and that one does not count any more. For groups that systemd made
// there is no gap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"

namespace tidemark::policy {

struct ContestConfig {
  std::int64_t overwrites = 3;
  base::Duration window = std::chrono::minutes(5);
  base::Duration calm = std::chrono::minutes(10);
  base::Duration calm_max = std::chrono::hours(4);
  base::Duration reset_gap = std::chrono::seconds(30);
};
inline constexpr std::int64_t kOverwritesMax = 16;

// What is remembered of one node. The default value is a node without a history.
struct ContestState {
  std::vector<base::MonotonicTime> overwrites;  // of the last window, the oldest first
  std::optional<base::MonotonicTime> reset_at;  // the last one, within that window
  std::int64_t times = 0;                       // that it stood back
  bool standing_back = false;
  base::MonotonicTime foreign_at;                      // the last foreign write, while standing back
  std::optional<base::MonotonicTime> on_probation_at;  // since when it writes again
  bool operator==(const ContestState&) const = default;
};

enum class ContestEvent : std::uint8_t {
  kNothing,      // only time went by
  kOverwritten,  // what we wrote last was there, and now something else is
  kReset,        // the same, and it is what was there before ours
  kForeign,      // the numbers changed while we stand back
};

struct ContestStep {
  ContestState state;
  // kContestRepair, kContestStandBack, kContestReturn: what this step decided; nullopt: nothing new.
  std::optional<model::Reason> reason;
  std::optional<base::Duration> again_after;  // time alone changes the answer
};

// So many nodes of a pool of `pool_nodes` left to another writer speak for all of it: three of a small one, and one in
// a hundred of a large one, where three may be an accident of three.
std::int64_t contested_nodes_for_pool(std::int64_t pool_nodes);

// Total.
ContestStep step(const ContestState& state, ContestEvent event, const ContestConfig& config, base::MonotonicTime now);

}  // namespace tidemark::policy
