#include "policy/sell/ledger/reclaim.h"

#include <algorithm>
#include <cstddef>

namespace tidemark::policy::sell {
namespace {

using Wide = __int128;  // no sum of amounts overflows

struct Side {
  const Claim& claim;
  Wide held = 0;
  Wide less_timely = 0;   // that may be reclaimed
  Wide least_timely = 0;  // the part of it that is also less timely than the waiting work of this side
  Wide needs = 0;
  Wide gets = 0;
  Wide returns = 0;

  explicit Side(const Claim& of) : claim(of), held(std::max<std::int64_t>(of.held, 0)) {
    for (const auto& each : of.less_timely) {
      const std::int64_t amount = std::max<std::int64_t>(each.amount, 0);
      less_timely += amount;
      if (of.waiting && each.order < *of.waiting) least_timely += amount;
    }
    less_timely = std::min(less_timely, held);
    least_timely = std::min(least_timely, held);
  }
};

Wide needs(const Side& side, const Side& other, Wide origin, Wide has) {
  if (!side.claim.waiting) return 0;
  const Wide room = std::min<Wide>(side.claim.most, origin - other.claim.guaranteed) - has;
  return std::clamp<Wide>(room, 0, std::max<std::int64_t>(side.claim.waits_for, 0));
}

// No work is reclaimed for equally timely work.
void serve_in_turn(Side& first, Side& second, Wide idle) {
  first.gets = std::clamp<Wide>(idle + first.less_timely + second.less_timely, 0, first.needs);
  second.gets = std::clamp<Wide>(idle + first.less_timely + second.least_timely - first.needs, 0, second.needs);
}

void serve_alike(Side& a, Side& b, Wide idle) {
  const Wide to_have = std::max<Wide>(idle + a.less_timely + b.less_timely, 0);
  const Wide fair = Wide{a.claim.fair_part} - (a.held - a.less_timely);
  a.gets = std::clamp<Wide>(fair, 0, std::min(a.needs, to_have));
  b.gets = std::min(b.needs, to_have - a.gets);
  a.gets = std::min(a.needs, to_have - b.gets);
}

// The least timely first; if equal, Kubernetes first.
void ask_back(Side& k, Side& y, Wide amount) {
  const auto& of_k = k.claim.less_timely;
  const auto& of_y = y.claim.less_timely;
  const auto take = [&amount](Side& side, const Claim::Less& less) {
    const Wide most = std::min<Wide>(std::max<std::int64_t>(less.amount, 0), side.less_timely - side.returns);
    const Wide part = std::min(most, amount);
    side.returns += part;
    amount -= part;
  };
  std::size_t at_k = 0;
  std::size_t at_y = 0;
  while (amount > 0 && (at_k < of_k.size() || at_y < of_y.size())) {
    const bool from_k = at_y == of_y.size() || (at_k < of_k.size() && of_k[at_k].order <= of_y[at_y].order);
    if (from_k) {
      take(k, of_k[at_k++]);
    } else {
      take(y, of_y[at_y++]);
    }
  }
}

SideReclaim way_of(const Side& side) {
  return {static_cast<std::int64_t>(side.gets), static_cast<std::int64_t>(side.returns)};
}

}  // namespace

ReclaimPlan plan_reclaim(std::int64_t origin, const Claim& kubernetes, const Claim& yarn) {
  Side k(kubernetes);
  Side y(yarn);
  const Wide all = std::max<std::int64_t>(origin, 0);
  // If a side cannot get more, whatever it returns itself, no work of the other side is reclaimed for it.
  const bool for_k = needs(k, y, all, k.held - k.less_timely) > 0;
  const bool for_y = needs(y, k, all, y.held - y.less_timely) > 0;
  if (!for_y) k.less_timely = k.least_timely = 0;
  if (!for_k) y.less_timely = y.least_timely = 0;
  k.needs = needs(k, y, all, k.held - k.least_timely);
  y.needs = needs(y, k, all, y.held - y.least_timely);
  if (k.needs == 0 && y.needs == 0) return {};
  const Wide idle = all - k.held - y.held;
  if (y.needs == 0 || (k.needs > 0 && *kubernetes.waiting > *yarn.waiting)) {
    serve_in_turn(k, y, idle);
  } else if (k.needs == 0 || *yarn.waiting > *kubernetes.waiting) {
    serve_in_turn(y, k, idle);
  } else {
    serve_alike(k, y, idle);
  }
  if (k.gets + y.gets > 0) ask_back(k, y, k.gets + y.gets - idle);
  return {way_of(k), way_of(y)};
}

}  // namespace tidemark::policy::sell
