// Overrides of the water line for a pool or for the whole cluster: stored in the ConfigMap `tidemark-state` beside the
// other orders, under a key of their own, which an earlier version leaves alone.
//
//    overrides.json: {"schema":1, "generation":N, "cluster":{override}, "pools":[{"name":"night", override}, …]}
//    override:       "cpu":60, "memory":55, "by":"ann@ops-1", "why":"a fire drill", "since":"…Z", "until":"…Z"
//
// One scope has one override: a new one replaces it. Each has an end. policy/waterline/calendar/calendar.h defines the
// combination of a pool's and the cluster's override: the lower line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/reason.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::state {

inline constexpr std::int64_t kOverridesSchema = 1;
// Longer ones belong into the calendar, which is checked, rolled out and can be undone.
inline constexpr base::Duration kOverrideLastsMax = std::chrono::hours(24 * 7);
inline constexpr base::Duration kOverrideLastsMin = std::chrono::minutes(1);
// The manager's clock decides whether an override has expired: a command, whose clock may be wrong, drops only those
// that ended long ago.
inline constexpr base::Duration kOverrideKeptEnded = std::chrono::hours(24);
inline constexpr std::int64_t kOverridePercentMax = 100;
inline constexpr std::size_t kOverridesPoolsMax = 300;
inline constexpr std::size_t kOverridesBytesMax = 512 * 1024;

struct PoolOverride {
  std::string pool;
  waterline::LineOverride line;
  bool operator==(const PoolOverride&) const = default;
};

struct Overrides {
  std::int64_t generation = 0;
  std::optional<waterline::LineOverride> cluster;
  std::vector<PoolOverride> pools;  // by name

  const waterline::LineOverride* of(
      std::string_view pool) const;  // the cluster's if `pool` is empty; null if there is none
  bool any() const { return cluster || !pools.empty(); }
  bool operator==(const Overrides&) const = default;
};

// Rejects other schemas than 1 (kUnsupported if newer) and invalid text; names the place.
Result<Overrides> parse_overrides(std::string_view text);
std::string format_overrides(const Overrides& overrides);

// Those in force that concern a pool's nodes: its own first.
waterline::LineOverrides overrides_of(const Overrides& overrides, std::string_view pool, base::WallTime now);

struct OverrideCommand {
  std::optional<waterline::LinePercent> line;  // nullopt: clear the override
  std::string by;
  std::string why;
  base::WallTime until;
};
enum class OverrideEffect : std::uint8_t {
  kSet,
  kAlready,  // the same order with the same author, reason and end exists: nothing changes
  kNothing,  // there is none to clear
};
struct OverrideCommanded {
  Overrides overrides;                            // without expired ones
  std::optional<waterline::LineOverride> before;  // the scope's earlier one, if it had not expired
  std::optional<waterline::LineOverride> after;
  OverrideEffect effect = OverrideEffect::kSet;
};
// For a pool, or for the cluster if `pool` is empty. kInvalid if the command itself is invalid, kExhausted if there is
// no room for another pool.
Result<OverrideCommanded> command_override(const Overrides& before, std::string_view pool,
                                           const OverrideCommand& command, base::WallTime now);

// The last good text stays in force. If there never was one, nothing is overridden: the calendar applies.
struct OverridesState {
  std::optional<Overrides> overrides;  // nullopt: not known
};
struct OverridesStep {
  OverridesState state;
  std::optional<model::Reason> trouble;  // kLineOverridesKept, kLineOverridesOld
  std::string problem;
};
// `text`: nullopt if there is no ConfigMap, or it lacks the key.
OverridesStep next_overrides(const OverridesState& state, std::optional<std::string_view> text);

// A change of a scope's override between two passes. Empty `pool`: the cluster's.
struct OverrideChange {
  std::string pool;
  model::Reason reason;          // kLineOverridden, kLineOverrideEnded, kLineOverrideCleared
  waterline::LineOverride line;  // the one that began, or that is over
};
// `after` at `now` against `before` at `then`.
std::vector<OverrideChange> override_changes(const Overrides& before, base::WallTime then, const Overrides& after,
                                             base::WallTime now);

}  // namespace tidemark::policy::state
