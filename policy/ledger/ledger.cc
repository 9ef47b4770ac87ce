#include "policy/ledger/ledger.h"

#include <algorithm>
#include <limits>

namespace tidemark::policy {
namespace {

using model::Reason;

constexpr std::int64_t kOverReportMin = 1;
constexpr std::int64_t kOverReportMax = 1000;  // ten times what there is; more is a slip of the pen

// Quotients of wild numbers hold at the ends of int64.
std::int64_t narrowed(__int128 value) {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp<__int128>(value, 0, kMax));
}

template <class Amount>
Amount scaled(Amount value, std::int64_t times, std::int64_t divisor, bool up = false) {
  const __int128 product = static_cast<__int128>(std::max<std::int64_t>(value.value, 0)) * times;
  return {narrowed((product + (up ? divisor - 1 : 0)) / divisor)};
}

// One resource of one side, in real units.
template <class Amount>
struct One {
  std::int64_t over_report;
  std::int64_t share_min;
  std::int64_t share_max;
  bool wants_more;
  bool taken_back;
  bool known;
  Amount held;
  Amount held_less_timely;  // the part that the other side's work may push out
  Amount told_now;          // by its last offer, in real units
  Amount may_hand_out;      // by what it was told and what it is known to act on

  Amount real(Amount told) const { return scaled(told, 100, over_report, true); }
  Amount told(Amount real) const { return scaled(real, over_report, 100); }
};

template <class Amount>
struct Field {
  Amount model::Resources::* of;
  std::int64_t OverReport::* over_report;
};
constexpr Field<model::CpuMilli> kCpu{&model::Resources::cpu, &OverReport::cpu_percent};
constexpr Field<model::MemoryBytes> kMemory{&model::Resources::memory, &OverReport::memory_percent};

template <class Amount>
One<Amount> read(const SideBook& book, const SideConfig& config, const SideBook& other, bool class_aware,
                 const Field<Amount>& field) {
  One<Amount> one;
  one.over_report = std::clamp(config.over_report.*(field.over_report), kOverReportMin, kOverReportMax);
  one.share_min = std::clamp<std::int64_t>(config.share_min_percent, 0, 100);
  one.share_max = std::clamp<std::int64_t>(config.share_max_percent, one.share_min, 100);
  one.taken_back = book.taken_back;
  one.wants_more = book.wants_more && !book.taken_back;
  one.known = book.sold.has_value();
  one.told_now = one.real(book.told.*field.of);
  one.may_hand_out = std::max(one.told_now, one.real(book.confirmed.*field.of));
  if (!book.sold) {
    one.held = one.may_hand_out;
    return one;
  }
  Amount sold;
  Amount less_timely;
  for (const auto& each : *book.sold) {
    const Amount amount = std::max(each.amount.*field.of, Amount{0});
    sold += amount;
    if (class_aware && other.wants_more && !other.taken_back && each.order < other.best_order) less_timely += amount;
  }
  one.held = one.real(sold + std::max(book.in_flight.*field.of, Amount{0}));
  one.held_less_timely = std::min(one.real(less_timely), one.held);
  return one;
}

template <class Amount>
Amount guaranteed(const One<Amount>& side, Amount origin) {
  return side.wants_more ? scaled(origin, side.share_min, 100) : Amount{0};
}

// What the other side takes away from this one, and why.
template <class Amount>
void take_off(SideTerms<Amount>& terms, const One<Amount>& other, Amount origin) {
  const Amount stays = other.held - other.held_less_timely;
  const Amount kept = guaranteed(other, origin);
  terms.taken = std::max(stays, kept);
  if (kept > stays) {
    terms.taken_by = Reason::kLedgerOtherReserved;
  } else if (!other.known) {
    terms.taken_by = Reason::kLedgerUnknown;
  } else {
    terms.taken_by = stays > Amount{0} ? Reason::kLedgerOtherSold : Reason::kLedgerAll;
  }
}

template <class Amount>
SideTerms<Amount> shared_side(const One<Amount>& side, const One<Amount>& other, Amount origin) {
  SideTerms<Amount> terms;
  terms.held = side.held;
  take_off(terms, other, origin);
  terms.real = std::max(origin - terms.taken, Amount{0});
  terms.reason = terms.taken_by;
  const Amount most = scaled(origin, side.share_max, 100);
  if (terms.real > most) {
    terms.real = most;
    terms.reason = Reason::kLedgerShareMax;
  }
  if (side.taken_back) {
    terms.real = Amount{0};
    terms.reason = Reason::kLedgerTakenBack;
  }
  return terms;
}

// What is idle goes to the side that wants it; where both or neither do, by their smallest shares, else in halves.
template <class Amount>
Amount part_of_idle(const One<Amount>& side, const One<Amount>& other, Amount idle) {
  if (side.taken_back || other.taken_back) return side.taken_back ? Amount{0} : idle;
  if (side.wants_more != other.wants_more) return side.wants_more ? idle : Amount{0};
  const std::int64_t all = side.share_min + other.share_min;
  return all == 0 ? scaled(idle, 1, 2) : scaled(idle, side.share_min, all);
}

template <class Amount>
struct Due {
  Amount kubernetes;
  Amount yarn;
};

template <class Amount>
Due<Amount> strict_due(const One<Amount>& k, const One<Amount>& y, Amount origin) {
  const Amount k_stays = k.held - k.held_less_timely;
  const Amount y_stays = y.held - y.held_less_timely;
  const Amount idle = std::max(origin - k_stays - y_stays, Amount{0});
  Due<Amount> due{k_stays + part_of_idle(k, y, idle), y_stays + part_of_idle(y, k, idle)};

  // A guaranteed share that is wanted comes back, whoever borrowed it. Where the guarantees of both pass 100 %,
  // Kubernetes' comes first.
  const Amount k_kept = guaranteed(k, origin);
  const Amount y_kept = std::min(guaranteed(y, origin), origin - k_kept);
  due.kubernetes = std::clamp(due.kubernetes, k_kept, std::max(origin - y_kept, k_kept));
  due.yarn = std::clamp(due.yarn, y_kept, std::max(origin - k_kept, y_kept));
  due.kubernetes = std::min(due.kubernetes, scaled(origin, k.share_max, 100));
  due.yarn = std::min(due.yarn, scaled(origin, y.share_max, 100));
  if (k.taken_back) due.kubernetes = Amount{0};
  if (y.taken_back) due.yarn = Amount{0};
  // Both hold more than there is (the origin dropped), or the guarantee of one took from the other: the one that is
  // above its guarantee gives way.
  if (due.kubernetes + due.yarn > origin) {
    if (due.yarn > y_kept) due.yarn = std::max(y_kept, origin - due.kubernetes);
    if (due.kubernetes + due.yarn > origin) due.kubernetes = std::max(k_kept, origin - due.yarn);
    if (due.kubernetes + due.yarn > origin) due.yarn = std::max(Amount{0}, origin - due.kubernetes);
  }
  return due;
}

template <class Amount>
SideTerms<Amount> strict_side(const One<Amount>& side, const One<Amount>& other, Amount due, Amount other_told_now,
                              Amount origin) {
  SideTerms<Amount> terms;
  terms.held = side.held;
  take_off(terms, other, origin);
  const Amount not_free = std::max({other.held, other.may_hand_out, other_told_now});
  const Amount free = std::max(origin - not_free, Amount{0});
  // Who does not grow needs nobody's word for it: the parts that are due never come to more than the origin.
  terms.real = std::min(due, std::max(free, side.told_now));
  if (side.taken_back) {
    terms.reason = Reason::kLedgerTakenBack;
  } else if (terms.real < due) {
    terms.taken = not_free;
    terms.reason = Reason::kLedgerAwaitsOther;
  } else if (due == scaled(origin, side.share_max, 100) && side.share_max < 100) {
    terms.reason = Reason::kLedgerShareMax;
  } else {
    terms.reason = terms.real + terms.taken < origin ? Reason::kLedgerPartOfIdle : terms.taken_by;
  }
  return terms;
}

template <class Amount>
void close(SideTerms<Amount>& terms, const One<Amount>& side, const One<Amount>& other, Amount origin) {
  terms.offer = side.told(terms.real);
  if (other.held_less_timely > Amount{0}) {
    const Amount in_the_way = std::max(terms.real + other.held - origin, Amount{0});
    terms.reclaim = std::min(in_the_way, other.held_less_timely);
  }
}

template <class Amount>
void split_one(Amount origin, const SideBook& kubernetes, const SideBook& yarn, const LedgerConfig& config,
               const Field<Amount>& field, SideTerms<Amount>& k_terms, SideTerms<Amount>& y_terms) {
  origin = std::max(origin, Amount{0});
  const One<Amount> k = read(kubernetes, config.kubernetes, yarn, config.class_aware, field);
  const One<Amount> y = read(yarn, config.yarn, kubernetes, config.class_aware, field);
  if (config.mode == LedgerMode::kShared) {
    k_terms = shared_side(k, y, origin);
    y_terms = shared_side(y, k, origin);
  } else {
    const auto due = strict_due(k, y, origin);
    // One after the other: what the first is told now counts against the second.
    k_terms = strict_side(k, y, due.kubernetes, Amount{0}, origin);
    y_terms = strict_side(y, k, due.yarn, k_terms.real, origin);
  }
  close(k_terms, k, y, origin);
  close(y_terms, y, k, origin);
}

}  // namespace

