#include "policy/sell/ledger/ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "policy/sell/ledger/books.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using model::CpuMilli;
using model::MemoryBytes;
using model::Resources;
using testing::Words;

Resources cores(std::int64_t milli) {
  return {CpuMilli{milli}, MemoryBytes{milli}};
}

class LedgerScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "mode") {
      mode(words);
    } else if (verb == "kubernetes") {
      side(words, kubernetes_, config_.kubernetes);
    } else if (verb == "yarn") {
      side(words, yarn_, config_.yarn);
    } else if (verb == "confirm") {  // each side now acts on its last offer
      kubernetes_.confirmed = kubernetes_.told;
      yarn_.confirmed = yarn_.told;
    } else if (verb == "origin") {
      answers = decide(milli(words.next()));
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
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
  static std::int64_t milli(std::string_view text) { return testing::quantity(text).scaled_value_saturated(-3); }
  void mode(Words& words) {
    config_.mode = words.next() == "strict" ? model::LedgerMode::kStrict : model::LedgerMode::kShared;
    config_.class_aware = !words.empty() && words.next() == "class-aware";
  }
  // sold is ORDER:AMOUNT, or ORDER:AMOUNT:CLASS, more than one joined by "+"; "unknown" if its master is down.
  static void side(Words& words, SideBook& book, model::SideConfig& config) {
    while (!words.empty()) {
      const std::string what = words.next();
      if (what == "wants-more") {
        book.wants_more = true;
      } else if (what == "content") {
        book.wants_more = false;
      } else if (what == "withdrawn") {
        book.withdrawn = true;
      } else if (what == "given-again") {
        book.withdrawn = false;
      } else if (what == "sold") {
        sold(words.next(), book);
      } else if (what == "in-flight") {
        book.in_flight = cores(milli(words.next()));
      } else if (what == "told") {
        book.told = book.confirmed = cores(milli(words.next()));
      } else if (what == "class") {
        book.best_order = std::stoll(words.next());
      } else if (what == "waits") {  // a class by name
        book.waits_class = words.next();
        book.wants_more = true;
      } else if (what == "waits-for") {
        book.waits_for = cores(milli(words.next()));
      } else if (what == "entry") {  // CLASS:PERCENT, "any" for every class
        const std::string text = words.next();
        const auto fields = base::split(text, ':');
        model::OverReportEntry entry;
        if (fields[0] != "any") entry.work_class = fields[0];
        entry.cpu_percent = entry.memory_percent = std::stoll(std::string(fields[1]));
        entry.number = static_cast<std::int64_t>(config.entries.size()) + 1;
        config.entries.push_back(std::move(entry));
      } else if (what == "no-entries") {
        config.entries.clear();
      } else if (what == "min") {
        config.share_min_percent = std::stoll(words.next());
      } else if (what == "max") {
        config.share_max_percent = std::stoll(words.next());
      } else if (what == "over-report") {
        config.over_report.cpu_percent = config.over_report.memory_percent = std::stoll(words.next());
      } else {
        throw std::runtime_error(cat("a side has no ", what));
      }
    }
  }
  static void sold(const std::string& text, SideBook& book) {
    book.sold = std::nullopt;
    if (text == "unknown") return;
    book.sold.emplace();
    for (const auto part : base::split(text, '+')) {
      const auto fields = base::split(part, ':');
      if (fields.size() >= 2) {
        const std::string name(fields.size() == 3 ? fields[2] : "");
        book.sold->push_back({std::stoll(std::string(fields[0])), cores(milli(fields[1])), name});
      } else {
        book.sold->push_back({0, cores(milli(part))});
      }
    }
  }
  static std::string shown(std::string_view name, const SideTerms<CpuMilli>& terms) {
    std::string line = cat("> ", name, " ", terms.offer.value, "m [", model::reason_id(terms.reason), "]");
    if (terms.reclaim.value > 0) line += cat("  reclaim ", terms.reclaim.value, "m from the other");
    for (const auto& each : terms.classes) {
      if (each.waits && each.told.value == 0) continue;
      line += cat(each.waits ? "; free for " : "; ", each.work_class.empty() ? "no class" : each.work_class, " ",
                  each.told.value, "m for ", each.real.value, "m");
    }
    return line;
  }
  static void reclaimed(std::string_view name, const SidePlan& side, std::vector<std::string>& answers) {
    for (const auto& each : side.reclaim) {
      EXPECT_EQ(each.amount.memory.value, each.amount.cpu.value);
      answers.push_back(cat("> ", name, " returns ", each.amount.cpu.value, "m of ",
                            each.work_class.empty() ? "no class" : each.work_class, ", keeps ", each.keep.cpu.value,
                            "m [", model::reason_id(each.reason), "]"));
    }
  }
  std::vector<std::string> decide(std::int64_t origin) {
    const auto plan = split(cores(origin), kubernetes_, yarn_, config_);
    kubernetes_.told = plan.kubernetes.offer();
    yarn_.told = plan.yarn.offer();
    std::vector<std::string> answers{shown("kubernetes", plan.kubernetes.cpu), shown("yarn", plan.yarn.cpu)};
    reclaimed("kubernetes", plan.kubernetes, answers);
    reclaimed("yarn", plan.yarn, answers);
    return answers;
  }

  model::LedgerConfig config_;
  SideBook kubernetes_ = nothing_sold();
  SideBook yarn_ = nothing_sold();
};

