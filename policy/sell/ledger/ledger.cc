#include "policy/sell/ledger/ledger.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "policy/sell/ledger/reclaim.h"

namespace tidemark::policy::sell {
namespace {

using model::Reason;

template <class Amount>
Amount part(Amount value, std::int64_t times, std::int64_t divisor) {
  return {scaled(value.value, times, divisor)};
}

// One resource of one side, in real units.
template <class Amount>
struct One {
  Currency currency = Currency::uniform(100);
  std::int64_t share_min = 0;
  std::int64_t share_max = 100;
  bool wants_more = false;
  bool withdrawn = false;
  bool known = false;
  Amount held;
  std::vector<Claim::Less> less_timely{};  // the part that the other side's work may displace
  Amount returns;                          // the part of it that is displaced
  Amount gets;                             // what is due to its waiting work, and kept for it
  std::optional<std::int64_t> waiting;     // the order of that
  std::optional<Amount> waits;             // the waiting amount
  Amount told_now;                         // by its last offer, before classes that are off were subtracted
  Amount may_hand_out;                     // by its offer and the offer it may act on

  Amount stays() const { return held - returns; }
  Amount real(Amount told) const { return {currency.real(told.value)}; }
  Amount told(Amount real) const { return {currency.told(real.value)}; }
};

template <class Amount>
struct Field {
  Amount model::Resources::* of;
  Told resource;
};
constexpr Field<model::CpuMilli> kCpu{&model::Resources::cpu, Told::kCpu};
constexpr Field<model::MemoryBytes> kMemory{&model::Resources::memory, Told::kMemory};

// What is sold, the most timely first.
std::vector<const ClassSold*> by_timeliness(const SideBook& book) {
  std::vector<const ClassSold*> out;
  if (!book.sold) return out;
  for (const auto& each : *book.sold) out.push_back(&each);
  const auto key = [](const ClassSold* each) {
    return std::tuple(each->order, std::string_view(each->work_class), each->amount.cpu, each->amount.memory);
  };
  std::ranges::sort(out, std::greater<>(), key);
  return out;
}

template <class Amount>
Amount sold_of(const ClassSold& each, const Field<Amount>& field) {
  return std::max(each.amount.*field.of, Amount{0});
}

template <class Amount>
std::int64_t percent_of(const model::SideConfig& config, const ClassSold& each, const Field<Amount>& field) {
  return percent_for(config.over_report, config.entries, each.work_class, field.resource).percent;
}

// Without entries every class counts the same, and amounts are not rounded one by one.
template <class Amount>
Currency currency_of(const SideBook& book, const model::SideConfig& config, const Field<Amount>& field) {
  const std::string_view waits = book.wants_more ? std::string_view(book.waits_class) : std::string_view();
  const auto free = percent_for(config.over_report, config.entries, waits, field.resource);
  std::vector<Currency::Part> parts;
  if (!config.entries.empty()) {
    for (const ClassSold* each : by_timeliness(book)) {
      parts.push_back({sold_of(*each, field).value, percent_of(config, *each, field)});
    }
  }
  return {std::move(parts), free.percent};
}

// What a withdrawn side holds stays until it is gone.
bool pushed_out(const ClassSold& each, const SideBook& book, const SideBook& other) {
  return !book.withdrawn && other.wants_more && !other.withdrawn && each.order < other.best_order;
}

template <class Amount>
One<Amount> read(const SideBook& book, const model::SideConfig& config, const SideBook& other,
                 const Field<Amount>& field) {
  One<Amount> one;
  one.currency = currency_of(book, config, field);
  one.share_min = std::clamp<std::int64_t>(config.share_min_percent, 0, 100);
  one.share_max = std::clamp<std::int64_t>(config.share_max_percent, one.share_min, 100);
  one.withdrawn = book.withdrawn;
  one.wants_more = book.wants_more && !book.withdrawn;
  one.known = book.sold.has_value();
  one.told_now = one.real(book.told.*field.of + std::max(book.taken_off.*field.of, Amount{0}));
  // Work that takes the free part may count with the smallest percent.
  const std::int64_t least = least_percent(config.over_report, config.entries, field.resource);
  const auto at_most = [&](Amount told) { return Amount{one.currency.real(told.value, least)}; };
  one.may_hand_out =
      std::max({one.real(book.told.*field.of), at_most(book.told.*field.of), at_most(book.confirmed.*field.of)});
  if (one.wants_more) one.waiting = book.best_order;
  if (book.waits_for) {
    one.waits = Amount{scaled((*book.waits_for.*field.of).value, 100, one.currency.free_percent(), true)};
  }
  if (!book.sold) {
    one.held = one.may_hand_out;
    return one;
  }
  Amount sold;
  for (const auto& each : *book.sold) {
    const Amount amount = sold_of(each, field);
    sold += amount;
    if (pushed_out(each, book, other)) {
      one.less_timely.push_back({each.order, scaled(amount.value, 100, percent_of(config, each, field), true)});
    }
  }
  std::ranges::sort(one.less_timely, {}, &Claim::Less::order);
  one.held = at_most(sold + std::max(book.in_flight.*field.of, Amount{0}));
  return one;
}

template <class Amount>
Amount guaranteed(const One<Amount>& side, Amount origin) {
  return side.wants_more ? part(origin, side.share_min, 100) : Amount{0};
}

// The part of each side if both can have it: by their smallest shares, else half.
template <class Amount>
Amount by_shares(const One<Amount>& side, const One<Amount>& other, Amount amount) {
  const std::int64_t all = side.share_min + other.share_min;
  return all == 0 ? part(amount, 1, 2) : part(amount, side.share_min, all);
}

template <class Amount>
Claim claim_of(const One<Amount>& side, const One<Amount>& other, Amount origin) {
  Claim claim;
  claim.held = side.held.value;
  claim.less_timely = side.less_timely;
  claim.waiting = side.waiting;
  if (side.waits) claim.waits_for = side.waits->value;
  claim.most = part(origin, side.share_max, 100).value;
  claim.guaranteed = guaranteed(side, origin).value;
  claim.fair_part = by_shares(side, other, origin).value;
  return claim;
}

template <class Amount>
void reclaim(One<Amount>& k, One<Amount>& y, Amount origin) {
  const ReclaimPlan plan = plan_reclaim(origin.value, claim_of(k, y, origin), claim_of(y, k, origin));
  k.gets = Amount{plan.kubernetes.gets};
  k.returns = Amount{plan.kubernetes.returns};
  y.gets = Amount{plan.yarn.gets};
  y.returns = Amount{plan.yarn.returns};
}

// What the other side takes from this one, and why: what it has, and what is kept for it.
template <class Amount>
void take_off(SideTerms<Amount>& terms, const One<Amount>& other, Amount has, Amount origin) {
  const Amount kept = guaranteed(other, origin);
  terms.taken = std::max(has, kept);
  if (kept > has) {
    terms.taken_by = Reason::kLedgerOtherReserved;
  } else if (!other.known) {
    terms.taken_by = Reason::kLedgerUnknown;
  } else {
    terms.taken_by = has > Amount{0} ? Reason::kLedgerOtherSold : Reason::kLedgerAll;
  }
}

template <class Amount>
SideTerms<Amount> shared_side(const One<Amount>& side, const One<Amount>& other, Amount origin) {
  SideTerms<Amount> terms;
  terms.held = side.held;
  take_off(terms, other, other.held, origin);
  terms.real = std::max(origin - terms.taken, Amount{0});
  terms.reason = terms.taken_by;
  const Amount most = part(origin, side.share_max, 100);
  if (terms.real > most) {
    terms.real = most;
    terms.reason = Reason::kLedgerShareMax;
  }
  // What is due to waiting work on the other side is kept for it, whether returned or idle.
  const Amount left = std::max(side.stays(), origin - other.stays() - other.gets);
  if (other.gets > Amount{0} && terms.real > left) {
    terms.real = left;
    terms.reason = Reason::kLedgerReclaim;
  }
  if (side.withdrawn) {
    terms.real = Amount{0};
    terms.reason = Reason::kLedgerWithdrawn;
  }
  return terms;
}

// Idle capacity goes to the side that wants it; if both or neither do, by their smallest shares, else in halves.
template <class Amount>
Amount part_of_idle(const One<Amount>& side, const One<Amount>& other, Amount idle) {
  if (side.withdrawn || other.withdrawn) return side.withdrawn ? Amount{0} : idle;
  if (side.wants_more != other.wants_more) return side.wants_more ? idle : Amount{0};
  return by_shares(side, other, idle);
}

template <class Amount>
struct Due {
  Amount kubernetes;
  Amount yarn;
};

// What one side may not have because of its largest share goes to the other, if that is kept for waiting work.
template <class Amount>
void hand_over(Due<Amount>& due, const One<Amount>& k, const One<Amount>& y, Amount origin) {
  const auto above = [&](Amount is, const One<Amount>& side) {
    return std::max(is - std::max(part(origin, side.share_max, 100), side.stays()), Amount{0});
  };
  const Amount from_k = above(due.kubernetes, k);
  const Amount from_y = above(due.yarn, y);
  due.kubernetes += from_y - from_k;
  due.yarn += from_k - from_y;
}

template <class Amount>
Due<Amount> strict_due(const One<Amount>& k, const One<Amount>& y, Amount origin, bool class_aware) {
  const Amount k_has = k.stays() + k.gets;
  const Amount y_has = y.stays() + y.gets;
  const Amount idle = std::max(origin - k_has - y_has, Amount{0});
  Due<Amount> due{k_has + part_of_idle(k, y, idle), y_has + part_of_idle(y, k, idle)};
  if (class_aware) hand_over(due, k, y, origin);

  // A guaranteed share that is wanted comes back from its borrower. If both guarantees exceed 100 %, Kubernetes comes
  // first.
  const Amount k_kept = guaranteed(k, origin);
  const Amount y_kept = std::min(guaranteed(y, origin), origin - k_kept);
  due.kubernetes = std::clamp(due.kubernetes, k_kept, std::max(origin - y_kept, k_kept));
  due.yarn = std::clamp(due.yarn, y_kept, std::max(origin - k_kept, y_kept));
  due.kubernetes = std::min(due.kubernetes, part(origin, k.share_max, 100));
  due.yarn = std::min(due.yarn, part(origin, y.share_max, 100));
  if (k.withdrawn) due.kubernetes = Amount{0};
  if (y.withdrawn) due.yarn = Amount{0};
  // Both hold more than the origin (it dropped), or a guarantee took from the other: the side above its guarantee gives
  // way.
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
  take_off(terms, other, other.stays(), origin);
  const Amount not_free = std::max({other.held, other.may_hand_out, other_told_now});
  const Amount free = std::max(origin - not_free, Amount{0});
  // A side that does not grow needs no confirmation: the due parts never exceed the origin.
  terms.real = std::min(due, std::max(free, side.told_now));
  if (side.withdrawn) {
    terms.reason = Reason::kLedgerWithdrawn;
  } else if (terms.real < due) {
    terms.taken = not_free;
    terms.reason = Reason::kLedgerAwaitsOther;
  } else if (due == part(origin, side.share_max, 100) && side.share_max < 100) {
    terms.reason = Reason::kLedgerShareMax;
  } else {
    terms.reason = terms.real + terms.taken < origin ? Reason::kLedgerPartOfIdle : terms.taken_by;
  }
  return terms;
}

template <class Amount>
void close(SideTerms<Amount>& terms, const One<Amount>& side, const One<Amount>& other) {
  terms.offer = side.told(terms.real);
  terms.reclaim = other.returns;
}

// Each class with its own percent, if classes differ.
template <class Amount>
void show_classes(SideTerms<Amount>& terms, const SideBook& book, const model::SideConfig& config,
                  const Field<Amount>& field) {
  if (config.entries.empty()) return;
  Amount held;
  for (const ClassSold* each : by_timeliness(book)) {
    const Percent percent = percent_for(config.over_report, config.entries, each->work_class, field.resource);
    const Amount told = sold_of(*each, field);
    held += told;
    terms.classes.push_back({each->work_class, false, told, Amount{scaled(told.value, 100, percent.percent, true)},
                             percent.percent, percent.entry});
  }
  const std::string waits = book.wants_more ? book.waits_class : std::string();
  const Percent percent = percent_for(config.over_report, config.entries, waits, field.resource);
  const Amount free = std::max(terms.offer - held, Amount{0});
  terms.classes.push_back(
      {waits, true, free, Amount{scaled(free.value, 100, percent.percent, true)}, percent.percent, percent.entry});
}

model::Resources held_by(const SideBook& book, const std::string& work_class) {
  model::Resources held;
  for (const auto& each : *book.sold) {
    if (each.work_class == work_class) held += model::max(each.amount, model::Resources{});
  }
  return held;
}

// `amount`, in real units, is returned by the least timely classes first.
template <class Amount>
void hand_down(Amount amount, const SideBook& book, const model::SideConfig& config, const SideBook& other,
               const Field<Amount>& field, std::vector<ClassReclaim>& reclaim) {
  auto classes = by_timeliness(book);
  std::ranges::reverse(classes);
  for (const ClassSold* each : classes) {
    if (amount <= Amount{0}) return;
    if (!pushed_out(*each, book, other)) continue;
    const Amount sold = sold_of(*each, field);
    const std::int64_t percent = percent_of(config, *each, field);
    const Amount real{scaled(sold.value, 100, percent, true)};
    const Amount taken = amount < real ? std::min(Amount{scaled(amount.value, percent, 100, true)}, sold) : sold;
    amount -= std::min(amount, real);
    if (taken == Amount{0}) continue;
    auto at =
        std::ranges::find_if(reclaim, [&](const ClassReclaim& one) { return one.work_class == each->work_class; });
    if (at == reclaim.end()) {
      reclaim.push_back({each->work_class, {}, held_by(book, each->work_class), Reason::kLedgerReclaim});
      at = reclaim.end() - 1;
    }
    at->amount.*field.of += taken;
    at->keep.*field.of = std::max(at->keep.*field.of - taken, Amount{0});
  }
}

template <class Amount>
void split_one(Amount origin, const SideBook& kubernetes, const SideBook& yarn, const model::LedgerConfig& config,
               const Field<Amount>& field, SideTerms<Amount> SidePlan::* terms, LedgerPlan& plan) {
  SideTerms<Amount>& k_terms = plan.kubernetes.*terms;
  SideTerms<Amount>& y_terms = plan.yarn.*terms;
  origin = std::max(origin, Amount{0});
  One<Amount> k = read(kubernetes, config.kubernetes, yarn, field);
  One<Amount> y = read(yarn, config.yarn, kubernetes, field);
  if (config.class_aware) reclaim(k, y, origin);
  if (config.mode == model::LedgerMode::kShared) {
    k_terms = shared_side(k, y, origin);
    y_terms = shared_side(y, k, origin);
  } else {
    const Due<Amount> due = strict_due(k, y, origin, config.class_aware);
    // In sequence: what the first is offered now counts against the second.
    k_terms = strict_side(k, y, due.kubernetes, Amount{0}, origin);
    y_terms = strict_side(y, k, due.yarn, k_terms.real, origin);
  }
  close(k_terms, k, y);
  close(y_terms, y, k);
  show_classes(k_terms, kubernetes, config.kubernetes, field);
  show_classes(y_terms, yarn, config.yarn, field);
  hand_down(y_terms.reclaim, kubernetes, config.kubernetes, yarn, field, plan.kubernetes.reclaim);
  hand_down(k_terms.reclaim, yarn, config.yarn, kubernetes, field, plan.yarn.reclaim);
}

}  // namespace

LedgerPlan split(model::Resources origin, const SideBook& kubernetes, const SideBook& yarn,
                 const model::LedgerConfig& config) {
  LedgerPlan plan;
  split_one(origin.cpu, kubernetes, yarn, config, kCpu, &SidePlan::cpu, plan);
  split_one(origin.memory, kubernetes, yarn, config, kMemory, &SidePlan::memory, plan);
  return plan;
}

model::Resources real_of(const SideBook& book, const model::SideConfig& config, model::Resources told) {
  return {{currency_of(book, config, kCpu).real(told.cpu.value)},
          {currency_of(book, config, kMemory).real(told.memory.value)}};
}

model::Resources told_of(const SideBook& book, const model::SideConfig& config, model::Resources real) {
  return {{currency_of(book, config, kCpu).told(real.cpu.value)},
          {currency_of(book, config, kMemory).told(real.memory.value)}};
}

model::SideConfig truthful(model::SideConfig side) {
  const auto cut = [](std::int64_t& percent) { percent = std::min<std::int64_t>(percent, 100); };
  cut(side.over_report.cpu_percent);
  cut(side.over_report.memory_percent);
  for (auto& entry : side.entries) {
    if (entry.cpu_percent) cut(*entry.cpu_percent);
    if (entry.memory_percent) cut(*entry.memory_percent);
  }
  return side;
}

OverReportStep guard_over_report(const OverReportState& before, const model::OverReport& wanted,
                                 const EvictionRate& rate, std::int64_t elapsed_s) {
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

}  // namespace tidemark::policy::sell
