#include "manager/capacity/figures.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/text.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using model::CpuMilli;
using model::MemoryBytes;

NodeFigures using_cores(std::int64_t milli) {
  NodeFigures figures;
  figures.capacity = {CpuMilli{32000}, MemoryBytes{1 << 30}};
  figures.used = {CpuMilli{milli}, MemoryBytes{7}};
  figures.reason = model::Reason::kPublished;
  return figures;
}

// The value after "name{labels} "; "" where there is no such line.
std::string value(const Figures& figures, std::string_view series) {
  const std::string text = "\n" + figures.text();
  const auto at = text.find(base::cat("\n", series, " "));
  if (at == std::string::npos) return "";
  const auto begin = at + series.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Figures, GainIsUsageOverTimeWithBoundedGaps) {
  Figures figures;
  const model::NodeName node("n1");
  const std::string_view gain = R"(tidemark_manager_gain_core_hours_total{pool="a"})";
  base::MonotonicTime now{1h};
  figures.observe(node, "a", "", using_cores(6000), now, true);
  EXPECT_EQ(value(figures, gain), "0");
  figures.observe(node, "a", "", using_cores(12000), now = now + 5min, true);
  EXPECT_EQ(value(figures, gain), "0.5");
  figures.observe(node, "a", "", using_cores(0), now = now + 10h, true);
  EXPECT_EQ(value(figures, gain), "2.5") << "twelve cores for ten minutes";
  figures.observe(node, "a", "", using_cores(6000), now = now + 5min, true);
  figures.observe(node, "a", "", using_cores(6000), now = now + 5min, false);
  EXPECT_EQ(value(figures, gain), "2.5") << "who does not lead gains nothing";
}

TEST(Figures, RemovedNodeLeavesOnlyItsGain) {
  Figures figures;
  const model::NodeName node("n1");
  base::MonotonicTime now{1h};
  figures.observe(node, "a", "", using_cores(6000), now, true);
  figures.observe(model::NodeName("n2"), "a", "", using_cores(1000), now, true);
  EXPECT_EQ(value(figures, R"(tidemark_manager_used_cpu_cores{pool="a"})"), "7");
  EXPECT_EQ(value(figures, R"(tidemark_manager_nodes{pool="a",reason="TM-NODE-001"})"), "2");
  figures.observe(node, "b", "", using_cores(6000), now = now + 5min, true);
  EXPECT_EQ(value(figures, R"(tidemark_manager_used_cpu_cores{pool="a"})"), "1");
  EXPECT_EQ(value(figures, R"(tidemark_manager_used_cpu_cores{pool="b"})"), "6");
  EXPECT_EQ(value(figures, R"(tidemark_manager_gain_core_hours_total{pool="a"})"), "0.5");
  figures.forget(node);
  figures.forget(node);
  EXPECT_EQ(value(figures, R"(tidemark_manager_used_cpu_cores{pool="b"})"), "0");
  EXPECT_EQ(value(figures, R"(tidemark_manager_capacity_memory_bytes{pool="a"})"), "1073741824");
}

TEST(Figures, NodeWithoutReportIsSilentOnlyIfAsked) {
  model::NodeSnapshot node;
  node.capacity = {CpuMilli{32000}, MemoryBytes{100}};
  policy::sell::OvercommitPlan plan;
  plan.reason = model::Reason::kPublished;  // held by motion
  EXPECT_FALSE(figures_of(node, plan, {{}, std::nullopt, true}).silent);
  EXPECT_TRUE(figures_of(node, plan, {{}, std::nullopt, false}).silent);
  EXPECT_FALSE(figures_of(node, plan, {{}, model::Reason::kStateByManager, false}).silent) << "it is only observed";
  plan.reason = model::Reason::kDisabledForNode;
  EXPECT_FALSE(figures_of(node, plan, {{}, std::nullopt, false}).silent);
  plan.reason = model::Reason::kMetricMissing;
  const auto silent = figures_of(node, plan, {{}, std::nullopt, false});
  Figures figures;
  figures.observe(model::NodeName("n1"), "a", "", silent, base::MonotonicTime{1h}, true);
  figures.observe(model::NodeName("n2"), "a", "", silent, base::MonotonicTime{1h}, true);
  EXPECT_EQ(value(figures, R"(tidemark_manager_nodes_silent{pool="a"})"), "2");
  figures.forget(model::NodeName("n1"));
  EXPECT_EQ(value(figures, R"(tidemark_manager_nodes_silent{pool="a"})"), "1");
}