LedgerPlan split(model::Resources origin, const SideBook& kubernetes, const SideBook& yarn,
                 const LedgerConfig& config) {
  LedgerPlan plan;
  split_one(origin.cpu, kubernetes, yarn, config, kCpu, plan.kubernetes.cpu, plan.yarn.cpu);
  split_one(origin.memory, kubernetes, yarn, config, kMemory, plan.kubernetes.memory, plan.yarn.memory);
  return plan;
}

OverReportStep guard_over_report(const OverReportState& before, const OverReport& wanted, const EvictionRate& rate,
                                 std::int64_t elapsed_s) {
  OverReportStep out;
  out.state = before;
  const __int128 evicted = std::max<std::int64_t>(rate.evicted, 0);
  const __int128 ended = evicted + std::max<std::int64_t>(rate.finished, 0);
  const bool high = evicted * 1000 > ended * kEvictionRateMaxPermille;
  const bool calm = evicted * 1000 <= ended * kEvictionRateCalmPermille;
  if (high) {
    out.state = {true, std::nullopt};
  } else if (out.state.fallen_back) {
    const auto before_s = out.state.calm_s.value_or(0);
    out.state.calm_s =
        calm ? std::optional(std::min(kEvictionCalmNeeded_s, before_s + std::max<std::int64_t>(elapsed_s, 0)))
             : std::nullopt;
    if (out.state.calm_s == kEvictionCalmNeeded_s) out.state = {};
  }
  const auto truthful = [&](std::int64_t percent) {
    return out.state.fallen_back ? std::min<std::int64_t>(percent, 100) : percent;
  };
  out.effective = {truthful(wanted.cpu_percent), truthful(wanted.memory_percent)};
  return out;
}

}  // namespace tidemark::policy
