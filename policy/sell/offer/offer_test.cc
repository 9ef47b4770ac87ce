#include "policy/sell/offer/offer.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "policy/testing/scenario.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using model::CpuMilli;
using model::MemoryBytes;
using model::Resources;
using testing::Words;

const base::WallTime kFirstOffer = *base::parse_rfc3339("2026-11-21T20:00:00Z");

// A node whose online side is one number, the system's use. The calendar's night is from 22:00 to 06:00 UTC.
class Scenario {
 public:
  Scenario() {
    strategy_.enabled = true;
    node_.third_party.emplace();
  }
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "profile") {
      pool_.profile = words.next() == "tidemark" ? model::Profile::kTidemark : model::Profile::kKoordinator;
    } else if (verb == "arbitrate") {  // arbitrate on|off|unsaid
      const std::string word = words.next();
      pool_.arbitrate.enabled = word == "unsaid" ? std::nullopt : std::optional(word == "on");
    } else if (verb == "night") {
      night(words);
    } else if (verb == "ledger") {
      ledger(words);
    } else if (verb == "node") {
      node_.capacity = node_.allocatable = testing::amounts(words.next());
    } else if (verb == "zones") {  // so many alike, of all that the node has
      zones(std::stoll(words.next()));
    } else if (verb == "uses") {  // a report
      report(testing::amounts(words.next()));
    } else if (verb == "no-metric") {
      node_.metric = std::nullopt;
    } else if (verb == "yarn") {
      yarn(words.next());
    } else if (verb == "others") {  // a third party beside YARN, of the priority of batch
      node_.third_party->push_back({"other", model::PriorityClass::kBatch, testing::amounts(words.next())});
    } else if (verb == "sold") {  // what batch pods on the node hold
      kubernetes_.sold = {{0, testing::amounts(words.next())}};
    } else if (verb == "spike") {  // the pool's evictions: spike stops, spike over
      guard_.stopped = words.next() == "stops";
    } else if (verb == "evicted") {  // offline work of the node, now; "evicted yarn": a container of YARN
      (words.empty() || words.next() != "yarn" ? evicted_.kubernetes : evicted_.yarn) = mono_;
    } else if (verb == "back-off") {
      pool_.budget.back_off = testing::duration(words.next());
    } else if (verb == "over-report") {  // over-report given-up, over-report back
      guard_.truthful = words.next() == "given-up";
    } else if (verb == "obeys") {  // YARN's operator is there; its ResourceManager acts on so much
      yarn_obeys_ = true;
      yarn_.confirmed = testing::amounts(words.next());
    } else if (verb == "confirm") {
      yarn_.confirmed = yarn_.told;
    } else if (verb == "waits") {  // for a while already
      (words.next() == "yarn" ? yarn_ : kubernetes_).wants_more = true;
      state_.yarn.reset();
    } else if (verb == "yarn-waits") {  // from now on
      yarn_.wants_more = true;
    } else if (verb == "yarn-content") {
      yarn_.wants_more = false;
    } else if (verb == "withdrawn") {  // it is draining or off
      (words.next() == "yarn" ? yarn_ : kubernetes_).withdrawn = true;
    } else if (verb == "given-again") {
      (words.next() == "yarn" ? yarn_ : kubernetes_).withdrawn = false;
    } else if (verb == "content") {
      kubernetes_.wants_more = yarn_.wants_more = false;
      state_.yarn.reset();
    } else if (verb == "off") {
      strategy_.enabled = false;
      strategy_.reason = model::Reason::kDisabledForNode;
    } else if (verb == "after") {
      const auto passed = testing::duration(words.next());
      now_ = now_ + passed;
      mono_ = mono_ + passed;
    } else if (verb == "restart") {
      state_ = OfferState();
    } else if (verb == "decide") {
      answers.push_back(decide());
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  static SideBook nothing_sold() {
    SideBook book;
    book.sold.emplace();
    return book;
  }
  void night(Words& words) {
    waterline::CalendarEntry entry;
    entry.name = "night";
    entry.when = waterline::Recurring{*waterline::Cron::parse("0 22 * * *"), std::chrono::hours(8)};
    entry.line.cpu = entry.line.memory = std::stoll(words.next());
    calendar_.lead = std::chrono::hours(1);
    calendar_.entries = {entry};
    has_calendar_ = true;
  }
  void ledger(Words& words) {
    pool_.ledger.mode = words.next() == "strict" ? model::LedgerMode::kStrict : model::LedgerMode::kShared;
    pool_.ledger.class_aware = false;
    while (!words.empty()) {
      const std::string what = words.next();
      if (what == "class-aware") {
        pool_.ledger.class_aware = true;
        continue;
      }
      if (what == "over-report") {
        pool_.ledger.kubernetes.over_report.cpu_percent = std::stoll(words.next());
        pool_.ledger.yarn.over_report.cpu_percent = std::stoll(words.next());
        continue;
      }
      auto& number = what == "yarn-min"           ? pool_.ledger.yarn.share_min_percent
                     : what == "yarn-over-report" ? pool_.ledger.yarn.over_report.cpu_percent
                                                  : pool_.ledger.kubernetes.share_max_percent;
      number = std::stoll(words.next());
    }
  }
  void zones(std::int64_t count) {
    auto& topology = node_.topology.emplace();
    for (std::int64_t i = 0; i < count; ++i) {
      auto& zone = topology.zones.emplace_back();
      zone.name = cat("node-", i);
      zone.cpu = CpuMilli{node_.capacity.cpu.value / count};
      zone.memory = model::MemoryMilli{node_.capacity.memory.value / count * 1000};
    }
  }
  // What the zones are to carry, in milli-cores; it is carried out.
  std::string show_zones(const ZonesPlan& plan) {
    if (!node_.topology) return "";
    std::string line = cat("  zones [", model::reason_id(plan.reason), "]");
    for (std::size_t i = 0; i < plan.zones.size(); ++i) {
      const ZonePlan& zone = plan.zones[i];
      line += cat(" ", zone.batch_cpu.value / 1000, "m");
      auto& carried = node_.topology->zones[i];
      carried.batch_cpu = {zone.batch_cpu, zone.batch_cpu, zone.batch_cpu};
      carried.batch_memory = {zone.batch_memory, zone.batch_memory, zone.batch_memory};
    }
    return line;
  }
  void report(Resources use) {
    auto& metric = node_.metric ? *node_.metric : node_.metric.emplace();
    metric.update_time = now_;
    metric.has_node_metric = true;
    metric.system_usage = use;
    metric.node_usage = use;
  }
  void yarn(const std::string& what) {
    if (what == "unreadable") {
      node_.third_party = std::nullopt;
      yarn_.sold.reset();
    } else {
      yarn_.sold = {{0, testing::amounts(what)}};
      node_.third_party.emplace();
      node_.third_party->push_back({"hadoop-yarn", model::PriorityClass::kBatch, testing::amounts(what)});
    }
  }
  std::string decide() {
    kubernetes_.told = {node_.published.batch_cpu.value_or(CpuMilli{}),
                        node_.published.batch_memory.value_or(MemoryBytes{})};
    const waterline::Calendar* calendar = has_calendar_ ? &calendar_ : nullptr;
    const auto water = waterline::water_line(nullptr, "", calendar, strategy_.values.cpu_reclaim_threshold_percent,
                                             strategy_.values.memory_reclaim_threshold_percent, {}, now_);
    OfferInput input{.node = node_,
                     .strategy = strategy_,
                     .pool = {pool_, water, &calendar_.zone, guard_},
                     .origin = {origin_, std::nullopt},
                     .kubernetes = kubernetes_,
                     .yarn = {yarn_, yarn_obeys_},
                     .evicted = evicted_,
                     .now = now_,
                     .mono = mono_};
    auto step = offer(state_, input);
    state_ = step.state;
    const auto& plan = step.offer.plan;
    constexpr std::array kActions{"publish", "reset", "hold"};
    std::string line =
        cat("> ", kActions.at(static_cast<std::size_t>(plan.action)), " [", model::reason_id(plan.reason), "]");
    if (plan.action == PlanAction::kPublish) {
      line += cat("  origin ", plan.origin->cpu.value, "m, kubernetes ",
                  plan.publish.batch_cpu.value_or(CpuMilli{-1}).value, "m");
    }
    if (step.offer.line)
      line += cat("  line ", step.offer.line->cpu.sell, " [", model::reason_id(step.offer.line->cpu.reason), "]");
    if (step.offer.motion) line += cat("  [", model::reason_id(step.offer.motion->cpu.reason), "]");
    if (step.offer.ledger) line += cat("  [", model::reason_id(step.offer.ledger->kubernetes.cpu.reason), "]");
    if (step.offer.truthful) line += "  truthful";
    if (step.offer.backs_off) line += cat("  backs off, ", step.offer.backs_off->wanted.cpu.value, "m without");
    if (step.offer.stopped) line += cat("  stopped, ", step.offer.stopped->wanted.cpu.value, "m without");
    if (step.offer.arbitrate && step.offer.arbitrate->reason != model::Reason::kArbitrateFits) {
      line += cat("  [", model::reason_id(step.offer.arbitrate->reason), "]");
    }
    if (step.offer.shared_for_want_of_yarn) line += " (shared)";
    if (step.offer.yarn_offer) {
      line += cat("  yarn ", step.offer.yarn_offer->cpu.value, "m");
      yarn_.told = *step.offer.yarn_offer;
    }
    line += show_zones(plan.zones);
    // It is carried out.
    if (plan.action != PlanAction::kHold) {
      node_.published = plan.publish;
      origin_ = plan.origin;
    }
    return line;
  }

  model::Pool pool_;
  waterline::Calendar calendar_;
  bool has_calendar_ = false;
  NodeStrategy strategy_;
  model::NodeSnapshot node_;
  std::optional<Resources> origin_;
  SideBook kubernetes_ = nothing_sold();
  SideBook yarn_;
  bool yarn_obeys_ = false;
  OfferState state_;
  PoolGuard guard_;
  LastEvicted evicted_;
  base::WallTime now_ = kFirstOffer;
  base::MonotonicTime mono_{std::chrono::hours(1)};
};

