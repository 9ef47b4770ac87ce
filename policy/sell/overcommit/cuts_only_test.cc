#include <gtest/gtest.h>

#include "policy/sell/overcommit/overcommit.h"

namespace tidemark::policy::sell {
namespace {

using model::CpuMilli;
using model::MemoryBytes;

OvercommitPlan plan(std::int64_t cpu, std::int64_t memory) {
  OvercommitPlan plan;
  plan.action = PlanAction::kPublish;
  plan.publish = {CpuMilli{cpu}, MemoryBytes{memory}, CpuMilli{0}, MemoryBytes{0}};
  plan.origin = model::Resources{CpuMilli{cpu}, MemoryBytes{memory}};
  return plan;
}

model::NodeSnapshot node(const model::ExtendedResources& published, std::optional<model::Resources> origin) {
  model::NodeSnapshot node;
  node.published = published;
  node.origin = origin;
  return node;
}

TEST(KeepCutsOnly, CutsEachNumberSeparatelyAndGrowsNone) {
  auto cut = plan(5000, 900);
  keep_cuts_only(cut, node({CpuMilli{8000}, MemoryBytes{700}, CpuMilli{0}, MemoryBytes{0}},
                           model::Resources{CpuMilli{8000}, MemoryBytes{700}}));
  EXPECT_EQ(cut.publish.batch_cpu, CpuMilli{5000});
  EXPECT_EQ(cut.publish.batch_memory, MemoryBytes{700});
  EXPECT_EQ(cut.origin, (model::Resources{CpuMilli{5000}, MemoryBytes{700}}));
}

TEST(KeepCutsOnly, AddsNoNewResource) {
  auto nothing = plan(5000, 900);
  keep_cuts_only(nothing, node({}, std::nullopt));
  EXPECT_EQ(nothing.publish, model::ExtendedResources{});
  EXPECT_EQ(nothing.origin, model::Resources{});
}

TEST(KeepCutsOnly, CutsZonesSeparately) {
  auto cut = plan(5000, 900);
  auto on_node = node({CpuMilli{8000}, MemoryBytes{700}, CpuMilli{0}, MemoryBytes{0}}, std::nullopt);
  on_node.topology.emplace();
  on_node.topology->zones.resize(2);
  on_node.topology->zones[0].batch_cpu = {{9000}, {2000}, {9000}};
  cut.zones.zones.resize(2);
  cut.zones.zones[0].batch_cpu = {2500};
  cut.zones.zones[1].batch_cpu = {2500};
  keep_cuts_only(cut, on_node);
  EXPECT_EQ(cut.zones.zones[0].batch_cpu, model::CpuMicro{2000});
  EXPECT_EQ(cut.zones.zones[1].batch_cpu, model::CpuMicro{0});
}

TEST(KeepCutsOnly, AResetStaysAReset) {
  OvercommitPlan reset;
  reset.action = PlanAction::kReset;
  reset.origin = model::Resources{};
  const auto before = reset;
  keep_cuts_only(reset, node({CpuMilli{8000}, std::nullopt, std::nullopt, std::nullopt}, std::nullopt));
  EXPECT_EQ(reset, before);
}

}  // namespace
}  // namespace tidemark::policy::sell
