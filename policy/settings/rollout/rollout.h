// How new settings reach the nodes: in steps, so that a valid but wrong edit affects a few nodes, not the fleet.
//
//    edit ──▶ canary nodes, at most N a minute ──▶ soak ──▶ all others, at most N a minute ──▶ done
//                         └────── eviction spike, or a pause by an operator ──────┘
//                                               │
//                             paused ── resume, undo, or another edit ──▶
//
// The revision in force on a node is a function of the state and of the node's name, so every replica, `explain` and a
// manager after a restart find the same:
//
//    order(node)   = 16 hex digits of a hash of its name, "/", the name: a fixed order of all nodes, like a shuffle
//    layer covers node  ⇔  order(node) ≤ the mark of its canaries, or of the others
//    in force      = the topmost layer that covers the node; the bottom one covers all
//
// A step moves marks up and never down, so a node changes settings once in a rollout, and new or absent nodes need no
// bookkeeping. The limit N a minute counts the nodes that a mark passes. Nodes that appear below a mark start with the
// new settings.
//
// Everywhere at once, without steps:
//   - the first settings ever, since a restart must not roll out slowly what is in force
//   - if the settings in force say so, and if there is no tidemark-config (as in Koordinator)
//   - back to the bottom revision during a rollout
//   - an edit that only switches co-location off, and a request to apply at once
//
// The settings in force before an edit govern its rollout: an edit cannot loosen its own limits. The edit's own apply
// only if the earlier ones have none (there was no tidemark-config).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::settings {

// Revisions that may be in force side by side: an edit while others are on their way makes one more.
inline constexpr std::size_t kLayersMax = 8;
// Marks are moved this often, each time by a share of a minute's limit.
inline constexpr base::Duration kRolloutStep = std::chrono::seconds(5);
// Soak time counts only while a manager watches: a longer pause between two steps counts as this.
inline constexpr base::Duration kSoakStepMax = std::chrono::seconds(15);
// How long a requested revision is awaited: there are two ConfigMaps, and the state between the two writes is not an
// edit.
inline constexpr base::Duration kRequestMax = std::chrono::seconds(60);

// Comparable as text. "" is before every node, kAllNodes behind every node.
using NodeMark = std::string;
inline const NodeMark kAllNodes = "~";
NodeMark order_of(std::string_view node_name);

struct Layer {
  std::string revision;  // its hash
  NodeMark canaries;     // canary nodes up to here run it
  NodeMark others;       // all other nodes up to here run it
  bool operator==(const Layer&) const = default;
};

enum class Phase : std::uint8_t { kSettled, kCanary, kSoak, kFleet };

struct Grant {  // nodes that a mark passed
  base::WallTime at;
  std::int64_t nodes = 0;
  bool operator==(const Grant&) const = default;
};

struct PoolEvictions {
  std::string pool;
  std::int64_t evictions = 0;
  bool operator==(const PoolEvictions&) const = default;
};

struct Hold {
  model::Reason reason;  // kRolloutEvictionSpike or kRolloutHeld
  base::WallTime since;
  std::optional<base::WallTime> until;  // ends automatically
  // Of a spike: the pool, the count, and the allowed count.
  std::string pool;
  std::int64_t evictions = 0;
  std::int64_t allowed = 0;
  bool operator==(const Hold&) const = default;
};

// The memory: stored after every step that changes it, and enough to go on from.
struct RolloutState {
  std::vector<Layer> layers;  // the bottom one first; empty before the first step ever
  Phase phase = Phase::kSettled;
  base::WallTime began;   // when the topmost layer came
  base::WallTime looked;  // of the last step
  base::Duration soaked{0};
  std::vector<Grant> grants;                            // of the last minute, oldest first
  std::optional<std::vector<PoolEvictions>> baselines;  // in a window before it began; nullopt while unknown
  std::optional<Hold> hold;
  std::string request;  // the id of the last request that was dealt with

  const std::string& target() const { return layers.back().revision; }
  bool operator==(const RolloutState&) const = default;
};

// A request of an operator (`tidemark undo|hold|resume config`).
struct RolloutRequest {
  enum class Verb : std::uint8_t { kTake, kHold, kResume };
  std::string id;
  Verb verb = Verb::kHold;
  std::string revision;  // of kTake: the ConfigMaps will contain this one
  bool at_once = false;  // of kTake and kResume
  base::WallTime at;
  std::optional<base::WallTime> until;  // of kHold
};

struct RolloutNode {
  std::string_view name;
  bool canary = false;
  std::string_view pool;
};

struct RolloutObservation {
  std::string source;       // the hash of the ConfigMaps' content (if that is valid)
  bool only_stops = false;  // `source` differs from the target only in switching co-location off
  bool keepable = true;     // `source` is small enough to store beside the settings in force
  std::span<const RolloutNode> nodes;
  // In the last window of the settings, one entry per pool with evictions; nullopt while unknown.
  std::optional<std::vector<PoolEvictions>> evictions;
  std::optional<RolloutRequest> request;
};

struct RolloutPlan {
  // The events of this step, in order; waiting states (soaking, paused, waiting) are included once.
  std::vector<model::Reason> reasons;
  bool store = false;        // the state differs in more than the time of the last pass
  bool in_force = false;     // some node has another revision than before
  std::int64_t moved = 0;    // nodes that a mark passed
  std::int64_t waiting = 0;  // nodes that do not run the target yet
};

struct RolloutStep {
  RolloutState state;
  RolloutPlan plan;
};

RolloutStep step(const RolloutState& state, const RolloutObservation& observation,
                 const waterline::RolloutSettings& settings, base::WallTime now);

// The hash of the revision that is in force on the node. `state` has a layer.
const std::string& in_force(const RolloutState& state, std::string_view node_name, bool canary);

}  // namespace tidemark::policy::settings
