// The orders for the cluster and for pools: stored in the ConfigMap `tidemark-state`, so that new nodes inherit them.
// Every node has a copy in its mark; agents read only that.
//
//    state.json: {"schema":1, "generation":N, "cluster":{mark}, "pools":[{"name":"night", mark}, …]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "policy/state/mark.h"

namespace tidemark::policy::state {

inline constexpr std::size_t kDesiredPoolsMax = 300;
inline constexpr std::size_t kDesiredBytesMax = 512 * 1024;

struct DesiredStates {
  std::int64_t generation = 0;
  std::optional<StateMark> cluster;
  std::vector<PoolMark> pools;  // by name

  const StateMark* pool(std::string_view name) const;
  bool operator==(const DesiredStates&) const = default;
};

// Rejects other schemas than 1 (kUnsupported if newer) and invalid text; names the place.
Result<DesiredStates> parse_desired(std::string_view text);
std::string format_desired(const DesiredStates& desired);

// A command for a pool, or for the cluster if `pool` is empty. kExhausted if there is no room for another pool.
struct DesiredCommand {
  DesiredStates desired;
  StateMark mark;  // the mark for the nodes
  CommandEffect effect = CommandEffect::kSet;
};
Result<DesiredCommand> command_desired(const DesiredStates& before, std::string_view pool, const StateCommand& command,
                                       base::WallTime now);

// Drops expired orders; false if there were none. The generation grows, those of the marks do not: nodes that dropped
// the same order themselves have nothing to copy.
bool drop_ended(DesiredStates& desired, base::WallTime now);

// Rebuilds it from the copies on nodes, if the ConfigMap is missing or unreadable: of each scope the latest.
void recover(DesiredStates& desired, const NodeMarks& marks);

// The last good text stays in force. If there never was one, the orders for the cluster are unknown: a node's own mark
// decides, and a node without one may not grow.
struct DesiredState {
  std::optional<DesiredStates> desired;  // nullopt: not known
};
struct DesiredStep {
  DesiredState state;
  model::Reason reason;  // kStateDesiredRead, None, Old, Lost, Unreadable
  std::string problem;
};
// `text`: nullopt if there is no ConfigMap, or it lacks the key. If it was present before, the last text stays in
// force.
DesiredStep next_desired(const DesiredState& state, std::optional<std::string_view> text);

}  // namespace tidemark::policy::state
