#include "policy/sell/offer/offer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/sell/offer/zones_follow.h"

namespace tidemark::policy::sell {
namespace {

using base::Duration;
using model::Reason;
using model::Resources;

void sooner(std::optional<Duration>& again_after, std::optional<Duration> other) {
  if (other && (!again_after || *other < *again_after)) again_after = other;
}

void follow_line(const OfferInput& input, Offer& offer) {
  if (!input.pool.line) return;
  offer.line = input.pool.line;
  offer.strategy.values.cpu_reclaim_threshold_percent = offer.line->cpu.sell;
  offer.strategy.values.memory_reclaim_threshold_percent = offer.line->memory.sell;
  if (offer.line->changes_at) sooner(offer.again_after, *offer.line->changes_at - input.now);
}

// Motion judges the age of a report by the changes that this process saw, so the formulas must ignore its time stamp.
constexpr std::int64_t kNeverDegrade_min = std::numeric_limits<std::int64_t>::max();

// An operator renews a book after ten minutes, whatever is set for reports.
constexpr std::chrono::minutes kBookLimitMin(15);
constexpr std::chrono::minutes kBookLimitMax = std::chrono::hours(24);

// A pod that warms up counts with less as time goes on.
constexpr Duration kWarmUpLook = std::chrono::minutes(1);

// True if nothing can be calculated because reports are missing, not because the node is off.
bool report_missing(const OvercommitPlan& plan) {
  return plan.reason == Reason::kMetricMissing || plan.reason == Reason::kMetricWithoutTime ||
         plan.reason == Reason::kMetricEmpty;
}

void set_batch(OvercommitPlan& plan, Resources amount) {
  plan.publish.batch_cpu = amount.cpu;
  plan.publish.batch_memory = amount.memory;
}

void apply_motion(const OfferInput& input, MotionState& state, Offer& offer) {
  OvercommitPlan& plan = offer.plan;
  MotionInput motion;
  motion.capacity = input.node.capacity;
  motion.on_node = input.origin.on_node;
  motion.least_ever = input.origin.least;
  const bool calculated = plan.action == PlanAction::kPublish;
  if (calculated) {
    motion.wanted = *plan.origin;
    motion.stamp = input.node.metric->update_time;
  } else if (report_missing(plan) && (state.offered || input.origin.on_node)) {
    motion.wanted = state.offered.value_or(input.origin.on_node.value_or(Resources{}));
    if (input.node.metric) motion.stamp = input.node.metric->update_time;
  } else {
    state = MotionState();  // off, or never offered: it starts again
    return;
  }
  auto step = move(state, motion, input.pool.settings.motion, input.mono);
  state = step.state;
  offer.motion = step.plan;
  // A value based on an impossible measurement is not learned.
  const bool measured = calculated && !input.node.metric->below_zero;
  if (measured && step.plan.freshness == Freshness::kFresh) offer.could = motion.wanted;
  sooner(offer.again_after, step.plan.again_after);

  if (!state.offered) {  // a report without an observed change, and no value on the node
    plan = OvercommitPlan();
    plan.reason = Reason::kMotionUnconfirmed;
    return;
  }
  // An amount that another rule held back is not released without a measurement, or on an unreliable one.
  const bool unsure = !calculated || std::ranges::find(plan.safeguards, Reason::kSafeCutsOnly) != plan.safeguards.end();
  const Resources moved =
      unsure && input.origin.on_node ? model::min(step.plan.offered(), *input.origin.on_node) : step.plan.offered();
  if (plan.action != PlanAction::kPublish) {  // held without measurements: batch goes on, mid is as it is on the node
    plan.action = PlanAction::kPublish;
    plan.publish = input.node.published;
  }
  if (step.plan.freshness == Freshness::kForgotten) {
    const Reason reason = plan.reason;
    plan = OvercommitPlan();
    plan.action = PlanAction::kReset;
    plan.reason = reason == Reason::kPublished ? Reason::kMetricStale : reason;
    plan.origin = Resources();
    return;
  }
  const Resources third_party{plan.batch_cpu.third_party, plan.batch_memory.third_party};
  plan.origin = moved;
  set_batch(plan, model::max(moved - third_party, Resources{}));
}

// What third parties hold; nullopt if their annotation cannot be read.
std::optional<std::vector<ClassSold>> third_parties(const model::NodeSnapshot& node, std::int64_t order) {
  if (!node.third_party) return std::nullopt;
  Resources sum;
  for (const auto& each : *node.third_party) {
    if (each.priority == model::PriorityClass::kBatch) sum += model::max(each.resources, Resources{});
  }
  return std::vector<ClassSold>{{order, sum}};
}

// YARN's book: the operator's if it keeps one. A book without the held amount (the ResourceManager is away) is not
// replaced by third parties: everything that YARN may act on counts as held.
SideBook yarn_of(const OfferInput& input) {
  SideBook yarn = input.yarn.book;
  if (!yarn.sold && !input.yarn.obeys) yarn.sold = third_parties(input.node, yarn.best_order);
  if (!yarn.sold && yarn.told == Resources{} && yarn.confirmed == Resources{} && input.origin.on_node) {
    // YARN's held amount is unknown: use what the last write to the node left to it.
    const Resources ours{input.node.published.batch_cpu.value_or(model::CpuMilli{}),
                         input.node.published.batch_memory.value_or(model::MemoryBytes{})};
    yarn.told = model::max(*input.origin.on_node - ours, Resources{});
  }
  return yarn;
}

// The part that neither side may be offered. Without YARN's book all third parties are its side, as Koordinator
// subtracts them; if their annotation cannot be read, third parties other than YARN are unknown.
Resources others_hold(const OfferInput& input) {
  return input.yarn.obeys && input.node.third_party ? held_by_others(*input.node.third_party) : Resources();
}

const model::TimeZone& or_utc(const model::TimeZone* zone) {
  static const model::TimeZone kUtc = model::TimeZone::utc();
  return zone == nullptr ? kUtc : *zone;
}

bool by_the_hour(const model::SideConfig& side) {
  return std::ranges::any_of(side.entries, [](const auto& entry) { return entry.hours.has_value(); });
}

// The pool's ledger, limited to what YARN's side supports, and without over-reporting while the pool's evictions are
// high.
model::LedgerConfig ledger_of(const OfferInput& input, Offer& offer) {
  model::LedgerConfig ledger = input.pool.settings.ledger;
  const model::TimeZone& zone = or_utc(input.pool.zone);
  for (model::SideConfig* side : {&ledger.kubernetes, &ledger.yarn}) {
    if (!by_the_hour(*side)) continue;
    side->entries = entries_at(side->entries, hour_of_day(zone, input.now));
    sooner(offer.again_after, hour_left(zone, input.now));
  }
  if (!input.yarn.obeys) {
    ledger.yarn.over_report = model::OverReport();
    ledger.yarn.entries.clear();
    ledger.class_aware = false;  // YARN's side has no operator that releases work or reports what waits
    offer.shared_for_want_of_yarn = ledger.mode == model::LedgerMode::kStrict;
    ledger.mode = model::LedgerMode::kShared;
  }
  if (!input.pool.guard.truthful) return ledger;
  for (model::SideConfig* side : {&ledger.kubernetes, &ledger.yarn}) {
    offer.truthful = offer.truthful || over_reports(side->over_report, side->entries);
    *side = truthful(*side);
  }
  return ledger;
}

// The sold amount of a side. If unknown, the largest possible one: nothing may be cut below it.
Resources sold_in_all(const SideBook& book) {
  if (!book.sold) return {model::CpuMilli::max_value(), model::MemoryBytes::max_value()};
  Resources sum;
  for (const auto& each : *book.sold) sum += model::max(each.amount, Resources{});
  return sum;
}

// The largest offer to Kubernetes before this process saw the node: together with YARN's current offer at most the
// origin, unless the origin dropped.
Resources could_carry(Resources origin, const SideBook& kubernetes, const SideBook& yarn,
                      const model::LedgerConfig& ledger) {
  const Resources left = origin - real_of(yarn, ledger.yarn, model::max(yarn.told, Resources{}));
  return told_of(kubernetes, ledger.kubernetes, model::max(left, Resources{}));
}

// Waiting work on YARN's side counts at once on a new node, and is smoothed from then on like that of pods: an
// application that waits for a moment changes nothing.
void steady(SideBook& yarn, std::optional<Waiting> before, OfferState& state, base::MonotonicTime now, Offer& offer) {
  std::optional<WaitingWork> work;
  if (yarn.wants_more) work = {yarn.best_order, yarn.waits_class, yarn.waits_for.value_or(Resources{})};
  if (!before) before = wait({}, work, now + -kWaitsAfter).state;
  const WaitingStep step = wait(*before, work, now);
  sooner(offer.again_after, step.again_after);
  yarn.wants_more = step.state.wants_more;
  yarn.best_order = step.state.best_order;
  yarn.waits_class = step.state.best_class;
  // The wait continues to count for a while; nothing is reclaimed for it, nor for less timely work.
  if (!work || work->order < step.state.best_order) yarn.waits_for = Resources{};
  state.yarn = step.state;
}

// YARN's book was not renewed for longer than a report is valid: its operator may be dead, and the waiting work may be
// gone. In a class-aware ledger, work of others would be evicted for it.
void doubt(const OfferInput& input, SideBook& yarn, const std::optional<BookSeen>& before, OfferState& state,
           Offer& offer) {
  const BookSeen seen = see(before, input.yarn.mark, input.mono);
  state.yarn_book = seen;
  if (!yarn.wants_more) return;
  const std::chrono::minutes limit(
      std::clamp(offer.strategy.values.degrade_time_minutes, kBookLimitMin.count(), kBookLimitMax.count()));
  const Duration age = input.mono - seen.at;
  if (age < limit) {
    sooner(offer.again_after, limit - age);
  } else {
    yarn.wants_more = false;
  }
}

void apply_ledger(const OfferInput& input, const model::LedgerConfig& ledger, OfferState& state, Offer& offer) {
  OvercommitPlan& plan = offer.plan;
  const BindLag before = std::exchange(state.kubernetes, BindLag());
  const auto waited = std::exchange(state.yarn, std::nullopt);
  const auto seen = std::exchange(state.yarn_book, std::nullopt);
  if (plan.action != PlanAction::kPublish || !plan.origin) return;
  if (input.pool.settings.profile == model::Profile::kKoordinator &&
      input.pool.settings.ledger == model::LedgerConfig() && !input.yarn.obeys)
    return;
  SideBook kubernetes = input.kubernetes;
  SideBook yarn = yarn_of(input);
  if (input.yarn.obeys && ledger.class_aware) doubt(input, yarn, seen, state, offer);
  if (input.yarn.obeys) steady(yarn, waited, state, input.mono, offer);
  offer.others = others_hold(input);
  const Resources for_both = model::max(*plan.origin - offer.others, Resources{});
  if (ledger.mode == model::LedgerMode::kStrict) {
    auto lag = confirm(before, kubernetes.told, could_carry(for_both, kubernetes, yarn, ledger), input.mono);
    state.kubernetes = lag.state;
    kubernetes.confirmed = lag.state.most;
    sooner(offer.again_after, lag.again_after);
  }
  offer.ledger = split(for_both, kubernetes, yarn, ledger);
  set_batch(plan, offer.ledger->kubernetes.offer());
  if (input.yarn.obeys) offer.yarn_offer = offer.ledger->yarn.offer();
}

template <class Amount>
void cut_to(std::optional<Amount>& amount, Amount most) {
  if (amount) amount = std::min(*amount, most);
}

// Only the sold amount.
StopTerms sell_nothing_new(const OfferInput& input, const model::LedgerConfig& ledger, Offer& offer) {
  OvercommitPlan& plan = offer.plan;
  StopTerms terms;
  terms.sold = sold_in_all(input.kubernetes);
  terms.wanted = *plan.origin;
  const SideBook yarn = yarn_of(input);
  terms.yarn = yarn.sold ? sold_in_all(yarn) : model::max(yarn.told, yarn.confirmed);
  cut_to(plan.publish.batch_cpu, terms.sold.cpu);
  cut_to(plan.publish.batch_memory, terms.sold.memory);
  // Two sides may hold more than the node has: then neither gets more.
  plan.origin = model::min(*plan.origin, real_of(input.kubernetes, ledger.kubernetes, terms.sold) +
                                             real_of(yarn, ledger.yarn, terms.yarn) + others_hold(input));
  cut_to(plan.publish.mid_cpu, input.node.published.mid_cpu.value_or(model::CpuMilli{}));
  cut_to(plan.publish.mid_memory, input.node.published.mid_memory.value_or(model::MemoryBytes{}));
  if (offer.yarn_offer) offer.yarn_offer = model::min(*offer.yarn_offer, terms.yarn);
  return terms;
}

// By all sides together, in real units. For a side with an unknown amount, its offer proves nothing.
std::optional<Resources> held_in_all(const OfferInput& input, const model::LedgerConfig& ledger) {
  const SideBook yarn = yarn_of(input);
  if (!input.kubernetes.sold || !yarn.sold) return std::nullopt;
  return real_of(input.kubernetes, ledger.kubernetes, sold_in_all(input.kubernetes)) +
         real_of(yarn, ledger.yarn, sold_in_all(yarn)) + others_hold(input);
}

void apply_arbitration(const OfferInput& input, const model::LedgerConfig& ledger, OfferState& state, Offer& offer) {
  if (!input.pool.settings.arbitrate.on(input.pool.settings.profile)) {
    state.arbitrate = ArbitrateState();
    return;
  }
  if (offer.plan.action != PlanAction::kPublish || !offer.plan.origin) return;
  ArbitrateStep step = arbitrate(state.arbitrate, {held_in_all(input, ledger), *offer.plan.origin},
                                 input.pool.settings.arbitrate, input.mono);
  state.arbitrate = std::move(step.state);
  sooner(offer.again_after, step.again_after);
  // Motion stays as it is: capacity that was released was already granted, and is offered again afterwards.
  if (step.plan.rejects()) offer.rejected = sell_nothing_new(input, ledger, offer);
  offer.arbitrate = step.plan;
}

// The unsold amount returns at the pace of growth.
void comes_back_slowly(OfferState& state, const OvercommitPlan& plan) {
  if (state.motion.offered) state.motion.offered = model::min(*state.motion.offered, *plan.origin);
}

void apply_stop(const OfferInput& input, const model::LedgerConfig& ledger, OfferState& state, Offer& offer) {
  OvercommitPlan& plan = offer.plan;
  if (!input.pool.guard.stopped || plan.action != PlanAction::kPublish || !plan.origin) return;
  StopTerms terms = sell_nothing_new(input, ledger, offer);
  if (offer.rejected) terms.wanted = offer.rejected->wanted;
  // Reclaiming evicts, and there were too many evictions.
  if (offer.ledger) {
    offer.ledger->kubernetes.reclaim.clear();
    offer.ledger->yarn.reclaim.clear();
  }
  comes_back_slowly(state, plan);
  offer.stopped = terms;
}

void apply_back_off(const OfferInput& input, const model::LedgerConfig& ledger, OfferState& state, Offer& offer) {
  OvercommitPlan& plan = offer.plan;
  if (offer.stopped || plan.action != PlanAction::kPublish || !plan.origin) return;
  const BackOffLeft left = back_off_left(input.pool.settings, input.evicted, input.mono);
  if (!left.any()) return;
  for (const auto& side : {left.kubernetes, left.yarn}) sooner(offer.again_after, side);
  const Resources origin = *plan.origin;
  const auto published = plan.publish;
  const auto yarn = offer.yarn_offer;
  StopTerms terms = sell_nothing_new(input, ledger, offer);
  if (offer.rejected) terms.wanted = offer.rejected->wanted;
  if (ledger.class_aware && yarn && !left.yarn) {
    plan.origin = origin;
    offer.yarn_offer = yarn;
  } else if (ledger.class_aware && yarn && !left.kubernetes) {
    plan.origin = origin;
    plan.publish = published;
  }
  comes_back_slowly(state, plan);
  offer.backs_off = terms;
}

std::optional<Resources> batch_of(const OvercommitPlan& plan) {
  if (plan.action != PlanAction::kPublish) return std::nullopt;
  return Resources{plan.publish.batch_cpu.value_or(model::CpuMilli{}),
                   plan.publish.batch_memory.value_or(model::MemoryBytes{})};
}

// The zones follow the node's offer. If that is the formula's value, they stay Koordinator's under its profile.
void apply_zones(const OfferInput& input, const std::optional<Resources>& formula, Offer& offer) {
  OvercommitPlan& plan = offer.plan;
  if (!offer.strategy.plugins.batch_resource) return;
  const bool peers = input.pool.settings.profile == model::Profile::kKoordinator;
  if (plan.action == PlanAction::kReset && !peers) {
    plan.zones = reset_zones(input.node.topology, model::Profile::kTidemark);
  }
  const auto offered = batch_of(plan);
  if (!offered) return;
  if (!formula) {
    plan.zones = hold_zones(input.node.topology, *offered);
  } else if (!peers || *offered != *formula) {
    plan.zones = follow_node(std::move(plan.zones), *formula, *offered);
  }
}

}  // namespace

OfferState without_unheard(OfferState state, Duration unheard, const model::MotionConfig& config,
                           base::MonotonicTime now) {
  state.motion = without_unheard(state.motion, unheard, config, now);
  if (state.yarn_book) state.yarn_book = without_unheard(*state.yarn_book, unheard, now);
  return state;
}

OfferStep offer(const OfferState& state, OfferInput input) {
  OfferStep out{state, Offer(std::move(input.strategy))};
  Offer& offer = out.offer;
  follow_line(input, offer);
  std::optional<Resources> formula;
  if (input.pool.settings.profile == model::Profile::kTidemark) {
    std::int64_t& degrade = offer.strategy.values.degrade_time_minutes;
    const std::int64_t in_force = std::exchange(degrade, kNeverDegrade_min);
    offer.plan = overcommit(input.node, offer.strategy, input.now);
    degrade = in_force;
    formula = batch_of(offer.plan);
    if (offer.plan.warm_up.pods > 0) sooner(offer.again_after, kWarmUpLook);
    apply_motion(input, out.state.motion, offer);
  } else {
    offer.plan = overcommit(input.node, offer.strategy, input.now);
    formula = batch_of(offer.plan);
    out.state.motion = MotionState();
  }
  const model::LedgerConfig ledger = ledger_of(input, offer);
  apply_ledger(input, ledger, out.state, offer);
  apply_arbitration(input, ledger, out.state, offer);
  apply_stop(input, ledger, out.state, offer);
  apply_back_off(input, ledger, out.state, offer);
  apply_zones(input, formula, offer);
  return out;
}

BackOffLeft back_off_left(const model::Pool& pool, const LastEvicted& evicted, base::MonotonicTime now) {
  const base::Duration pause = model::back_off_of(pool);
  const auto left = [&](std::optional<base::MonotonicTime> at) -> std::optional<base::Duration> {
    if (!at || *at > now || now - *at >= pause) return std::nullopt;
    return pause - (now - *at);
  };
  return {left(evicted.kubernetes), left(evicted.yarn)};
}

model::Resources kubernetes_real(const PoolNow& pool, const SideBook& book, Resources told, base::WallTime now) {
  const model::SideConfig& side = pool.settings.ledger.kubernetes;
  if (pool.guard.truthful || !over_reports(side.over_report, side.entries)) return told;
  if (!by_the_hour(side)) return real_of(book, side, told);
  model::SideConfig at = side;
  at.entries = entries_at(side.entries, hour_of_day(or_utc(pool.zone), now));
  return real_of(book, at, told);
}

}  // namespace tidemark::policy::sell
