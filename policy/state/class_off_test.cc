#include "policy/state/class_off.h"

#include <gtest/gtest.h>

namespace tidemark::policy::state {
namespace {

model::Resources of(std::int64_t cpu, std::int64_t memory) {
  return {{cpu}, {memory}};
}

TEST(ClassesOff, ReclaimsTheirWorkAfterDraining) {
  EffectiveState state;
  sell::SideBook book;
  book.sold = {{1, of(10, 20), "transcode"}, {2, of(5, 5), "training"}, {3, of(3, 4), "spark"}};
  EXPECT_EQ(classes_off(state, book), ClassesOff());
  state.classes_off = {"gone", "spark", "transcode"};
  state.classes_drained = {"gone", "transcode"};
  const auto off = classes_off(state, book);
  EXPECT_EQ(off.taken(), of(13, 24));
  const std::vector<sell::ClassReclaim> wanted{{"gone", of(0, 0), of(0, 0), model::Reason::kStateClassOff},
                                               {"transcode", of(10, 20), of(0, 0), model::Reason::kStateClassOff}};
  EXPECT_EQ(off.reclaim(), wanted);
  book.sold.reset();
  EXPECT_EQ(classes_off(state, book).taken(), of(0, 0)) << "the held amount is unknown";
  EXPECT_EQ(classes_off(state, book).reclaim().size(), 2U);

  const std::vector<sell::ClassReclaim> ledger{{"transcode", of(4, 4), of(6, 16), model::Reason::kLedgerReclaim},
                                               {"training", of(1, 1), of(4, 4), model::Reason::kLedgerReclaim}};
  const auto both = united(off.reclaim(), ledger);
  ASSERT_EQ(both.size(), 3U);
  EXPECT_EQ(both[1], wanted[1]) << "off is all of it";
  EXPECT_EQ(both[2], ledger[1]);
}

TEST(ClassesOff, TheOfferFallsAndIsNeverNegative) {
  sell::OvercommitPlan plan;
  plan.action = sell::PlanAction::kPublish;
  plan.publish.batch_cpu = model::CpuMilli{10};
  withdraw(plan, of(4, 4));
  EXPECT_EQ(plan.publish.batch_cpu, model::CpuMilli{6});
  EXPECT_FALSE(plan.publish.batch_memory) << "a key that is not there is not made";
  withdraw(plan, of(7, 0));
  EXPECT_EQ(plan.publish.batch_cpu, model::CpuMilli{0});
  plan.action = sell::PlanAction::kHold;
  plan.publish.batch_cpu = model::CpuMilli{10};
  withdraw(plan, of(7, 0));
  EXPECT_EQ(plan.publish.batch_cpu, model::CpuMilli{10});
}

TEST(ClassesOff, TheZonesFollow) {
  sell::OvercommitPlan plan;
  plan.action = sell::PlanAction::kPublish;
  plan.publish.batch_cpu = model::CpuMilli{10};
  plan.publish.batch_memory = model::MemoryBytes{10};
  for (const char* name : {"node-0", "node-1"}) {
    sell::ZonePlan& zone = plan.zones.zones.emplace_back();
    zone.name = name;
    zone.batch_cpu = {5'000};
    zone.batch_memory = {5'000};
  }
  withdraw(plan, of(4, 0));
  for (const sell::ZonePlan& zone : plan.zones.zones) {
    EXPECT_EQ(zone.batch_cpu.value, 3'000);
    EXPECT_EQ(zone.batch_memory.value, 5'000);
  }
}

}  // namespace
}  // namespace tidemark::policy::state
