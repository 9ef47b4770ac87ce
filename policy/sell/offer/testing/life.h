// The life of one node, drawn from bytes: settings and NUMA zones, then passes in which reports come and stop, time
// goes on, tasks of both sides and of third parties start and end, pods are young, and an override of the water line
// appears. After each pass the invariants of an offer are checked. For the property test (bytes from a seed) and the
// fuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/names.h"
#include "policy/sell/offer/offer.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::testing {

class Life {
 public:
  explicit Life(std::span<const std::uint8_t> bytes) : bytes_(bytes) { settle(); }

  // What does not hold; "" where all does. Until the bytes are used up.
  std::string live() {
    constexpr int kLooksMax = 100;
    for (looks_ = 0; looks_ < kLooksMax && !bytes_.empty(); ++looks_) {
      pass();
      if (std::string wrong = look(); !wrong.empty()) return base::cat("look ", looks_, ": ", wrong);
    }
    return "";
  }
  int looks() const { return looks_; }

 private:
  static constexpr std::int64_t kCores = 64'000;
  static constexpr std::int64_t kBytes = 256'000;
  static constexpr std::int64_t kFine = 1000;  // of a zone's unit in one of the node's
  static constexpr std::uint64_t kZonesMax = 3;

  std::uint64_t draw(std::uint64_t below) {
    std::uint64_t value = 0;
    for (int i = 0; i < 3 && !bytes_.empty(); ++i) {
      value = value << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return value % below;
  }
  std::int64_t number(std::int64_t below) { return static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(below))); }
  bool one_in(std::uint64_t n) { return draw(n) == 0; }
  // Sometimes an extreme number.
  model::Resources amount(std::int64_t part = 1) {
    if (one_in(64)) return {model::CpuMilli::max_value(), model::MemoryBytes::max_value()};
    if (one_in(64)) return {{-5}, {-5}};
    return {{number(kCores / part)}, {number(kBytes / part)}};
  }
  std::string work_class() {
    constexpr std::string_view kNames[] = {"", "transcode", "training", "spark"};
    return std::string(kNames[draw(4)]);
  }
  std::int64_t order_of(std::string_view name) {
    return name == "spark" ? 3 : name == "training" ? 2 : name == "transcode" ? 1 : 0;
  }

  void settle() {
    pool_.profile = one_in(2) ? model::Profile::kKoordinator : model::Profile::kTidemark;
    strategy_.enabled = true;
    strategy_.profile = pool_.profile;
    strategy_.values.cpu_reclaim_threshold_percent = 30 + number(70);
    strategy_.values.memory_reclaim_threshold_percent = 30 + number(70);
    pool_.motion.dead_band_permille = number(100);
    pool_.motion.slew_permille_per_minute = 1 + number(400);
    pool_.motion.hold = std::chrono::seconds(30 + number(600));
    pool_.motion.decay_step = std::chrono::seconds(1 + number(300));
    pool_.motion.decay_steps = 1 + number(10);
    pool_.motion.forget = pool_.motion.hold + std::chrono::seconds(number(10'000));
    pool_.ledger.mode = one_in(2) ? model::LedgerMode::kStrict : model::LedgerMode::kShared;
    pool_.ledger.class_aware = one_in(2);
    for (model::SideConfig* side : {&pool_.ledger.kubernetes, &pool_.ledger.yarn}) {
      side->share_min_percent = number(50);
      side->share_max_percent = side->share_min_percent + number(101 - side->share_min_percent);
      if (one_in(2)) side->over_report = {50 + number(150), 50 + number(150)};
      for (auto n = draw(4); n > 0; --n) {
        model::OverReportEntry entry;
        entry.work_class = work_class();
        if (one_in(2)) entry.hours = model::HourSpan{number(24), number(24)};
        if (one_in(2)) entry.cpu_percent = 50 + number(150);
        if (one_in(2)) entry.memory_percent = 50 + number(150);
        side->entries.push_back(std::move(entry));
      }
    }
    if (one_in(2)) {
      waterline::CalendarEntry entry;
      entry.name = "night";
      entry.when = waterline::Recurring{*waterline::Cron::parse("0 22 * * *"), std::chrono::hours(8)};
      entry.line.cpu = entry.line.memory = 30 + number(70);
      entry.ramp_up = entry.ramp_down = std::chrono::minutes(number(120));
      calendar_.lead = std::chrono::minutes(number(180));
      calendar_.entries = {entry};
      has_calendar_ = true;
    }
    node_.capacity = node_.allocatable = {{kCores}, {kBytes}};
    if (one_in(2)) divide_into_zones(1 + draw(kZonesMax));
  }

  void divide_into_zones(std::uint64_t count) {
    auto& zones = node_.topology.emplace().zones;
    const auto parts = static_cast<std::int64_t>(count);
    for (std::uint64_t place = 0; place < count; ++place) {
      model::ZoneView& zone = zones.emplace_back();
      zone.name = base::cat("node-", place);
      zone.cpu = model::CpuMilli{kCores / parts};
      zone.memory = model::MemoryMilli{kBytes * kFine / parts};
    }
  }

  void report() {
    auto& metric = node_.metric ? *node_.metric : node_.metric.emplace();
    metric.update_time = now_;
    metric.has_node_metric = !one_in(32);
    metric.system_usage = amount(4);
    model::Resources all = metric.system_usage;
    metric.pods.clear();
    node_.pods.clear();
    for (auto n = draw(6); n > 0; --n) {
      const model::PodId id("default", base::cat("pod-", n));
      const auto priority = one_in(3) ? model::PriorityClass::kBatch : model::PriorityClass::kProd;
      const auto qos = one_in(3) ? model::Qos::kBe : model::Qos::kLs;
      const model::Resources request{{number(kCores / 8)}, {number(kBytes / 8)}};
      const model::Resources usage{{number(kCores / 8)}, {number(kBytes / 8)}};
      node_.pods.push_back({id, model::PodPhase::kRunning, priority, qos, request, places(), young()});
      if (one_in(8)) continue;  // it began after the agent looked
      metric.pods.push_back({id, usage, priority, qos});
      all += usage;
    }
    metric.node_usage = all;
    metric.below_zero = one_in(12);
  }
  // Of a pod: none, some twice, some that the node does not have.
  std::vector<std::int32_t> places() {
    std::vector<std::int32_t> out;
    for (auto n = draw(3); n > 0; --n) out.push_back(static_cast<std::int32_t>(draw(kZonesMax + 1)));
    return out;
  }
  std::optional<model::WarmUp> young() {
    if (!one_in(3)) return std::nullopt;
    return model::WarmUp{number(1001), one_in(2) ? std::optional(amount(8)) : std::nullopt};
  }
  void third_parties_hold() {
    node_.third_party.reset();
    if (one_in(8)) return;  // their annotation cannot be read
    auto& all = node_.third_party.emplace();
    for (auto n = draw(4); n > 0; --n) {
      const std::string name(one_in(2) ? model::kYarnThirdParty : "another");
      all.push_back({name, one_in(4) ? model::PriorityClass::kMid : model::PriorityClass::kBatch, amount(8)});
    }
  }
  // Of the pool, of the cluster, of both or of neither: each for some hours, some of one side alone.
  void override_line() {
    overrides_.clear();
    for (auto n = draw(3); n > 0; --n) {
      waterline::LineOverride& each = overrides_.emplace_back();
      if (!one_in(4)) each.line.cpu = number(101);
      if (!one_in(4)) each.line.memory = number(101);
      each.until = now_ + std::chrono::minutes(number(600));
    }
  }
  void sell(sell::SideBook& book) {
    book.sold.reset();
    if (one_in(8)) return;
    book.sold.emplace();
    for (auto n = draw(4); n > 0; --n) {
      const std::string name = work_class();
      sell::add_sold(*book.sold, order_of(name), name, amount(6));
    }
  }
  void wish(sell::SideBook& book) {
    book.wants_more = one_in(2);
    book.waits_class = book.wants_more ? work_class() : "";
    book.best_order = order_of(book.waits_class);
    book.waits_for = one_in(2) ? std::optional(amount(4)) : std::nullopt;
  }

  // The world goes on.
  void pass() {
    const base::Duration passed =
        one_in(4) ? base::Duration(std::chrono::hours(number(30))) : std::chrono::milliseconds(number(180'000));
    now_ = now_ + passed;
    mono_ = mono_ + passed;
    if (!one_in(4)) report();
    if (one_in(40)) node_.metric.reset();
    if (one_in(4)) third_parties_hold();
    if (one_in(12)) override_line();
    if (one_in(3)) sell(kubernetes_);
    if (one_in(3)) sell(yarn_);
    if (one_in(3)) wish(kubernetes_);
    if (one_in(3)) wish(yarn_);
    if (one_in(16)) yarn_obeys_ = !yarn_obeys_;
    if (one_in(2)) ++yarn_book_mark_;
    if (one_in(16)) kubernetes_.withdrawn = !kubernetes_.withdrawn;
    if (one_in(16)) yarn_.withdrawn = !yarn_.withdrawn;
    if (one_in(2)) yarn_.confirmed = yarn_.told;
    if (one_in(8)) evicted_.kubernetes = mono_;
    if (one_in(8)) evicted_.yarn = mono_;
    if (one_in(8)) guard_ = {one_in(2), one_in(2)};
    least_ever_ = one_in(2) ? std::optional(amount()) : std::nullopt;
    if (one_in(40)) state_ = sell::OfferState();  // another process
    if (one_in(40)) strategy_.enabled = !strategy_.enabled;
  }

  std::optional<model::LinePlan> line(const waterline::LineOverrides& overrides) const {
    const auto& values = strategy_.values;
    return waterline::water_line(nullptr, "", has_calendar_ ? &calendar_ : nullptr,
                                 values.cpu_reclaim_threshold_percent, values.memory_reclaim_threshold_percent,
                                 overrides, now_);
  }

  sell::OfferInput input(const model::NodeSnapshot& node) const {
    return {.node = node,
            .strategy = strategy_,
            .pool = {pool_, line(overrides_), &calendar_.zone, guard_},
            .origin = {origin_, least_ever_},
            .kubernetes = kubernetes_,
            .yarn = {yarn_, yarn_obeys_, yarn_book_mark_},
            .evicted = evicted_,
            .now = now_,
            .mono = mono_};
  }

  static bool same(const sell::OfferStep& a, const sell::OfferStep& b) {
    return a.state == b.state && a.offer.plan == b.offer.plan && a.offer.line == b.offer.line &&
           a.offer.motion == b.offer.motion && a.offer.ledger == b.offer.ledger &&
           a.offer.yarn_offer == b.offer.yarn_offer && a.offer.again_after == b.offer.again_after &&
           a.offer.stopped == b.offer.stopped && a.offer.backs_off == b.offer.backs_off &&
           a.offer.arbitrate == b.offer.arbitrate && a.offer.others == b.offer.others;
  }
  static bool negative(model::Resources amount) { return amount.cpu.value < 0 || amount.memory.value < 0; }
  static bool above(model::Resources amount, model::Resources most) {
    return amount.cpu > most.cpu || amount.memory > most.memory;
  }
  static model::Resources batch_of(const sell::OvercommitPlan& plan) {
    return {plan.publish.batch_cpu.value_or(model::CpuMilli{}),
            plan.publish.batch_memory.value_or(model::MemoryBytes{})};
  }

  bool backs_off(std::optional<base::MonotonicTime> evicted) const {
    return evicted && mono_ - *evicted < model::back_off_of(pool_);
  }

  std::string sound(const sell::Offer& offer) const {
    const sell::OvercommitPlan& plan = offer.plan;
    if (negative(batch_of(plan))) return "a negative amount of Kubernetes";
    if (plan.origin && negative(*plan.origin)) return "a negative origin";
    if (offer.yarn_offer && negative(*offer.yarn_offer)) return "a negative amount of YARN";
    if (offer.again_after && *offer.again_after <= base::Duration(0)) return "looks again at once, for ever";
    if (plan.action != sell::PlanAction::kPublish || !plan.origin) return "";
    if (above(*plan.origin, node_.capacity)) return "more than the node has";
    if (offer.arbitrate && offer.arbitrate->rejects()) {
      if (kubernetes_.sold && above(batch_of(plan), offer.rejected->sold)) return "sells on what is oversold";
      if (offer.yarn_offer && above(*offer.yarn_offer, offer.rejected->yarn)) return "YARN sells on what is oversold";
    }
    if (!offer.ledger) return above(batch_of(plan), *plan.origin) ? "Kubernetes above the origin" : "";
    if (offer.backs_off) {
      // With a class-aware ledger only the side that lost work, where YARN has an offer of its own.
      const bool apart = pool_.ledger.class_aware && offer.yarn_offer;
      if ((!apart || backs_off(evicted_.kubernetes)) && kubernetes_.sold &&
          above(batch_of(plan), offer.backs_off->sold)) {
        return "sells straight after an eviction";
      }
      if ((!apart || backs_off(evicted_.yarn)) && offer.yarn_offer && above(*offer.yarn_offer, offer.backs_off->yarn)) {
        return "YARN sells straight after an eviction";
      }
      if (offer.stopped) return "stopped, and backs off";
    }
    const model::Resources ceiling = offer.stopped     ? offer.stopped->wanted
                                     : offer.backs_off ? offer.backs_off->wanted
                                     : offer.rejected  ? offer.rejected->wanted
                                                       : *plan.origin;
    const model::Resources for_both = model::max(ceiling - offer.others, model::Resources{});
    const sell::LedgerPlan& ledger = *offer.ledger;
    const model::Resources k{ledger.kubernetes.cpu.real, ledger.kubernetes.memory.real};
    const model::Resources y{ledger.yarn.cpu.real, ledger.yarn.memory.real};
    if (above(k, for_both) || above(y, for_both)) return "a side above the ceiling";
    const bool strict = pool_.ledger.mode == model::LedgerMode::kStrict && !offer.shared_for_want_of_yarn;
    if (strict && above(k + y, for_both)) return "both sides above the ceiling";
    for (const sell::SidePlan* side : {&ledger.kubernetes, &ledger.yarn}) {
      for (const auto& each : side->reclaim) {
        if (negative(each.amount) || negative(each.keep)) return "negative amounts are returned";
        if (offer.stopped) return "returned while evictions spike";
      }
    }
    if (guard_.truthful && (above(ledger.kubernetes.offer(), k) || above(ledger.yarn.offer(), y))) {
      return "over-reported while that is given up";
    }
    return "";
  }

  // A zone sells nothing that is not there; with the safe profile all of them no more than the node.
  std::string zones_sound(const sell::OvercommitPlan& plan) const {
    model::CpuMicro cpu;
    model::MemoryMilli memory;
    for (const sell::ZonePlan& zone : plan.zones.zones) {
      if (zone.batch_cpu.value < 0 || zone.batch_memory.value < 0) return "a negative amount of a zone";
      cpu += zone.batch_cpu;
      memory += zone.batch_memory;
    }
    if (pool_.profile != model::Profile::kTidemark) return "";
    const model::Resources node = batch_of(plan);
    const bool more = cpu.value > node.cpu.value * kFine || memory.value > node.memory.value * kFine;
    return more ? "zones sell more than their node" : "";
  }

  // The offer moves as it may: at once where it falls, in steps where it grows.
  std::string moves(const sell::OfferState& before, const sell::Offer& offer) const {
    if (pool_.profile != model::Profile::kTidemark || !offer.motion || !offer.plan.origin) return "";
    const model::Resources now = *offer.plan.origin;
    if (offer.could && above(now, model::max(*offer.could, model::Resources{}))) return "a cut waits";
    const bool below_zero = node_.metric && node_.metric->below_zero;
    const bool unsure = below_zero || !node_.third_party;
    if (unsure && above(now, origin_.value_or(model::Resources{}))) return "grows on what proves nothing";
    if (below_zero && offer.could) return "learns from a measurement below 0";
    if (!before.motion.offered) return "";
    const model::Resources had = *before.motion.offered;
    constexpr std::int64_t kCredit_ms = 120'000;
    const auto passed = std::min<std::int64_t>(
        (mono_.since_start - before.motion.changed_at.since_start) / std::chrono::milliseconds(1), kCredit_ms);
    const auto step = [&](std::int64_t capacity) {
      return capacity * pool_.motion.slew_permille_per_minute / 1000 * (passed + 1) / 60'000 + 1;
    };
    if (above(now, had + model::Resources{{step(kCores)}, {step(kBytes)}})) return "growth is faster than it may be";
    return "";
  }

  // The order of pods, usage reports and ledgers in the snapshot changes nothing.
  std::string without_order(const sell::OfferStep& step) const {
    model::NodeSnapshot node = node_;
    std::ranges::reverse(node.pods);
    if (node.metric) std::ranges::reverse(node.metric->pods);
    if (node.third_party) std::ranges::reverse(*node.third_party);
    sell::OfferInput other = input(node);
    waterline::LineOverrides overrides = overrides_;
    std::ranges::reverse(overrides);
    other.pool.line = line(overrides);
    if (other.kubernetes.sold) std::ranges::reverse(*other.kubernetes.sold);
    if (other.yarn.book.sold) std::ranges::reverse(*other.yarn.book.sold);
    return same(step, offer(state_, other)) ? "" : "the order counts";
  }

  // What a side may come to hold. In a class-aware ledger that counts, and not the offer: where the origin falls below
  // what the side holds for which work waits, nothing can be given to that, and the other is not asked to return any.
  model::Resources room(model::Resources offered, const sell::SideBook& book) const {
    if (!pool_.ledger.class_aware || !book.sold) return offered;
    model::Resources sold;
    for (const auto& each : *book.sold) sold += model::max(each.amount, model::Resources{});
    return model::max(offered, sold);
  }

  // More use never sells more, of neither side. But for YARN's at the first look at a node in a strict ledger: what
  // Kubernetes may have been told before is taken from the origin of now (could_carry), at the worst that it can count
  // with. Over-reported that is more than all of it, so that less origin leaves YARN more.
  std::string monotone(const sell::OfferStep& step, model::Resources more) const {
    if (!node_.metric || step.offer.plan.action != sell::PlanAction::kPublish || !step.offer.plan.origin) return "";
    model::NodeSnapshot node = node_;
    node.metric->system_usage += more;
    if (node.metric->node_usage) *node.metric->node_usage += more;
    const auto used = offer(state_, input(node));
    if (used.offer.plan.action != sell::PlanAction::kPublish || !used.offer.plan.origin) return "";
    if (above(*used.offer.plan.origin, *step.offer.plan.origin)) return "more use sells more";
    if (above(batch_of(used.offer.plan), room(batch_of(step.offer.plan), kubernetes_)))
      return "more use gives Kubernetes more";
    const bool guessed = pool_.ledger.mode == model::LedgerMode::kStrict && !state_.kubernetes.seen;
    if (guessed || !step.offer.yarn_offer || !used.offer.yarn_offer) return "";
    return above(*used.offer.yarn_offer, room(*step.offer.yarn_offer, yarn_)) ? "more use gives YARN more" : "";
  }

  std::string look() {
    kubernetes_.told = {node_.published.batch_cpu.value_or(model::CpuMilli{}),
                        node_.published.batch_memory.value_or(model::MemoryBytes{})};
    const model::Resources more{{number(kCores / 2)}, {number(kBytes / 2)}};
    const sell::OfferStep step = offer(state_, input(node_));
    if (!same(step, offer(state_, input(node_)))) return "the same input gives another offer";
    for (const std::string& wrong : {sound(step.offer), zones_sound(step.offer.plan), moves(state_, step.offer),
                                     without_order(step), monotone(step, more)}) {
      if (!wrong.empty()) return wrong;
    }
    carry_out(step);
    return "";
  }
  void carry_out(const sell::OfferStep& step) {
    state_ = step.state;
    if (step.offer.yarn_offer) yarn_.told = *step.offer.yarn_offer;
    const sell::OvercommitPlan& plan = step.offer.plan;
    if (plan.action == sell::PlanAction::kHold) return;
    node_.published = plan.publish;
    node_.origin = origin_ = plan.origin;
    for (std::size_t place = 0; place < plan.zones.zones.size(); ++place) {
      const auto [cpu, memory] = std::pair(plan.zones.zones[place].batch_cpu, plan.zones.zones[place].batch_memory);
      node_.topology->zones[place].batch_cpu = {cpu, cpu, cpu};
      node_.topology->zones[place].batch_memory = {memory, memory, memory};
    }
  }

  std::span<const std::uint8_t> bytes_;
  int looks_ = 0;
  model::Pool pool_;
  waterline::Calendar calendar_;
  bool has_calendar_ = false;
  waterline::LineOverrides overrides_;
  sell::NodeStrategy strategy_;
  model::NodeSnapshot node_;
  std::optional<model::Resources> origin_;
  std::optional<model::Resources> least_ever_;
  sell::SideBook kubernetes_;
  sell::SideBook yarn_;
  bool yarn_obeys_ = false;
  std::uint64_t yarn_book_mark_ = 0;
  sell::OfferState state_;
  sell::PoolGuard guard_;
  sell::LastEvicted evicted_;
  base::WallTime now_ = *base::parse_rfc3339("2026-11-21T20:00:00Z");
  base::MonotonicTime mono_{std::chrono::hours(1)};
};

}  // namespace tidemark::policy::testing