TEST(Ledger, SplitsAsTheFilesSay) {
  testing::play_scenarios("policy/sell/ledger/testdata", 4, [] {
    return [scenario = std::make_shared<LedgerScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// ---- properties ----

std::int64_t any_number(std::mt19937_64& random) {
  if (random() % 10 == 0) return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random() % 2);
  if (random() % 10 == 0) return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(random() % 2);
  return static_cast<std::int64_t>(random() % 200'000) - 20'000;
}

std::string any_class(std::mt19937_64& random) {
  constexpr std::array kNames{"", "transcode", "training", "spark"};
  return kNames.at(random() % kNames.size());
}

SideBook any_book(std::mt19937_64& random) {
  SideBook book;
  if (random() % 8 != 0) {
    book.sold.emplace();
    for (auto n = random() % 4; n > 0; --n) {
      book.sold->push_back({static_cast<std::int64_t>(random() % 4), cores(any_number(random)), any_class(random)});
    }
  }
  book.in_flight = cores(random() % 2 == 0 ? 0 : any_number(random));
  book.told = cores(any_number(random));
  book.confirmed = cores(any_number(random));
  book.wants_more = random() % 2 == 0;
  book.withdrawn = random() % 6 == 0;
  book.best_order = static_cast<std::int64_t>(random() % 4);
  book.waits_class = any_class(random);
  if (random() % 4 == 0) book.taken_off = cores(any_number(random));
  if (random() % 2 == 0) book.waits_for = cores(any_number(random));
  return book;
}

model::LedgerConfig any_config(std::mt19937_64& random, bool truthful) {
  model::LedgerConfig config;
  config.mode = random() % 2 == 0 ? model::LedgerMode::kStrict : model::LedgerMode::kShared;
  config.class_aware = random() % 3 == 0;
  for (model::SideConfig* side : {&config.kubernetes, &config.yarn}) {
    side->share_min_percent = static_cast<std::int64_t>(random() % 120) - 10;
    side->share_max_percent = static_cast<std::int64_t>(random() % 140) - 10;
    if (!truthful) {
      side->over_report.cpu_percent = any_number(random);
      side->over_report.memory_percent = static_cast<std::int64_t>(random() % 300);
      for (auto n = random() % 4; n > 0; --n) {
        model::OverReportEntry entry;
        entry.work_class = any_class(random);
        if (random() % 2 == 0) entry.cpu_percent = any_number(random);
        if (random() % 2 == 0) entry.memory_percent = static_cast<std::int64_t>(random() % 300);
        side->entries.push_back(std::move(entry));
      }
    }
  }
  return config;
}

TEST(LedgerProperty, AnyNumbersGiveAValidSplit) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 50'000; ++i) {
    const Resources origin = cores(any_number(random));
    const auto config = any_config(random, false);
    const auto plan = split(origin, any_book(random), any_book(random), config);
    const auto ceiling = std::max(origin.cpu, CpuMilli{0});
    for (const SidePlan* side : {&plan.kubernetes, &plan.yarn}) {
      ASSERT_GE(side->cpu.offer.value, 0);
      ASSERT_GE(side->memory.offer.value, 0);
      ASSERT_GE(side->cpu.reclaim.value, 0);
      ASSERT_LE(side->cpu.real, ceiling);
      for (const auto& each : side->reclaim) {
        ASSERT_GE(each.amount.cpu.value, 0);
        ASSERT_GE(each.keep.cpu.value, 0);
        ASSERT_GE(each.amount.memory.value, 0);
        ASSERT_GE(each.keep.memory.value, 0);
      }
      if (!config.class_aware) {
        ASSERT_TRUE(side->reclaim.empty());
      }
    }
    if (config.mode == model::LedgerMode::kStrict) {
      ASSERT_LE(plan.kubernetes.cpu.real + plan.yarn.cpu.real, ceiling) << i;
      ASSERT_LE(plan.kubernetes.memory.real + plan.yarn.memory.real, std::max(origin.memory, MemoryBytes{0})) << i;
    }
  }
}

// Contract 5.6: kube batch = max(origin − Σ third-party allocations, 0), whatever else is known.
TEST(LedgerProperty, WithoutSettingsSharedLedgerIsKoordinators) {
  std::mt19937_64 random(22);
  for (int i = 0; i < 5'000; ++i) {
    const auto origin = static_cast<std::int64_t>(random() % 100'000);
    const auto yarn_sold = static_cast<std::int64_t>(random() % 100'000);
    SideBook kubernetes = any_book(random);
    SideBook yarn = any_book(random);
    kubernetes.withdrawn = yarn.withdrawn = false;
    yarn.sold = {{0, cores(yarn_sold)}};
    yarn.in_flight = {};
    const auto plan = split(cores(origin), kubernetes, yarn, model::LedgerConfig());
    EXPECT_EQ(plan.kubernetes.cpu.offer.value, std::max<std::int64_t>(origin - yarn_sold, 0));
    EXPECT_EQ(plan.kubernetes.memory.offer.value, std::max<std::int64_t>(origin - yarn_sold, 0));
  }
}

TEST(LedgerProperty, MoreSoldByTheOtherNeverOffersMore) {
  std::mt19937_64 random(23);
  for (int i = 0; i < 20'000; ++i) {
    const auto config = any_config(random, true);
    const Resources origin = cores(static_cast<std::int64_t>(random() % 100'000));
    const SideBook kubernetes = any_book(random);
    SideBook yarn = any_book(random);
    if (!yarn.sold) continue;
    // Class-aware: work that waits for what its side may not hold any more requests nothing either.
    if (config.class_aware && yarn.wants_more) continue;
    const auto before = split(origin, kubernetes, yarn, config);
    yarn.sold->push_back({5, cores(static_cast<std::int64_t>(random() % 10'000))});
    const auto after = split(origin, kubernetes, yarn, config);
    ASSERT_LE(after.kubernetes.cpu.offer, before.kubernetes.cpu.offer) << i;
  }
}

// Two sides that act on offers some steps old, and are observed some steps later. For any seed, what they sold together
// never exceeds the origin.
class StrictWorld {
 public:
  explicit StrictWorld(std::uint64_t seed) : random_(seed) {
    config_.mode = model::LedgerMode::kStrict;
    config_.class_aware = random_() % 2 == 0;
    config_.kubernetes.share_min_percent = static_cast<std::int64_t>(random_() % 60);
    config_.yarn.share_min_percent = static_cast<std::int64_t>(random_() % 60);
    lag_ = 1 + random_() % 4;
  }

  void step() {
    for (Side* side : {&kubernetes_, &yarn_}) act(*side);
    ASSERT_LE(kubernetes_.sold + yarn_.sold, kOrigin);
    // The decider observes both late, and sometimes not at all.
    if (random_() % 4 == 0) return;
    const auto plan = split(cores(kOrigin), book(kubernetes_), book(yarn_), config_);
    tell(kubernetes_, plan.kubernetes.cpu.offer.value);
    tell(yarn_, plan.yarn.cpu.offer.value);
  }

 private:
  static constexpr std::int64_t kOrigin = 10'000;
  struct Side {
    std::int64_t sold = 0;
    std::int64_t wanted = 0;
    std::deque<std::int64_t> told{0};  // the newest last
    std::deque<std::int64_t> seen{0};  // what its master reported, the newest last
    std::int64_t acts_on = 0;
    bool withdrawn = false;
  };

  void act(Side& side) {
    if (random_() % 10 == 0) side.wanted = static_cast<std::int64_t>(random_() % 12'000);
    // An offer arrives after a while, at most `lag_` steps, and never out of order.
    const auto late = random_() % (lag_ + 1);
    side.acts_on = side.told.size() > late ? side.told[side.told.size() - 1 - late] : 0;
    if (side.sold < side.wanted && side.sold < side.acts_on) {
      const auto room = std::min(side.wanted, side.acts_on) - side.sold;
      side.sold += static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(room + 1));
    }
    if (random_() % 3 == 0 && side.sold > std::min(side.wanted, side.acts_on)) {
      side.sold -= static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(side.sold + 1));
    }
    side.seen.push_back(side.sold);
  }
  // Known are: what was sold at most `lag_` steps ago, and that no offer older than that is in use any more.
  SideBook book(Side& side) {
    SideBook book;
    const auto late = random_() % (lag_ + 1);
    const auto seen = side.seen.size() > late ? side.seen[side.seen.size() - 1 - late] : 0;
    book.sold = {{static_cast<std::int64_t>(random_() % 3), cores(seen)}};
    if (random_() % 20 == 0) book.sold = std::nullopt;
    std::int64_t largest = 0;
    for (std::size_t i = 0; i <= 2 * lag_ && i < side.told.size(); ++i) {
      largest = std::max(largest, side.told[side.told.size() - 1 - i]);
    }
    book.told = cores(side.told.back());
    book.confirmed = cores(std::max(largest, seen));
    book.wants_more = side.wanted > side.sold;
    if (random_() % 20 == 0) side.withdrawn = !side.withdrawn;
    book.withdrawn = side.withdrawn;
    book.best_order = static_cast<std::int64_t>(random_() % 3);
    return book;
  }
  // Steps without an offer count as the same offer again: time passes for confirmations too.
  void tell(Side& side, std::int64_t offer) { side.told.push_back(offer); }

  std::mt19937_64 random_;
  model::LedgerConfig config_;
  std::size_t lag_ = 1;
  Side kubernetes_;
  Side yarn_;
};

TEST(LedgerProperty, StrictLedgerNeverOversellsWhateverTheLag) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    StrictWorld world(seed);
    for (int i = 0; i < 300; ++i) {
      world.step();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
    }
  }
}

// Converting a real amount to an offer and back never gives more, and a larger amount never gives a smaller offer.
TEST(OverReportProperty, BothCurrenciesAgree) {
  std::mt19937_64 random(24);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<Currency::Part> parts;
    for (auto n = random() % 4; n > 0; --n) {
      parts.push_back({any_number(random), 1 + static_cast<std::int64_t>(random() % 400)});
    }
    const Currency currency(parts, 1 + static_cast<std::int64_t>(random() % 400));
    const std::int64_t real = std::abs(any_number(random) / 2);
    const std::int64_t told = currency.told(real);
    ASSERT_GE(told, 0);
    if (told == std::numeric_limits<std::int64_t>::max()) continue;
    ASSERT_LE(currency.real(told), real) << i;
    ASSERT_GE(currency.told(real + 1), told) << i;
    ASSERT_GE(currency.real(told + 1), currency.real(told)) << i;
  }
}

// Only less timely work returns, the least timely first, and no more than it holds; waiting work requests no more
// than it needs.
TEST(LedgerProperty, LeastTimelyWorkReturnsFirst) {
  std::mt19937_64 random(25);
  int gives = 0;
  for (int i = 0; i < 50'000; ++i) {
    model::LedgerConfig config = any_config(random, true);
    config.class_aware = true;
    SideBook kubernetes = any_book(random);
    SideBook yarn = any_book(random);
    constexpr std::array<std::string_view, 4> kByOrder{"", "transcode", "training", "spark"};
    for (SideBook* book : {&kubernetes, &yarn}) {
      book->in_flight = cores(static_cast<std::int64_t>(random() % 5'000));
      book->told = cores(static_cast<std::int64_t>(random() % 50'000));
      book->confirmed = cores(static_cast<std::int64_t>(random() % 50'000));
      if (book->waits_for) book->waits_for = cores(static_cast<std::int64_t>(random() % 60'000) - 5'000);
      if (!book->sold) continue;
      std::vector<ClassSold> sold;
      for (const auto& each : *book->sold) {
        const auto amount = static_cast<std::int64_t>(random() % 50'000);
        add_sold(sold, each.order, kByOrder.at(static_cast<std::size_t>(each.order)), cores(amount));
      }
      book->sold = sold;
    }
    const Resources origin = cores(static_cast<std::int64_t>(random() % 100'000));
    const auto plan = split(origin, kubernetes, yarn, config);
    const auto held = [](const SideBook& book) {
      std::int64_t sum = std::max<std::int64_t>(book.in_flight.cpu.value, 0);
      if (!book.sold) return std::max({std::int64_t{0}, book.told.cpu.value, book.confirmed.cpu.value});
      for (const auto& each : *book.sold) sum += each.amount.cpu.value;
      return sum;
    };
    const auto look = [&](const SidePlan& side, const SideBook& book, const SideBook& other) {
      if (side.reclaim.empty()) return;
      ++gives;
      ASSERT_TRUE(other.wants_more);
      std::int64_t sum = 0;
      for (std::size_t at = 0; at < book.sold->size(); ++at) {
        const auto& each = (*book.sold)[at];
        const auto told = std::ranges::find(side.reclaim, each.work_class, &ClassReclaim::work_class);
        if (told == side.reclaim.end()) continue;
        ASSERT_LT(each.order, other.best_order);
        ASSERT_EQ(told->amount + told->keep, each.amount) << i;
        sum += told->amount.cpu.value;
        // All less timely classes have returned everything.
        for (std::size_t before = 0; before < at; ++before) {
          const auto& less = (*book.sold)[before];
          if (less.amount.cpu.value == 0 || told->amount.cpu.value == 0) continue;
          const auto first = std::ranges::find(side.reclaim, less.work_class, &ClassReclaim::work_class);
          ASSERT_NE(first, side.reclaim.end()) << i;
          ASSERT_EQ(first->keep.cpu.value, 0) << i;
        }
      }
      // If work waits on both sides, the least timely of either is reclaimed; what both hold beyond the origin blocks
      // too.
      const bool both = book.wants_more && !book.withdrawn;
      if (other.waits_for && (!both || book.waits_for)) {
        const auto waits = [](const SideBook& of) { return std::max<std::int64_t>(of.waits_for->cpu.value, 0); };
        const auto beyond = std::max(held(book) + held(other) - origin.cpu.value, std::int64_t{0});
        ASSERT_LE(sum, waits(other) + (both ? waits(book) : 0) + beyond) << i;
      }
      ASSERT_FALSE(book.withdrawn) << i;
    };
    look(plan.kubernetes, kubernetes, yarn);
    look(plan.yarn, yarn, kubernetes);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(gives, 1'000);
}

// A class obeys, partly or fully, and nothing else changes: no class must return more than before, and a class that
// obeyed fully nothing. What waits is due no less.
TEST(LedgerProperty, ObeyingNeverIncreasesWhatIsReclaimed) {
  std::mt19937_64 random(26);
  const auto amount = [&](std::uint64_t below) { return cores(static_cast<std::int64_t>(random() % below)); };
  const auto any = [&] {
    SideBook book;
    book.sold.emplace();
    constexpr std::array kByOrder{"", "transcode", "training", "spark"};
    for (auto n = random() % 4; n > 0; --n) {
      const std::size_t order = random() % 4;
      add_sold(*book.sold, static_cast<std::int64_t>(order), kByOrder.at(order), amount(25'000));
    }
    book.told = amount(50'000);
    book.wants_more = random() % 3 != 0;
    book.withdrawn = random() % 12 == 0;
    book.best_order = static_cast<std::int64_t>(random() % 4);
    if (random() % 3 != 0) book.waits_for = amount(40'000);
    return book;
  };
  const auto keeps = [](const SidePlan& side, const ClassSold& of) {
    const auto at = std::ranges::find(side.reclaim, of.work_class, &ClassReclaim::work_class);
    return at == side.reclaim.end() ? of.amount : at->keep;
  };
  int obeyed = 0;
  for (int i = 0; i < 50'000; ++i) {
    model::LedgerConfig config = any_config(random, true);
    config.class_aware = true;
    const Resources origin = amount(60'000);
    std::array books{any(), any()};
    const auto before = split(origin, books[0], books[1], config);
    const std::array sides{&before.kubernetes, &before.yarn};
    const auto was = books;
    for (std::size_t s = 0; s < 2; ++s) {
      for (ClassSold& each : *books[s].sold) {
        const Resources keep = keeps(*sides[s], each);
        if (keep == each.amount || random() % 3 == 0) continue;
        ++obeyed;
        const auto span = static_cast<std::uint64_t>(each.amount.cpu.value - keep.cpu.value);
        each.amount = random() % 2 == 0 ? keep : keep + amount(span + 1);
      }
    }
    const auto after = split(origin, books[0], books[1], config);
    const std::array later{&after.kubernetes, &after.yarn};
    for (std::size_t s = 0; s < 2; ++s) {
      for (std::size_t c = 0; c < books[s].sold->size(); ++c) {
        const Resources first = keeps(*sides[s], (*was[s].sold)[c]);
        ASSERT_GE(keeps(*later[s], (*books[s].sold)[c]).cpu, std::min(first.cpu, (*books[s].sold)[c].amount.cpu))
            << i << ": side " << s << ", order " << (*books[s].sold)[c].order;
      }
    }
  }
  EXPECT_GT(obeyed, 5'000);
}

TEST(OverReportGuard, StopsAboveOnePercentAndResumesAfterAnHourOfCalm) {
  const model::OverReport wanted{120, 100};
  OverReportState state;
  auto step = [&](std::int64_t evicted, std::int64_t finished, std::int64_t elapsed) {
    const auto out = guard_over_report(state, wanted, {evicted, finished}, elapsed);
    state = out.state;
    return out.effective.cpu_percent;
  };
  EXPECT_EQ(step(0, 0, 60), 120);
  EXPECT_EQ(step(1, 99, 60), 120);     // exactly 1 %
  EXPECT_EQ(step(2, 98, 60), 100);     // above
  EXPECT_EQ(step(1, 150, 3600), 100);  // below 1 %, not yet calm
  EXPECT_EQ(step(0, 150, 3599), 100);
  EXPECT_EQ(step(1, 150, 3600), 100);  // the calm was interrupted
  EXPECT_EQ(step(0, 150, 1800), 100);
  EXPECT_EQ(step(0, 150, 1800), 120);
  EXPECT_EQ(step(std::numeric_limits<std::int64_t>::max(), 0, 1), 100);
  EXPECT_EQ(guard_over_report({true, std::nullopt}, {80, 100}, {5, 5}, 1).effective.cpu_percent,
            80);  // less than all stays
}

}  // namespace
}  // namespace tidemark::policy::sell
