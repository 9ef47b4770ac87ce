// The permit of each strategy of an agent: whether its decisions are written, and why.
//
//    off, by the latch or by the mark               off: offline work keeps its minimum, the rest is restored. Of
//                                                   strategies in mode observe only CPU limits start
//    Koordinator's agent runs here (peer.h)         restore: two agents would overwrite each other
//    the tasks or the desired state are unknown     keep: the values in force stay
//    the agent cannot write (no rights, no cgroups) restore, regardless of the settings or the mark
//    safe start: the agent crashed repeatedly       tighten: only tighter limits; online work is never at low priority.
//                                                   Values of observed strategies stay: nothing starts or is restored,
//                                                   except for online work at low priority
//    observe, by settings or by the mark            restore: decided and shown; written values are restored
//    otherwise                                      enforce
//
// The first match decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/node_strategy.h"
#include "model/reason.h"
#include "policy/evict/left_over.h"
#include "policy/state/mark.h"
#include "policy/state/order.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::state {

// What a strategy may do now.
enum class Permit : std::uint8_t {
  kKeep,     // nothing: the values in force stay
  kTighten,  // only lower limits
  kEnforce,  // all intents; values without an intent are restored
  kRestore,  // no value may stay: all are restored
};
std::string_view to_string(Permit);

template <class T>
using ByStrategy = std::array<T, model::kStrategies.size()>;

struct PermitInputs {
  bool known = false;                // the tasks and the desired state of the node are known, now or from before
  bool state_known = false;          // the node's mark
  const NodeMarks* marks = nullptr;  // null: nothing was ordered
  ByStrategy<model::Mode> modes{};
  bool latched = false;
  bool holding = false;
  bool peer_present = false;
  bool only_shows = false;  // this agent cannot write its decisions
};

struct AgentPermits {
  bool off = false;  // strategies decide as for a node that is off
  // By its mark (draining, off) the node offers nothing: that does not show how much was sold on it.
  bool withdrawn = false;
  // Of limits only those of CPU: memory was only observed, and a pod that uses more than its limit is killed.
  bool limits_cpu_alone = false;
  ByStrategy<Permit> permits{};
  ByStrategy<model::Reason> reasons{};
  std::optional<StateOrder> order;             // that made it so
  std::optional<evict::EvictionOrder> evicts;  // of a person: containers that outlive it are ended
  std::optional<base::Duration> again_after;   // time alone changes it
  bool operator==(const AgentPermits&) const = default;
};
AgentPermits agent_permits(const PermitInputs& inputs, base::WallTime now);

// After this many crashes within this time, an agent begins with a safe start of the same length.
inline constexpr std::size_t kHoldAfterEnds = 3;
inline constexpr base::Duration kHoldWindow = std::chrono::minutes(10);

}  // namespace tidemark::policy::state
