// A node whose two sides hear late and obey late, in a class-aware ledger: work of three classes comes and ends on
// both, what is evicted waits again, YARN's operator dies and comes back, sides are withdrawn. After a while nothing
// comes and nothing ends any more, and all must come to rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <string>

#include "base/text.h"
#include "policy/sell/ledger/books.h"
#include "policy/sell/offer/offer.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using model::CpuMilli;
using model::MemoryBytes;
using model::Resources;

constexpr std::int64_t kOrigin = 50'000;
constexpr std::int64_t kTask = 500;
constexpr std::array<std::string_view, 3> kNames{"transcode", "training", "spark"};

Resources both(std::int64_t amount) {
  return {CpuMilli{amount}, MemoryBytes{amount}};
}

using ByClass = std::array<std::int64_t, 3>;

std::int64_t sum(const ByClass& amounts) {
  return amounts[0] + amounts[1] + amounts[2];
}

struct Side {
  ByClass runs{};
  ByClass waits{};
  std::deque<std::int64_t> offers{0};            // by second, the newest last
  std::deque<std::vector<model::Reclaim>> asks;  // the same
  std::int64_t acts_on = 0;                      // of YARN: what its ResourceManager has
  bool withdrawn = false;
  ByClass evicted{};
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    pool_.ledger.mode = one_in(2) ? model::LedgerMode::kStrict : model::LedgerMode::kShared;
    pool_.ledger.class_aware = true;
    if (one_in(2)) pool_.ledger.kubernetes.share_max_percent = 40 + below(61);
    if (one_in(2)) pool_.ledger.yarn.share_max_percent = 40 + below(61);
    if (one_in(3)) pool_.ledger.kubernetes.share_min_percent = below(40);
    if (one_in(3)) pool_.ledger.yarn.share_min_percent = below(40);
    says_how_much_ = !one_in(4);
    again_ = one_in(2);
    strategy_.enabled = true;
    strategy_.values.cpu_reclaim_threshold_percent = strategy_.values.memory_reclaim_threshold_percent = 60;
    node_.capacity = node_.allocatable = both(2 * kOrigin);
    node_.third_party.emplace();
  }

  // What does not hold; "" where all does.
  std::string live() {
    for (int i = 0; i < kBusy_s; ++i) {
      come_and_go();
      if (std::string wrong = second(); !wrong.empty()) return cat("second ", i, ": ", wrong);
    }
    alive_ = knows_ = true;
    k_.evicted = y_.evicted = {};
    for (int i = 0; i < kQuiet_s; ++i) {
      if (i == kQuiet_s - kAtRest_s) at_rest_ = true;
      if (std::string wrong = second(); !wrong.empty()) return cat("quiet second ", i, ": ", wrong);
    }
    return at_the_end();
  }

 private:
  static constexpr int kBusy_s = 600;
  static constexpr int kQuiet_s = 1000;
  static constexpr int kAtRest_s = 300;
  static constexpr std::size_t kLate_s = 8;  // longest delay of any report

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  void come_and_go() {
    for (Side* side : {&k_, &y_}) {
      for (std::size_t c = 0; c < kNames.size(); ++c) {
        if (one_in(60)) side->waits[c] += kTask * below(40);
        if (one_in(80)) side->runs[c] -= std::min(side->runs[c], kTask * below(30));
        if (one_in(120)) side->waits[c] = 0;
      }
      if (one_in(300)) side->withdrawn = !side->withdrawn;
    }
    if (one_in(200)) alive_ = !alive_;
    if (one_in(150)) knows_ = !knows_;
  }

  template <class T>
  const T& late(const std::deque<T>& history) {
    const auto by = static_cast<std::size_t>(below(kLate_s));
    return history[history.size() - 1 - std::min(by, history.size() - 1)];
  }

  void start(Side& side, std::int64_t may_hold) {
    for (std::size_t c = kNames.size(); c-- > 0;) {
      while (side.waits[c] > 0 && sum(side.runs) + kTask <= may_hold) {
        side.waits[c] -= kTask;
        side.runs[c] += kTask;
      }
    }
  }
  void obey(Side& side) {
    if (side.asks.empty() || !one_in(3)) return;
    for (const auto& each : late(side.asks)) {
      const auto c = static_cast<std::size_t>(std::ranges::find(kNames, each.work_class) - kNames.begin());
      for (auto n = 1 + below(8); n > 0 && side.runs[c] > each.keep.cpu.value; --n) {
        side.runs[c] -= kTask;
        side.evicted[c] += kTask;
        if (again_) side.waits[c] += kTask;
      }
    }
  }

  std::string second() {
    now_ = now_ + std::chrono::seconds(1);
    mono_ = mono_ + std::chrono::seconds(1);
    if (one_in(2)) start(k_, late(k_.offers));
    obey(k_);
    if (knows_ && one_in(2)) start(y_, y_.acts_on);
    if (alive_) operate();
    if (pool_.ledger.mode == model::LedgerMode::kStrict && sum(k_.runs) + sum(y_.runs) > kOrigin) {
      return cat("oversold: ", sum(k_.runs), " and ", sum(y_.runs));
    }
    return one_in(3) ? look() : remember();
  }
  std::string remember() {
    k_.offers.push_back(k_.offers.back());
    if (!k_.asks.empty()) k_.asks.push_back(k_.asks.back());
    while (k_.offers.size() > kLate_s) k_.offers.pop_front();
    for (auto* history : {&k_.asks, &y_.asks}) {
      while (history->size() > kLate_s) history->pop_front();
    }
    return "";
  }

  // YARN's operator.
  void operate() {
    obey(y_);
    if (!one_in(3)) return;
    if (knows_) {
      y_.acts_on = offer_.offer.cpu.value;
      book_.generation = offer_.generation;
      book_.confirmed = offer_.offer;
    }
    book_.sold.reset();
    book_.waiting.reset();
    book_.waiting_for.reset();
    ++mark_;
    if (!knows_) return;
    book_.sold.emplace();
    for (std::size_t c = 0; c < kNames.size(); ++c) {
      if (y_.runs[c] > 0) book_.sold->push_back({std::string(kNames[c]), both(y_.runs[c])});
      if (y_.waits[c] == 0) continue;
      book_.waiting = kNames[c];
      if (says_how_much_) book_.waiting_for = both(y_.waits[c]);
    }
  }

  SideBook of_kubernetes() {
    SideBook book;
    book.sold.emplace();
    std::optional<WaitingWork> work;
    for (std::size_t c = 0; c < kNames.size(); ++c) {
      const auto order = static_cast<std::int64_t>(c) + 1;
      if (k_.runs[c] > 0) add_sold(*book.sold, order, kNames[c], both(k_.runs[c]));
      if (k_.waits[c] == 0) continue;
      if (!work) work.emplace();
      work->add(order, kNames[c], both(k_.waits[c]));
    }
    waiting_ = wait(waiting_, work, mono_).state;
    if (waiting_.wants_more) {
      book.wants_more = true;
      book.best_order = waiting_.best_order;
      book.waits_class = waiting_.best_class;
      book.waits_for = waiting_.amount;
    }
    book.told = both(k_.offers.back());
    book.withdrawn = k_.withdrawn;
    return book;
  }

  std::string look() {
    node_.metric.emplace();
    node_.metric->update_time = now_;
    node_.metric->has_node_metric = true;
    node_.metric->system_usage = both(kOrigin / 5);
    node_.metric->node_usage = both(kOrigin / 5);
    const std::vector<model::WorkClass> classes{
        {"transcode", 1, {}, false, 100}, {"training", 2, {}, false, 100}, {"spark", 3, {}, false, 100}};
    SideBook yarn = yarn_side(book_, offer_, classes);
    yarn.withdrawn = y_.withdrawn;
    const OfferInput input{.node = node_,
                           .strategy = strategy_,
                           .pool = {pool_, std::nullopt},
                           .origin = {origin_, std::nullopt},
                           .kubernetes = of_kubernetes(),
                           .yarn = {yarn, true, mark_},
                           .now = now_,
                           .mono = mono_};
    const OfferStep step = offer(state_, input);
    if (step.offer.plan.origin != both(kOrigin)) return "the stage is not as it was meant";
    const LedgerPlan& plan = *step.offer.ledger;
    if (offer(step.state, input).offer.ledger != plan) return "a second look decides otherwise";
    for (const std::string& wrong :
         {sound(plan), asked("Kubernetes", plan.kubernetes, input.yarn.book, input.kubernetes, pool_.ledger.yarn),
          asked("YARN", plan.yarn, input.kubernetes, input.yarn.book, pool_.ledger.kubernetes)}) {
      if (!wrong.empty()) return wrong;
    }
    carry_out(step);
    return remember();
  }

  void carry_out(const OfferStep& step) {
    state_ = step.state;
    origin_ = step.offer.plan.origin;
    node_.published = step.offer.plan.publish;
    k_.offers.push_back(step.offer.plan.publish.batch_cpu->value);
    k_.asks.push_back(told(step.offer.ledger->kubernetes.reclaim));
    y_.asks.push_back(told(step.offer.ledger->yarn.reclaim));
    // Nothing is known of what it holds: nothing more for it.
    const Resources to_yarn = book_.sold ? *step.offer.yarn_offer : model::min(*step.offer.yarn_offer, offer_.offer);
    if (to_yarn != offer_.offer) {
      const SideBook yarn = yarn_side(book_, offer_, {});
      offer_ = next_offer(yarn, to_yarn, std::max(offer_.generation, book_.generation), now_);
    } else if (const auto settled = settled_offer(book_, offer_)) {
      offer_ = *settled;
    }
  }

  std::string sound(const LedgerPlan& plan) const {
    const auto k = plan.kubernetes.cpu.real.value;
    const auto y = plan.yarn.cpu.real.value;
    if (k < 0 || y < 0) return "a negative offer";
    if (pool_.ledger.mode == model::LedgerMode::kStrict && k + y > kOrigin) return cat("offered ", k, " and ", y);
    return "";
  }
  // `book` and `config` of the other side, for which it is. Where work waits on this side as well it makes room for
  // that too.
  std::string asked(std::string_view name, const SidePlan& side, const SideBook& book, const SideBook& own,
                    const model::SideConfig& config) {
    if (side.reclaim.empty()) return "";
    ++asked_;
    const auto what = cat(name, " is asked for ", side.reclaim.front().amount.cpu.value, " of ",
                          side.reclaim.front().work_class, ", ");
    if (at_rest_) return cat(what, "and nothing has changed for long");
    if (!book.wants_more || (book.waits_for && *book.waits_for == Resources{})) return cat(what, "and no work waits");
    if (book.withdrawn) return cat(what, "for a side that is off");
    std::int64_t held = 0;
    for (const auto& each : book.sold.value_or(std::vector<ClassSold>())) held += each.amount.cpu.value;
    if (held >= kOrigin * config.share_max_percent / 100 && !own.wants_more) {
      return cat(what, "for a side that may have no more");
    }
    for (const auto& each : side.reclaim) {
      if (each.amount.cpu.value < 0 || each.keep.cpu.value < 0) return cat(what, "a negative amount");
    }
    return "";
  }

  std::string at_the_end() {
    for (const Side* side : {&k_, &y_}) {
      for (std::size_t c = 0; c < kNames.size(); ++c) {
        if (side->evicted[c] > kOrigin) return cat(kNames[c], " was evicted again and again: ", side->evicted[c]);
      }
    }
    // Nothing less timely is in the way of what waits on the other side alone.
    const auto blocked = [&](const Side& waits, const Side& holds, const model::SideConfig& config) {
      if (waits.withdrawn || holds.withdrawn || sum(holds.waits) > 0 || !says_how_much_) return std::string();
      for (std::size_t c = 1; c < kNames.size(); ++c) {
        if (waits.waits[c] == 0 || sum(waits.runs) + kTask > kOrigin * config.share_max_percent / 100) continue;
        for (std::size_t less = 0; less < c; ++less) {
          if (holds.runs[less] > 0) return cat(kNames[c], " waits while ", kNames[less], " runs");
        }
      }
      return std::string();
    };
    std::string wrong = blocked(k_, y_, pool_.ledger.kubernetes);
    return wrong.empty() ? blocked(y_, k_, pool_.ledger.yarn) : wrong;
  }

 public:
  int asked_ = 0;

 private:
  std::mt19937_64 random_;
  model::Pool pool_;
  NodeStrategy strategy_;
  model::NodeSnapshot node_;
  std::optional<Resources> origin_;
  OfferState state_;
  Waiting waiting_;
  Side k_;
  Side y_;
  model::YarnOffer offer_;
  model::YarnBook book_;
  std::uint64_t mark_ = 0;
  bool alive_ = true;          // YARN's operator
  bool knows_ = true;          // its ResourceManager answers
  bool says_how_much_ = true;  // waits on YARN
  bool again_ = false;         // what is evicted waits again
  bool at_rest_ = false;
  base::WallTime now_ = *base::parse_rfc3339("2026-11-21T20:00:00Z");
  base::MonotonicTime mono_{std::chrono::hours(1)};
};

TEST(Reclaim, ConvergesWithAnyLag) {
  int asked = 0;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    World world(seed);
    const std::string wrong = world.live();
    ASSERT_EQ(wrong, "") << "seed " << seed;
    asked += world.asked_;
  }
  EXPECT_GT(asked, 2'000);
}

}  // namespace
}  // namespace tidemark::policy::sell
