#include "kube/convert.h"

#include <gtest/gtest.h>

#include "kube/node_metric_encode.h"
#include "kube/testing/testdata.h"
#include "model/names.h"

namespace tidemark::kube {
namespace {

using testing::testdata;

constexpr std::int64_t kMi = 1024 * 1024;
constexpr std::int64_t kGi = 1024 * kMi;

class ConvertTest : public ::testing::Test {
 protected:
  Pod pod(std::string_view bytes) { return decode_pod(bytes, overcommit_pod_fields(), interner).value(); }
  Node node(std::string_view bytes) { return decode_node(bytes, overcommit_node_fields(), interner).value(); }
  NodeMetric metric(std::string_view bytes) {
    return decode_node_metric(bytes, overcommit_node_metric_fields(), interner).value();
  }
  // A pod with these members of spec and status and these labels.
  model::PodView view(std::string_view labels, std::string_view spec, std::string_view status) {
    return to_pod_view(pod(base::cat(R"({"metadata":{"name":"p","namespace":"n","labels":{)", labels, R"(}},"spec":{)",
                                     spec, R"(},"status":{)", status, "}}")));
  }
  Interner interner;
};

TEST_F(ConvertTest, ConvertsAPodOfARealServer) {
  const model::PodView web = to_pod_view(pod(testdata("pod_web.json")));
  EXPECT_EQ(web.id, model::PodId("default", "web-0"));
  EXPECT_EQ(web.phase, model::PodPhase::kRunning);
  EXPECT_EQ(web.qos, model::Qos::kLs);
  EXPECT_EQ(web.priority, model::PriorityClass::kProd);
  // cpu: containers 500 + 100, sidecar 100; starting 1000 (setup comes before the sidecar) is more; overhead 250.
  EXPECT_EQ(web.request.cpu.value, 1000 + 250);
  // memory: 1 GiB + 100 MB + sidecar 128 MiB; overhead 120 MiB.
  EXPECT_EQ(web.request.memory.value, kGi + 100'000'000 + 128 * kMi + 120 * kMi);
}

TEST_F(ConvertTest, RoundTripsTheReportOfAnAgent) {
  model::NodeMetricReport report;
  report.update_time = {std::chrono::seconds(1'767'225'600)};
  report.node_usage = model::Resources{{11'250}, {45 * kGi}};
  report.pods = {{"default", "web-0", {{480}, {900 * kMi}}, model::PriorityClass::kProd, model::Qos::kLs}};
  report.host_applications = {{"nginx", {{500}, {kGi}}, model::PriorityClass::kMid, model::Qos::kLs}};
  const auto view = to_node_metric_view(
      metric(base::cat(R"({"metadata":{"name":"node-a"},"status":)", encode_node_metric_status(report), "}")));
  EXPECT_EQ(view.update_time, report.update_time);
  EXPECT_TRUE(view.has_node_metric);
  EXPECT_EQ(view.node_usage, report.node_usage);
  EXPECT_EQ(view.system_usage, model::Resources()) << "not known counts as nothing";
  ASSERT_EQ(view.pods.size(), 1u);
  EXPECT_EQ(view.pods[0].id, model::PodId("default", "web-0"));
  EXPECT_EQ(view.pods[0].usage, report.pods[0].usage);
  EXPECT_EQ(view.pods[0].priority, model::PriorityClass::kProd);
  ASSERT_EQ(view.host_applications.size(), 1u);
  EXPECT_EQ(view.host_applications[0].usage, report.host_applications[0].usage);
  EXPECT_EQ(view.host_applications[0].priority, model::PriorityClass::kMid);
  EXPECT_EQ(view.prod_reclaimable, model::Resources());
  EXPECT_FALSE(view.below_zero);
  report.node_usage.reset();
  report.prod_reclaimable = model::Resources{{6'000}, {10 * kGi}};
  const auto cold = to_node_metric_view(
      metric(base::cat(R"({"metadata":{"name":"node-a"},"status":)", encode_node_metric_status(report), "}")));
  EXPECT_EQ(cold.node_usage, std::nullopt);
  EXPECT_EQ(cold.prod_reclaimable, *report.prod_reclaimable);
}

TEST_F(ConvertTest, PodLevelResourcesReplaceTheSum) {
  const model::PodView level = to_pod_view(pod(testdata("pod_level.json")));
  EXPECT_EQ(level.request.cpu.value, 1000);
  EXPECT_EQ(level.request.memory.value, kGi);
}

TEST_F(ConvertTest, ReadsQosFromStatusElseFromSpec) {
  const std::string guaranteed =
      R"("containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}])";
  EXPECT_EQ(view("", guaranteed, R"("qosClass":"Guaranteed")").qos, model::Qos::kLsr);
  EXPECT_EQ(view("", guaranteed, "").qos, model::Qos::kLsr);
  EXPECT_EQ(view("", guaranteed, R"("qosClass":"BestEffort")").qos, model::Qos::kBe) << "the status has the say";
  EXPECT_EQ(view("", "", "").qos, model::Qos::kBe);
}

TEST_F(ConvertTest, AnUnknownPriorityLabelDoesNotFallThroughToTheNumber) {
  EXPECT_EQ(view("", R"("priority":5500)", "").priority, model::PriorityClass::kBatch);
  EXPECT_EQ(view(R"("koordinator.sh/priority-class":"koord-mid")", R"("priority":5500)", "").priority,
            model::PriorityClass::kMid);
  // The label is there and says nothing known: none, then by QoS.
  EXPECT_EQ(
      view(R"("koordinator.sh/priority-class":"","koordinator.sh/qosClass":"LS")", R"("priority":5500)", "").priority,
      model::PriorityClass::kProd);
}

TEST_F(ConvertTest, ConvertsANodeOfARealServer) {
  const Node found = node(testdata("node.json"));
  const Pod web = pod(testdata("pod_web.json"));
  const NodeMetric measured = metric(testdata("node_metric.json"));
  const Conversion made = to_node_snapshot(found, {to_pod_view(web)}, &measured);
  EXPECT_TRUE(made.notes.empty()) << made.notes[0];
  const model::NodeSnapshot& snapshot = made.snapshot;
  EXPECT_EQ(snapshot.name, "node-a");
  EXPECT_EQ(snapshot.capacity, (model::Resources{{32000}, {128 * kGi}}));
  EXPECT_EQ(snapshot.allocatable, (model::Resources{{31500}, {124 * kGi}}));
  EXPECT_EQ(snapshot.published.batch_cpu, model::CpuMilli{5000});
  EXPECT_EQ(snapshot.published.batch_memory, model::MemoryBytes{12 * kGi});
  EXPECT_EQ(snapshot.published.mid_cpu, std::nullopt);
  EXPECT_EQ(snapshot.reserved_by_annotation, (model::Resources{{4000}, {4 * kGi}})) << "reservedCPUs 0-3 replace 2";
  ASSERT_TRUE(snapshot.third_party);
  ASSERT_EQ(snapshot.third_party->size(), 1u);
  EXPECT_EQ(snapshot.third_party->front().name, "hadoop-yarn");
  EXPECT_EQ(snapshot.third_party->front().resources, (model::Resources{{3000}, {8 * kGi}}));
  ASSERT_EQ(snapshot.pods.size(), 1u);
  ASSERT_TRUE(snapshot.metric);
  EXPECT_EQ(snapshot.metric->node_usage, (model::Resources{{11250}, {45 * kGi}}));
  EXPECT_EQ(snapshot.metric->system_usage, (model::Resources{{1500}, {3 * kGi}}));
  ASSERT_EQ(snapshot.metric->pods.size(), 2u);
  EXPECT_EQ(snapshot.metric->pods[1].usage, (model::Resources{{480}, {900 * kMi}}));
  EXPECT_EQ(snapshot.metric->pods[0].priority, model::PriorityClass::kBatch);
  EXPECT_EQ(snapshot.metric->host_applications.at(0).qos, model::Qos::kLs);
  EXPECT_EQ(snapshot.metric->prod_reclaimable, (model::Resources{{6000}, {10 * kGi}}));
  EXPECT_TRUE(snapshot.metric->has_node_metric);
}

TEST_F(ConvertTest, ReportsUnreadableAnnotations) {
  const Node broken = node(R"({"metadata":{"name":"n","annotations":{
      "node.koordinator.sh/reservation":"{","node.koordinator.sh/thirdPartyAllocations":"[]"}}})");
  const Conversion made = to_node_snapshot(broken, {}, nullptr);
  EXPECT_EQ(made.snapshot.reserved_by_annotation, model::Resources());
  EXPECT_EQ(made.snapshot.third_party, std::nullopt) << "then nothing is subtracted";
  ASSERT_EQ(made.notes.size(), 2u);
  EXPECT_TRUE(made.notes[0].starts_with("annotation node.koordinator.sh/reservation: ")) << made.notes[0];
  EXPECT_FALSE(made.snapshot.metric);
}

TEST_F(ConvertTest, ConvertsANodeWithoutOptionalFields) {
  const Conversion made = to_node_snapshot(node(R"({"metadata":{"name":"n"}})"), {}, nullptr);
  EXPECT_TRUE(made.notes.empty());
  ASSERT_TRUE(made.snapshot.third_party);
  EXPECT_TRUE(made.snapshot.third_party->empty());
  EXPECT_EQ(made.snapshot.published, model::ExtendedResources());
}

TEST_F(ConvertTest, NodeUsageNeedsBothResources) {
  const model::NodeMetricView half = to_node_metric_view(
      metric(R"({"metadata":{"name":"n"},"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}}}}})"));
  EXPECT_EQ(half.node_usage, std::nullopt);
  EXPECT_TRUE(half.has_node_metric);
}