TEST(Figures, KoordinatorMetricsArePerNodeInItsUnits) {
  Figures figures;
  NodeFigures node = using_cores(0);
  node.batch = model::Resources{CpuMilli{7800}, MemoryBytes{60344290509}};
  node.mid = model::Resources{CpuMilli{6400}, MemoryBytes{5}};
  figures.observe(model::NodeName("n1"), "a \"b\"", "", node, base::MonotonicTime{1h}, true);
  const auto series = [](std::string_view resource, std::string_view unit) {
    return base::cat(R"(slo_controller_node_extended_resource_allocatable_internal{node="n1",resource="kubernetes.io/)",
                     resource, R"(",unit=")", unit, R"("})");
  };
  EXPECT_EQ(value(figures, series("batch-cpu", "integer")), "7.8");
  EXPECT_EQ(value(figures, series("batch-memory", "byte")), "60344290509");
  EXPECT_EQ(value(figures, series("mid-cpu", "integer")), "6400");
  EXPECT_EQ(value(figures, R"(tidemark_manager_used_cpu_cores{pool="a \"b\""})"), "0");
}

TEST(Figures, SummarizesADecision) {
  model::NodeSnapshot node;
  node.capacity = {CpuMilli{32000}, MemoryBytes{100}};
  node.published.batch_cpu = CpuMilli{5};
  node.third_party = {{"hadoop-yarn", model::PriorityClass::kBatch, {CpuMilli{3000}, MemoryBytes{-4}}},
                      {"other", model::PriorityClass::kMid, {CpuMilli{1}, MemoryBytes{1}}}};
  model::NodeMetricView metric;
  metric.node_usage = model::Resources{CpuMilli{40000}, MemoryBytes{30}};
  metric.pods = {{{"d", "b"}, {CpuMilli{4000}, MemoryBytes{9}}, model::PriorityClass::kBatch, model::Qos::kBe},
                 {{"d", "p"}, {CpuMilli{1}, MemoryBytes{1}}, model::PriorityClass::kProd, model::Qos::kLs}};
  node.metric = metric;
  policy::sell::OvercommitPlan held;
  const FigureBasis basis{{CpuMilli{11}, MemoryBytes{12}}, std::nullopt, true};
  const auto figures = figures_of(node, held, basis);
  EXPECT_EQ(figures.offered.cpu.value, 5) << "what is held stays as it is";
  EXPECT_EQ(figures.sold_yarn.cpu.value, 3000);
  EXPECT_EQ(figures.sold_yarn.memory.value, 0);
  EXPECT_EQ(figures.sold_kubernetes.memory.value, 12);
  EXPECT_EQ(figures.used.cpu.value, 4000);
  EXPECT_EQ(figures.idle.cpu.value, 0) << "a node that uses more than it has";
  EXPECT_EQ(figures.idle.memory.value, 70);
  EXPECT_EQ(figures.batch, std::nullopt);
}

