#include "kube/node_resource_topology.h"

#include <gtest/gtest.h>

#include "kube/convert.h"

namespace tidemark::kube {
namespace {

constexpr std::int64_t kNodeResourceTopologyGi = std::int64_t{1} << 30;

// As the agent writes it and the manager extends it; attributes and distances are not read.
constexpr std::string_view kTwoZones = R"({
  "apiVersion":"topology.node.k8s.io/v1alpha1","kind":"NodeResourceTopology",
  "metadata":{"name":"n1","resourceVersion":"42","annotations":{
    "node.koordinator.sh/cpu-basic-info":
      "{\"cpuModel\":\"Model A\",\"hyperThreadEnabled\":true,\"turboEnabled\":true,\"catL3CbmMask\":\"7ff\",\"vendorID\":\"GenuineIntel\"}",
    "node.koordinator.sh/cpu-topology":"{\"detail\":[]}"}},
  "topologyPolicies":["None"],
  "zones":[
    {"name":"node-0","type":"Node","costs":[{"name":"node-0","value":10}],"resources":[
      {"name":"cpu","capacity":"16","allocatable":"15500m","available":"15500m"},
      {"name":"hugepages-2Mi","capacity":"0","allocatable":"0","available":"0"},
      {"name":"kubernetes.io/batch-cpu","capacity":"9750500m","allocatable":"9750","available":9751},
      {"name":"kubernetes.io/batch-memory","capacity":"20Gi","allocatable":"1500m","available":"0"},
      {"name":"memory","capacity":"64Gi","allocatable":"62Gi","available":"62Gi"}]},
    {"name":"node-1","type":"Node"}]})";

class TopologyTest : public ::testing::Test {
 protected:
  Result<NodeResourceTopology> decode(std::string_view bytes) {
    return decode_node_resource_topology(bytes, overcommit_topology_fields(), interner);
  }
  Interner interner;
};

TEST_F(TopologyTest, KeepsResourceOrderAndMilliValues) {
  const auto topology = decode(kTwoZones).value();
  EXPECT_EQ(topology.meta.resource_version, "42");
  EXPECT_TRUE(topology.has_annotations);
  EXPECT_FALSE(topology.meta.annotations.has("node.koordinator.sh/cpu-topology"));
  ASSERT_EQ(topology.zones.size(), 2u);
  const auto& resources = topology.zones[0].resources;
  ASSERT_EQ(resources.size(), 5u);
  EXPECT_EQ(resources[1].name, "hugepages-2Mi");
  EXPECT_EQ(resources[2].capacity_milli, 9750500);
  EXPECT_EQ(resources[2].available_milli, 9751000);
  EXPECT_EQ(resources[4].allocatable_milli, 62 * kNodeResourceTopologyGi * 1000);
  EXPECT_EQ(resources[4].format, model::Quantity::Format::kBinarySI);
  EXPECT_FALSE(topology.zones[1].has_resources);
}

TEST_F(TopologyTest, ConvertsToTheModel) {
  std::vector<std::string> notes;
  const auto view = to_topology_view(decode(kTwoZones).value(), notes);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(view.cpu, (model::CpuBasicInfo{"Model A", true, true}));
  ASSERT_EQ(view.zones.size(), 2u);
  EXPECT_EQ(view.zones[0].cpu, model::CpuMilli{15500});
  EXPECT_EQ(view.zones[0].memory, model::MemoryMilli{62 * kNodeResourceTopologyGi * 1000});
  EXPECT_EQ(view.zones[0].batch_cpu, (model::ZoneAmounts<model::CpuMicro>{{9750500}, {9750000}, {9751000}}));
  EXPECT_EQ(view.zones[0].batch_memory,
            (model::ZoneAmounts<model::MemoryMilli>{{20 * kNodeResourceTopologyGi * 1000}, {1500}, {0}}));
  EXPECT_EQ(view.zones[1].name, "node-1");
  EXPECT_EQ(view.zones[1].cpu, std::nullopt);
  EXPECT_EQ(view.zones[1].batch_cpu, std::nullopt);
  EXPECT_TRUE(view.has_zone_resources());
}

TEST_F(TopologyTest, SeesAnnotationsEvenIfNoneIsKept) {
  EXPECT_TRUE(decode(R"({"metadata":{"name":"n","annotations":{"a":"b"}}})")->has_annotations);
  EXPECT_FALSE(decode(R"({"metadata":{"name":"n","annotations":null}})")->has_annotations);
  EXPECT_FALSE(decode(R"({"metadata":{"name":"n"}})")->has_annotations);
}

TEST_F(TopologyTest, UnreadableAnnotationIsReportedAndAffectsNothingElse) {
  for (const char* text : {"", "{", "[]", "7", R"({\"cpuModel\":5})", R"({\"turboEnabled\":\"yes\"})"}) {
    std::vector<std::string> notes;
    const auto view = to_topology_view(
        decode(base::cat(R"({"metadata":{"name":"n","annotations":{"node.koordinator.sh/cpu-basic-info":")", text,
                         R"("}},"zones":[{"name":"node-0","resources":[{"name":"cpu","allocatable":"1"}]}]})"))
            .value(),
        notes);
    EXPECT_EQ(view.cpu, std::nullopt) << text;
    EXPECT_TRUE(view.cpu_info_unreadable) << text;
    ASSERT_EQ(notes.size(), 1u) << text;
    EXPECT_TRUE(notes[0].starts_with("annotation node.koordinator.sh/cpu-basic-info")) << notes[0];
    EXPECT_TRUE(view.has_zone_resources());
  }
}

TEST_F(TopologyTest, ErrorOfAnAmountNamesItsPath) {
  const auto topology = decode(R"({"metadata":{"name":"n"},"zones":[{"name":"node-0"},
      {"name":"node-1","resources":[{"name":"cpu","capacity":"4 cores"}]}]})");
  ASSERT_FALSE(topology.has_value());
  EXPECT_NE(topology.error().message.find("zones[1].resources[0].capacity"), std::string::npos)
      << topology.error().message;
}

TEST_F(TopologyTest, CostFollowsKeptContent) {
  const auto two = decode(kTwoZones).value();
  const auto none = decode(R"({"metadata":{"name":"n1","resourceVersion":"42"}})").value();
  EXPECT_GE(two.bytes(), none.bytes() + 2 * sizeof(Zone) + 5 * sizeof(ZoneResource));
}

}  // namespace
}  // namespace tidemark::kube
