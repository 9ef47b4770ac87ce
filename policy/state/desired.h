// What was ordered for the cluster and for pools: kept in the ConfigMap `tidemark-state`, so that nodes that join later
// inherit it. Every node carries a copy in its mark; agents read only that.
//
//   state.json: {"schema":1, "generation":N, "cluster":{mark}, "pools":[{"name":"night", mark}, …]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "policy/state/mark.h"

namespace tidemark::policy {

inline constexpr std::size_t kDesiredPoolsMax = 300;
inline constexpr std::size_t kDesiredBytesMax = 512 * 1024;

struct DesiredStates {
  std::int64_t generation = 0;
  std::optional<StateMark> cluster;
  std::vector<PoolMark> pools;  // by name

  const StateMark* pool(std::string_view name) const;
  bool operator==(const DesiredStates&) const = default;
};

// Refuses what is not schema 1 (kUnsupported where it is newer) or not whole; names the place.
Result<DesiredStates> parse_desired(std::string_view text);
std::string format_desired(const DesiredStates& desired);

// A command for a pool, or for the cluster where `pool` is empty. kExhausted where there is no room for another pool.
struct DesiredCommand {
  DesiredStates desired;
  StateMark mark;  // what nodes are to carry
  CommandEffect effect = CommandEffect::kSet;
};
Result<DesiredCommand> command_desired(const DesiredStates& before, std::string_view pool, const StateCommand& command,
                                       base::WallTime now);

// Drops orders that have ended; false where there were none. The generation grows, those of the marks do not: nodes
// that dropped the same order themselves have nothing to copy.
bool drop_ended(DesiredStates& desired, base::WallTime now);

// What the copies on nodes tell of it, for when the ConfigMap is gone or cannot be read: of each scope the latest.
void recover(DesiredStates& desired, const NodeMarks& marks);

// The last good text holds. Where none was ever good, nobody knows what was ordered for the cluster: what a node
// carries itself decides, and a node that carries nothing may not grow.
struct DesiredState {
  std::optional<DesiredStates> desired;  // nullopt: not known
};
struct DesiredStep {
  DesiredState state;
  model::Reason reason;  // kStateDesiredRead, None, Old, Lost, Unreadable
  std::string problem;
};
// `text`: nullopt where there is no ConfigMap, or it lacks the key. Gone after it was there: what was read last holds.
DesiredStep next_desired(const DesiredState& state, std::optional<std::string_view> text);

}  // namespace tidemark::policy
