// How an agent stands to each of its strategies: whether what it decides is written, and by whose word.
//
//   switched off, on the machine or by the mark    off: offline work keeps its least, the rest is put back. Of what was
//                                                  only observed nothing begins but what holds processors
//   Koordinator's agent runs here (peer.h)         observe: two would write over each other
//   what runs here, or what is wanted, not known   keep: what stands stays
//   nobody could write here (no rights, no groups) observe, whatever the settings or the mark say
//   the agent ended unexpectedly again and again   hold: only what narrows; online work is kept behind nobody. What is
//                                                  only observed is kept: nothing of it begins or is put back, but for
//                                                  online work that is behind others by it
//   observe, by settings or by the mark            observe: decided and shown; what was written is put back
//   otherwise                                      enforce
//
// The first that holds decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/node_strategy.h"
#include "model/reason.h"
#include "policy/pools/pools.h"
#include "policy/state/mark.h"
#include "policy/state/order.h"

namespace tidemark::policy {

// What may be done for a strategy now.
enum class Permit : std::uint8_t {
  kKeep,     // nothing: what stands stays
  kTighten,  // only what leaves a group less than it has
  kEnforce,  // all that is wanted; what is not wanted any more is put back
  kPutBack,  // nothing of it is to stand: all is put back
};
std::string_view to_string(Permit);

template <class T>
using ByStrategy = std::array<T, model::kStrategies.size()>;

struct StanceInputs {
  bool known = false;                // what runs here and what is wanted of the node, by now or from before
  bool state_known = false;          // the node's mark
  const NodeMarks* marks = nullptr;  // null: nothing was ordered
  ByStrategy<Mode> modes{};
  bool latched = false;
  bool holding = false;
  bool peer_present = false;
  bool only_shows = false;  // what is decided cannot be written by this agent
};

struct Stance {
  bool off = false;  // strategies are asked what an off node wants
  // By its mark (draining, off) the node offers nothing: that says nothing of how much was sold on it.
  bool withdrawn = false;
  // Of limits only what holds processors: memory was only observed, and a pod that uses more than its limit is killed.
  bool limits_cpu_alone = false;
  ByStrategy<Permit> permits{};
  ByStrategy<model::Reason> reasons{};
  std::optional<StateOrder> order;            // that made it so
  std::optional<base::Duration> again_after;  // time alone changes it
  bool operator==(const Stance&) const = default;
};
Stance stance(const StanceInputs& inputs, base::WallTime now);

// After so many unexpected ends in so long an agent begins by holding, for as long.
inline constexpr std::size_t kHoldAfterEnds = 3;
inline constexpr base::Duration kHoldWindow = std::chrono::minutes(10);

}  // namespace tidemark::policy
