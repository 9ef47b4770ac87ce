#include "policy/sell/ledger/books.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tidemark::policy::sell {
namespace {

using namespace std::chrono_literals;
using model::CpuMilli;
using model::MemoryBytes;
using model::Resources;

constexpr base::MonotonicTime kStart{1h};

Resources of(std::int64_t cpu, std::int64_t memory) {
  return {CpuMilli{cpu}, MemoryBytes{memory}};
}

TEST(Books, UnknownClassIsTheLeastTimely) {
  const std::vector<model::WorkClass> classes{{"transcode", 10, 0s, false, 100}, {"spark", 30, 0s, false, 100}};
  EXPECT_EQ(class_order(classes, "spark"), 30);
  EXPECT_EQ(class_order(classes, ""), 10);
  EXPECT_EQ(class_order(classes, "sparc"), 10);
  EXPECT_EQ(class_order({}, "spark"), 0);
}

TEST(Books, KeepsSoldAmountsByClass) {
  std::vector<ClassSold> sold;
  add_sold(sold, 3, "spark", of(1, 10));
  add_sold(sold, 1, "", of(2, 20));
  add_sold(sold, 1, "nobody", of(1, 1));
  add_sold(sold, 3, "spark", of(4, 40));
  EXPECT_EQ(sold, (std::vector<ClassSold>{{1, of(2, 20), ""}, {1, of(1, 1), "nobody"}, {3, of(5, 50), "spark"}}));
}

TEST(Books, CutOfKubernetesIsConfirmedAfterTheBindLag) {
  auto step = confirm({}, of(50, 50), {}, kStart);
  EXPECT_EQ(step.state.most, of(50, 50));
  step = confirm(step.state, of(20, 60), {}, kStart + 1s);
  EXPECT_EQ(step.state.most, of(50, 60)) << "growth counts at once";
  EXPECT_EQ(step.again_after, kBindLag);
  step = confirm(step.state, of(10, 60), {}, kStart + 6s);
  EXPECT_EQ(step.again_after, kBindLag) << "the later cut has its own time";
  step = confirm(step.state, of(10, 60), {}, kStart + (6s + kBindLag - 1ns));
  EXPECT_EQ(step.state.most, of(50, 60));
  step = confirm(step.state, of(10, 60), {}, kStart + 6s + kBindLag);
  EXPECT_EQ(step.state.most, of(10, 60));
  EXPECT_FALSE(step.again_after);
}

TEST(Books, NewNodeCountsTheMostItMayHaveCarried) {
  auto step = confirm({}, of(20, 60), of(50, 50), kStart);
  EXPECT_EQ(step.state.most, of(50, 60)) << "the previous leader may have cut it a moment ago";
  EXPECT_EQ(step.again_after, kBindLag);
  step = confirm(step.state, of(20, 60), {}, kStart + (kBindLag - 1ns));
  EXPECT_EQ(step.state.most, of(50, 60));
  step = confirm(step.state, of(20, 60), {}, kStart + kBindLag);
  EXPECT_EQ(step.state.most, of(20, 60));
  EXPECT_FALSE(step.again_after);
}

TEST(Books, KubernetesMayActOnAnyRecentOffer) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    BindLag state;
    std::deque<std::pair<base::MonotonicTime, Resources>> carried;
    base::MonotonicTime now = kStart;
    for (int i = 0; i < 200; ++i) {
      const Resources told = of(random() % 50, random() % 50);
      state = confirm(state, told, {}, now).state;
      carried.emplace_back(now, told);
      // Each amount was on the node until the pass that saw the next one.
      for (std::size_t at = 0; at + 1 < carried.size(); ++at) {
        if (now - carried[at + 1].first >= kBindLag) continue;
        ASSERT_GE(state.most.cpu, carried[at].second.cpu) << "seed " << seed;
        ASSERT_GE(state.most.memory, carried[at].second.memory) << "seed " << seed;
      }
      ASSERT_GE(state.most.cpu, told.cpu);
      now = now + std::chrono::milliseconds(random() % 4000);
    }
    state = confirm(state, of(1, 1), {}, now).state;
    state = confirm(state, of(1, 1), {}, now + kBindLag).state;
    ASSERT_EQ(state.most, of(1, 1)) << "seed " << seed;
  }
}