// Sums of pools outlive the node that lied.
TEST(Figures, ExtremeReportLeavesNothingBehind) {
  constexpr std::int64_t kWild = std::numeric_limits<std::int64_t>::max();
  model::NodeSnapshot node;
  node.capacity = {CpuMilli{32000}, MemoryBytes{1 << 30}};
  node.third_party = {{"hadoop-yarn", model::PriorityClass::kBatch, {CpuMilli{kWild}, MemoryBytes{kWild}}}};
  node.metric.emplace();
  node.metric->node_usage = model::Resources{CpuMilli{kWild}, MemoryBytes{-kWild}};
  node.metric->pods = {
      {model::PodId("n", "p"), {CpuMilli{kWild}, MemoryBytes{kWild}}, model::PriorityClass::kBatch, {}},
      {model::PodId("n", "f"), {CpuMilli{kWild}, MemoryBytes{1}}, model::PriorityClass::kFree, {}}};
  const FigureBasis basis{{CpuMilli{kWild}, MemoryBytes{kWild}}, std::nullopt, true};
  const auto wild = figures_of(node, policy::sell::OvercommitPlan(), basis);
  EXPECT_EQ(wild.used, node.capacity);
  EXPECT_LE(wild.sold_yarn.cpu, kNodeMost.cpu);
  Figures figures;
  base::MonotonicTime now{1h};
  for (const auto* name : {"n1", "n2"}) figures.observe(model::NodeName(name), "a", "", wild, now, true);
  figures.observe(model::NodeName("n3"), "a", "", using_cores(6000), now, true);
  for (const auto* name : {"n1", "n2"}) figures.forget(model::NodeName(name));
  EXPECT_EQ(value(figures, R"(tidemark_manager_used_cpu_cores{pool="a"})"), "6");
  EXPECT_EQ(value(figures, R"(tidemark_manager_sold_cpu_cores{pool="a",side="yarn"})"), "0");
}

TEST(Figures, FreeWorkIsOfflineWork) {
  model::NodeSnapshot node;
  node.capacity = {CpuMilli{32000}, MemoryBytes{1 << 30}};
  node.metric.emplace();
  node.metric->node_usage = model::Resources{CpuMilli{8000}, MemoryBytes{1}};
  node.metric->pods = {{model::PodId("n", "f"), {CpuMilli{3000}, MemoryBytes{1}}, model::PriorityClass::kFree, {}},
                       {model::PodId("n", "m"), {CpuMilli{1000}, MemoryBytes{1}}, model::PriorityClass::kMid, {}}};
  const auto figures = figures_of(node, policy::sell::OvercommitPlan(), FigureBasis());
  EXPECT_EQ(figures.used.cpu.value, 3000);
}

TEST(Figures, ObservedNodesOfferNothingAndSilentNodesUseNothing) {
  model::NodeSnapshot node;
  node.capacity = {CpuMilli{32000}, MemoryBytes{1 << 30}};
  node.published.batch_cpu = CpuMilli{3000};
  node.metric.emplace();
  node.metric->node_usage = model::Resources{CpuMilli{8000}, MemoryBytes{1}};
  node.metric->pods = {{model::PodId("n", "p"), {CpuMilli{2000}, MemoryBytes{1}}, model::PriorityClass::kBatch, {}}};
  policy::sell::OvercommitPlan plan;
  plan.action = policy::sell::PlanAction::kPublish;
  plan.reason = model::Reason::kPublished;
  plan.publish.batch_cpu = CpuMilli{9000};
  FigureBasis basis;
  EXPECT_EQ(figures_of(node, plan, basis).offered.cpu, CpuMilli{9000});
  EXPECT_EQ(figures_of(node, plan, basis).used.cpu, CpuMilli{2000});
  EXPECT_EQ(figures_of(node, plan, basis).idle.cpu, CpuMilli{24000});
  basis.not_written = model::Reason::kStateByManager;
  basis.reports = false;
  const NodeFigures figures = figures_of(node, plan, basis);
  EXPECT_EQ(figures.offered.cpu, CpuMilli{3000}) << "what the node carries, whichever program wrote it";
  EXPECT_EQ(figures.reason, model::Reason::kStateByManager);
  EXPECT_EQ(figures.used, model::Resources());
  EXPECT_EQ(figures.idle, model::Resources());
}

TEST(Figures, PoolShowsItsOwner) {
  Figures figures;
  figures.observe(model::NodeName("n1"), "a", "video \"live\"", using_cores(1), base::MonotonicTime{1h}, true);
  figures.observe(model::NodeName("n2"), "b", "", using_cores(1), base::MonotonicTime{1h}, true);
  EXPECT_EQ(value(figures, R"(tidemark_manager_pool_info{pool="a",business="video \"live\""})"), "1");
  EXPECT_EQ(figures.text().find("pool_info{pool=\"b\""), std::string::npos);
}

}  // namespace
}  // namespace tidemark::manager