// Taken at their word they would be sold: a pod that "uses" minus ten cores made ten cores more.
TEST_F(ConvertTest, ReportsNegativeAmountsAndCountsThemAsZero) {
  const NodeMetric odd = metric(
      R"({"metadata":{"name":"n"},"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"-1","memory":"-1Gi"}},)"
      R"("systemUsage":{"resources":{"cpu":"-9223372036854775808","memory":"1Gi"}}},)"
      R"("podsMetric":[{"name":"p","namespace":"d","podUsage":{"resources":{"cpu":"-10","memory":"1"}}}],)"
      R"("hostApplicationMetric":[{"name":"h","usage":{"resources":{"cpu":"-1","memory":"2"}}}],)"
      R"("prodReclaimableMetric":{"resource":{"resources":{"cpu":"-3","memory":"3"}}}}})");
  const Conversion made = to_node_snapshot(node(R"({"metadata":{"name":"n"}})"), {}, &odd);
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_TRUE(
      made.notes[0].starts_with("NodeMetric: nodeUsage, systemUsage, podUsage, usage of hostApplicationMetric, "
                                "prodReclaimableMetric is below 0"))
      << made.notes[0];
  const model::NodeMetricView& view = *made.snapshot.metric;
  EXPECT_TRUE(view.below_zero);
  EXPECT_EQ(view.node_usage, model::Resources());
  EXPECT_EQ(view.system_usage, (model::Resources{{0}, {std::int64_t{1} << 30}}));
  EXPECT_EQ(view.pods.at(0).usage, (model::Resources{{0}, {1}}));
  EXPECT_EQ(view.host_applications.at(0).usage, (model::Resources{{0}, {2}}));
  EXPECT_EQ(view.prod_reclaimable, (model::Resources{{0}, {3}}));
}

TEST_F(ConvertTest, ZeroUsageIsNotNegative) {
  const NodeMetric idle =
      metric(R"({"metadata":{"name":"n"},"status":{"nodeMetric":{"nodeUsage":{"resources":{"cpu":"0","memory":"0"}}},)"
             R"("podsMetric":[{"name":"p","namespace":"d","podUsage":{"resources":{"cpu":"0"}}}]}})");
  const Conversion made = to_node_snapshot(node(R"({"metadata":{"name":"n"}})"), {}, &idle);
  EXPECT_TRUE(made.notes.empty());
  EXPECT_FALSE(made.snapshot.metric->below_zero);
}

TEST_F(ConvertTest, FiltersKeepEveryKeyThatIsRead) {
  EXPECT_TRUE(overcommit_pod_fields().meta.labels.keeps(model::kQosClassLabel));
  EXPECT_FALSE(overcommit_pod_fields().meta.labels.keeps("app"));
  EXPECT_TRUE(overcommit_node_fields().meta.annotations.keeps(model::kThirdPartyAllocationsAnnotation));
  EXPECT_TRUE(overcommit_node_fields().meta.labels.keeps("any"));
}

}  // namespace
}  // namespace tidemark::kube