TEST(Books, WorkWaitsAfterAWhileAndStopsAfterALongerOne) {
  auto step = wait({}, WaitingWork{30, "spark", of(4, 4)}, kStart);
  EXPECT_FALSE(step.state.wants_more);
  EXPECT_EQ(step.again_after, kWaitsAfter);
  step = wait(step.state, WaitingWork{30, "spark", of(5, 5)}, kStart + kWaitsAfter);
  EXPECT_TRUE(step.state.wants_more);
  EXPECT_EQ(step.state.best_order, 30);
  EXPECT_EQ(step.state.best_class, "spark");
  EXPECT_EQ(step.state.amount, of(5, 5));
  EXPECT_FALSE(step.again_after);
  step = wait(step.state, std::nullopt, kStart + 1min);
  EXPECT_TRUE(step.state.wants_more);
  EXPECT_EQ(step.again_after, kContentAfter - (1min - kWaitsAfter));
  step = wait(step.state, std::nullopt, kStart + kWaitsAfter + kContentAfter);
  EXPECT_EQ(step.state, Waiting());
  // A pod that is bound soon changes nothing.
  step = wait(step.state, WaitingWork{10, "", {}}, kStart + 10min);
  step = wait(step.state, std::nullopt, kStart + 10min + 3s);
  EXPECT_EQ(step.state, Waiting());
}

TEST(Books, MomentaryTimelyPodChangesNothing) {
  auto now = kStart;
  auto state = wait({}, WaitingWork{10}, now).state;
  state = wait(state, WaitingWork{10}, now = now + kWaitsAfter).state;
  EXPECT_EQ(state.best_order, 10);
  // Pods of a higher class come and are bound, one pass after the other.
  for (int i = 0; i < 20; ++i) {
    state = wait(state, WaitingWork{i % 2 == 0 ? 30 : 10}, now = now + 5s).state;
    ASSERT_EQ(state.best_order, 10) << i;
  }
  // A waiting one counts, and continues to for a while.
  state = wait(state, WaitingWork{30}, now = now + 5s).state;
  state = wait(state, WaitingWork{30}, now = now + kWaitsAfter).state;
  EXPECT_EQ(state.best_order, 30);
  auto step = wait(state, WaitingWork{10}, now = now + 5s);
  EXPECT_EQ(step.state.best_order, 30);
  EXPECT_EQ(step.again_after, kContentAfter - 5s);
  step = wait(step.state, WaitingWork{10}, now = now + (kContentAfter - 5s));
  EXPECT_EQ(step.state.best_order, 10);
  EXPECT_EQ(step.state.levels.size(), 1u);
  EXPECT_FALSE(step.again_after);
}

TEST(Books, WorkOfAlternatingClassesWaitsWithoutABreak) {
  auto state = wait({}, WaitingWork{30}, kStart).state;
  state = wait(state, WaitingWork{10}, kStart + 6s).state;
  EXPECT_FALSE(state.wants_more);
  state = wait(state, WaitingWork{20}, kStart + kWaitsAfter).state;
  EXPECT_TRUE(state.wants_more);
  EXPECT_EQ(state.best_order, 10) << "of class 20 nothing waited so long";
}

