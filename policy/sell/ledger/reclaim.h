// Plans reclaims in a class-aware ledger: one resource of one node, in real units.
//
//   gets(side)     the amount that the side is due beyond what may stay, for its waiting work
//   returns(side)  the amount that its less timely work returns for that
//
//   needs(side) = the waiting amount, at most what the side may reach (its largest share, and what is not guaranteed to
//                 the other), once its own work that is less timely than all waiting work is gone
//
// Waiting work is served by its timeliness: the more timely side first, the other from what is left. It gets idle
// capacity, and the capacity of less timely work: on the other side, and on its own side too if work waits on both. If
// both are equally timely each gets its fair part (by the smallest shares, else half) of the node, up to what it needs;
// what one leaves goes to the other. Σ returns = Σ gets − idle: the least timely work returns capacity first, on
// either side. So nothing is returned that no side can take, and nothing for equally timely work.
//
// No memory is needed: the returned amount is idle, and the available amount and the due of each side stay the same.
// The remaining request shrinks by it, and never grows.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tidemark::policy::sell {

struct Claim {
  struct Less {
    std::int64_t order = 0;
    std::int64_t amount = 0;
    bool operator==(const Less&) const = default;
  };
  std::int64_t held = 0;
  std::vector<Less> less_timely{};  // than the waiting work of the other side, the least timely first; part of `held`
  std::optional<std::int64_t> waiting{};                              // the order of the waiting work; nullopt: none
  std::int64_t waits_for = std::numeric_limits<std::int64_t>::max();  // the maximum if the amount is unknown
  std::int64_t most = 0;                                              // that the side may reach
  std::int64_t guaranteed = 0;
  std::int64_t fair_part = 0;  // of the origin, if both waiting works are equally timely
};
struct SideReclaim {
  std::int64_t gets = 0;
  std::int64_t returns = 0;
  bool operator==(const SideReclaim&) const = default;
};
struct ReclaimPlan {
  SideReclaim kubernetes;
  SideReclaim yarn;
  bool operator==(const ReclaimPlan&) const = default;
};

// Total; no amount is negative, and no side returns more than its less timely work.
ReclaimPlan plan_reclaim(std::int64_t origin, const Claim& kubernetes, const Claim& yarn);

}  // namespace tidemark::policy::sell
