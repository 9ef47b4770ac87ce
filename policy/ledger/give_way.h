// Who gives way to whom in a class-aware ledger: one resource of one node, in real units.
//
//   gets(side)    what the side is due beyond what may stay, for the work that waits there
//   yields(side)  what its less timely work is to give back so that this can come about
//
//   needs(side) = what waits; no more than the side may come to (its largest share, and what is not guaranteed to the
//                 other), once its own work that is less timely than all that waits is gone
//
// What waits is served by its timeliness: the more timely side first, the other from what is left. It has what is idle,
// and what is less timely than it: on the other side, and on its own too where work waits on both. Where both are as
// timely each has its fair part (by the smallest shares, else half) of the node, by what it needs; what one leaves is
// the other's. Σ yields = Σ gets − idle: the least timely work goes first, whichever side it is on. So nothing is given
// back that nobody can take, and nothing for work that is as timely.
//
// There is no memory, and none is needed: what was given back is idle, and what is to be had and what each side is due
// of it stay the same. What is still asked for is less by it, and nobody is asked for more.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tidemark::policy {

struct Claim {
  struct Less {
    std::int64_t order = 0;
    std::int64_t amount = 0;
    bool operator==(const Less&) const = default;
  };
  std::int64_t held = 0;
  std::vector<Less> less_timely{};        // than what waits on the other side, the least timely first; part of `held`
  std::optional<std::int64_t> waiting{};  // the order of what waits; nullopt: nothing does
  std::int64_t waits_for = std::numeric_limits<std::int64_t>::max();  // the most: nobody says how much
  std::int64_t most = 0;                                              // that the side may come to
  std::int64_t guaranteed = 0;
  std::int64_t fair_part = 0;  // of the origin, where both wait alike
};
struct Way {
  std::int64_t gets = 0;
  std::int64_t yields = 0;
  bool operator==(const Way&) const = default;
};
struct GiveWay {
  Way kubernetes;
  Way yarn;
  bool operator==(const GiveWay&) const = default;
};

// Total; no amount is negative, and no side yields more than its less timely work.
GiveWay give_way(std::int64_t origin, const Claim& kubernetes, const Claim& yarn);

}  // namespace tidemark::policy