TEST(Books, YarnsSide) {
  const std::vector<model::WorkClass> classes{{"transcode", 10, 0s, false, 100}, {"spark", 30, 0s, false, 100}};
  model::YarnBook book;
  book.generation = 3;
  book.confirmed = of(9, 9);
  const model::YarnOffer offer{4, of(5, 5), of(7, 12)};
  auto side = yarn_side(book, offer, classes);
  EXPECT_FALSE(side.sold) << "its ResourceManager is away";
  EXPECT_EQ(side.told, of(5, 5));
  EXPECT_EQ(side.confirmed, of(9, 12)) << "an offer that was cut may be on its way still";
  const base::WallTime now{std::chrono::hours(1)};
  const auto next = next_offer(side, of(1, 20), 4, now);
  EXPECT_GT(next.generation, 4);
  EXPECT_EQ(next.offer, of(1, 20));
  EXPECT_EQ(next.up_to, of(9, 20));
  book.confirmed = of(5, 5);
  EXPECT_EQ(yarn_side(book, offer, classes).confirmed, of(7, 12)) << "the same amount of an offer before it";
  EXPECT_FALSE(side.wants_more);
  book.sold = {{"transcode", of(1, 1)}, {"nobody", of(2, 2)}};
  book.waiting = "spark";
  book.confirmed = of(5, 5);
  side = yarn_side(book, offer, classes);
  EXPECT_EQ(side.confirmed, of(7, 12));
  book.generation = 4;
  EXPECT_EQ(yarn_side(book, offer, classes).confirmed, of(5, 5)) << "this one";
  auto away = book;
  away.sold.reset();
  EXPECT_EQ(yarn_side(away, offer, classes).confirmed, of(7, 12)) << "the cut is confirmed, what runs on is not known";
  EXPECT_EQ(*side.sold, (std::vector<ClassSold>{{10, of(2, 2), "nobody"}, {10, of(1, 1), "transcode"}}));
  side = yarn_side(book, {4, of(1, 1), of(2, 2)}, classes);
  EXPECT_EQ(next_offer(side, of(1, 1), 4, now).up_to, of(5, 5));
  EXPECT_FALSE(settled_offer(away, offer)) << "what it holds is unknown";
  book.generation = 3;
  EXPECT_FALSE(settled_offer(book, offer)) << "of the offer before it";
  book.generation = 4;
  side.confirmed = of(1, 1);
  EXPECT_EQ(next_offer(side, of(1, 1), 4, now).up_to, of(3, 3)) << "it holds more than it was cut to";
  EXPECT_TRUE(side.wants_more);
  EXPECT_EQ(side.best_order, 30);
  EXPECT_EQ(side.waits_class, "spark");
  EXPECT_FALSE(side.waits_for);
  book.waiting_for = of(7, 8);
  EXPECT_EQ(yarn_side(book, offer, classes).waits_for, of(7, 8));
}

TEST(Books, FindsTheMostTimelyWaitingWorkAndItsAmount) {
  WaitingWork work;
  work.add(10, "", of(1, 10));
  work.add(30, "spark", of(2, 20));
  work.add(20, "training", of(4, -40));
  work.add(10, "transcode", of(8, 80));
  work.add(30, "spark", of(1, 1));
  EXPECT_EQ(work.order, 30);
  EXPECT_EQ(work.work_class, "spark");
  EXPECT_EQ(work.amount, of(3, 21));
  EXPECT_EQ(work.from(20), of(7, 21));
  EXPECT_EQ(work.from(0), of(16, 111));
  // Nothing is requested for work that is less timely than what counts.
  auto state = wait({}, work, kStart).state;
  state = wait(state, work, kStart + kWaitsAfter).state;
  EXPECT_EQ(state.best_order, 30);
  EXPECT_EQ(state.amount, of(3, 21));
  WaitingWork less;
  less.add(10, "transcode", of(9, 9));
  state = wait(state, less, kStart + kWaitsAfter + 5s).state;
  EXPECT_EQ(state.best_order, 30) << "for a while";
  EXPECT_EQ(state.amount, Resources()) << "and nothing of it waits";
}

TEST(Books, AgeOfYarnsLedgerIsThatOfItsText) {
  auto seen = see(std::nullopt, 7, kStart);
  EXPECT_EQ(seen.at, kStart);
  seen = see(seen, 7, kStart + 1h);
  EXPECT_EQ(seen.at, kStart);
  EXPECT_EQ(see(seen, 8, kStart + 1h).at, kStart + 1h);
}

TEST(Books, YarnsLedgerDoesNotAgeWhileItCannotBeRenewed) {
  const BookSeen seen{7, kStart};
  EXPECT_EQ(without_unheard(seen, 50min, kStart + 1h), (BookSeen{7, kStart + 50min}));
  EXPECT_EQ(without_unheard(seen, 2h, kStart + 1h), (BookSeen{7, kStart + 1h})) << "and none is of later than now";
  EXPECT_EQ(without_unheard(seen, -1h, kStart + 1h), seen);
  EXPECT_EQ(without_unheard(seen, 1h, kStart + -1h), seen);
}