TEST(Offer, MatchesTheScenarioFiles) {
  testing::play_scenarios("policy/sell/offer/testdata", 5, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// The default pool is the peer: whatever the node, the plan is that of the formulas.
// 120 % by day and 200 % at night, by the clock on the wall of the calendar, where there is one.
TEST(Offer, OfferToKubernetesFollowsTheHour) {
  model::Pool pool;
  pool.ledger.kubernetes.over_report.cpu_percent = 120;
  model::OverReportEntry night;
  night.hours = model::HourSpan{22, 6};
  night.cpu_percent = 200;
  pool.ledger.kubernetes.entries = {night};
  const model::Resources told{model::CpuMilli{12'000}, model::MemoryBytes{900}};
  const auto real_at = [&](std::int64_t hour, const PoolGuard& guard = {}) {
    return kubernetes_real({pool, std::nullopt, nullptr, guard}, SideBook(), told,
                           base::WallTime{std::chrono::hours(24 * 20'000 + hour)});
  };
  EXPECT_EQ(real_at(12).cpu, model::CpuMilli{10'000});
  EXPECT_EQ(real_at(23).cpu, model::CpuMilli{6'000});
  EXPECT_EQ(real_at(12).memory, told.memory) << "memory is offered as it is unless a setting says otherwise";
  EXPECT_EQ(real_at(23, {.stopped = false, .truthful = true}), told);
  pool.ledger = model::LedgerConfig();
  EXPECT_EQ(real_at(23), told);
}

TEST(OfferProperty, WithoutSettingsItIsTheFormulas) {
  std::mt19937_64 random(51);
  const auto amount = [&] {
    return Resources{CpuMilli{static_cast<std::int64_t>(random() % 64'000)},
                     MemoryBytes{static_cast<std::int64_t>(random() % 1'000'000)}};
  };
  OfferState state;
  for (int i = 0; i < 2'000; ++i) {
    model::NodeSnapshot node;
    node.capacity = {CpuMilli{64'000}, MemoryBytes{1'000'000}};
    node.allocatable = node.capacity - amount();
    if (random() % 4 != 0) {
      node.third_party.emplace();
      node.third_party->push_back({"yarn", model::PriorityClass::kBatch, amount()});
    }
    if (random() % 8 != 0) {
      node.metric.emplace();
      if (random() % 8 != 0)
        node.metric->update_time = kFirstOffer + std::chrono::minutes(-static_cast<int>(random() % 30));
      node.metric->has_node_metric = random() % 8 != 0;
      node.metric->system_usage = amount();
    }
    NodeStrategy strategy;
    strategy.enabled = random() % 8 != 0;
    const model::Pool pool;
    const OfferInput input{.node = node,
                           .strategy = strategy,
                           .pool = {pool, std::nullopt},
                           .origin = {amount(), std::nullopt},
                           .kubernetes = {},
                           .yarn = {},
                           .now = kFirstOffer,
                           .mono = {}};
    const auto step = offer(state, input);
    EXPECT_EQ(step.offer.plan, overcommit(node, strategy, kFirstOffer));
    EXPECT_FALSE(step.offer.line || step.offer.motion || step.offer.ledger || step.offer.yarn_offer);
    state = step.state;
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