TEST(Books, SubtractedAmountFollowsTheCarriedOffer) {
  EXPECT_EQ(taken_off({}, of(15, 15), of(5, 5)), of(5, 5)) << "the previous leader subtracted it";
  const TakenOff before{true, of(20, 20), of(0, 0), of(15, 15), of(5, 5)};
  EXPECT_EQ(taken_off(before, of(20, 20), of(5, 5)), of(0, 0)) << "not written yet";
  EXPECT_EQ(taken_off(before, of(15, 15), of(3, 3)), of(5, 5)) << "written";
  EXPECT_EQ(taken_off(before, of(40, 40), of(3, 3)), of(0, 0)) << "by another writer";
}

TEST(Books, PublishesReclaimAgainWhenItChanges) {
  const std::vector<ClassReclaim> reclaim{{"", of(100, 100), of(1000, 2000)}, {"training", of(1, 1), of(0, 0)}};
  const auto before = told(reclaim);
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[0].reason, "TM-LEDGER-009");
  EXPECT_EQ(before[1].work_class, "training");
  auto after = before;
  after[0].amount = of(5, 5);
  after[0].keep = of(1010, 1990);
  EXPECT_FALSE(worth_telling(before, after)) << "obeyed, and moved by a hundredth";
  after[0].keep.memory.value = 1979;
  EXPECT_TRUE(worth_telling(before, after));
  after = before;
  after[1].keep.cpu.value = 1;
  EXPECT_TRUE(worth_telling(before, after)) << "none is not one";
  after = before;
  after.pop_back();
  EXPECT_TRUE(worth_telling(before, after));
  EXPECT_TRUE(worth_telling({}, before));
  EXPECT_FALSE(worth_telling({}, {}));
}

// Its ResourceManager disappears after it confirmed a cut, and Kubernetes has the capacity by then.
TEST(Books, ConfirmedCutStaysWhenYarnsLedgerFallsSilent) {
  const std::vector<model::WorkClass> classes;
  model::YarnBook book;
  book.generation = 4;
  book.confirmed = of(5, 5);
  book.sold = {{"", of(3, 8)}};
  const model::YarnOffer offer{4, of(5, 5), of(7, 12)};
  ASSERT_EQ(yarn_side(book, offer, classes).confirmed, of(5, 5));
  const auto settled = settled_offer(book, offer);
  ASSERT_TRUE(settled);
  EXPECT_EQ(*settled, (model::YarnOffer{4, of(5, 5), of(5, 8)})) << "what it holds above its offer is held";
  EXPECT_FALSE(settled_offer(book, *settled)) << "said once";
  book.sold.reset();
  EXPECT_EQ(yarn_side(book, offer, classes).confirmed, of(7, 12)) << "as it was: counted again";
  EXPECT_EQ(yarn_side(book, *settled, classes).confirmed, of(5, 8));
  // What it holds, and so what it may hold unseen, never exceeds the offer.
  std::mt19937_64 random(11);
  const auto any = [&] { return static_cast<std::int64_t>(random() % 20); };
  for (int i = 0; i < 2000; ++i) {
    book.generation = 4;
    book.confirmed = of(any(), any());
    book.sold = {{"", of(any(), any())}};
    model::YarnOffer carried{4, of(any(), any()), {}};
    carried.up_to = model::max(carried.offer, of(any(), any()));
    const auto next = settled_offer(book, carried);
    if (!next) continue;
    ASSERT_EQ(next->generation, carried.generation);
    ASSERT_EQ(next->offer, carried.offer);
    ASSERT_EQ(model::min(next->up_to, carried.up_to), next->up_to) << "only less";
    ASSERT_EQ(model::max(next->up_to, carried.offer), next->up_to) << "never less than it may hand out";
    book.sold.reset();
    const auto unseen = yarn_side(book, *next, classes);
    ASSERT_EQ(model::max(unseen.confirmed, model::max(carried.offer, book.confirmed)), unseen.confirmed);
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
