#include "manager/capacity/zone_patch.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "manager/capacity/decide.h"

namespace tidemark::manager {
namespace {

class ZonePatchTest : public ::testing::Test {
 protected:
  kube::NodeResourceTopology topology(std::string_view metadata, std::string_view zones) {
    return kube::decode_node_resource_topology(
               base::cat(R"({"metadata":{"name":"n1","resourceVersion":"4711")", metadata, R"(},"zones":)", zones, "}"),
               topology_fields(), interner)
        .value();
  }
  static policy::sell::ZonesPlan plan(std::size_t zones) {
    policy::sell::ZonesPlan plan;
    plan.zones.resize(zones);
    for (auto& zone : plan.zones) {
      zone.batch_cpu = {9'750'500};
      zone.batch_memory = {std::int64_t{10} * 1024 * 1024 * 1024 * 1000};
    }
    return plan;
  }
  static policy::sell::ZoneChange added(std::size_t zone, bool is_cpu) {
    return {zone, is_cpu, true, true, true, true};
  }

  kube::Interner interner;
};

TEST_F(ZonePatchTest, HasResourceVersionAndEpoch) {
  const auto on = topology(R"(,"annotations":{"a":"b"})", "[]");
  EXPECT_EQ(*Json::parse(zone_patch({on, plan(0), {}, 3})), *Json::parse(R"([
      {"op":"replace","path":"/metadata/resourceVersion","value":"4711"},
      {"op":"add","path":"/metadata/annotations/tidemark.io~1capacity-epoch","value":"3"}])"));
  const auto bare = topology("", "[]");
  EXPECT_EQ(*Json::parse(zone_patch({bare, plan(0), {}, 3})), *Json::parse(R"([
      {"op":"replace","path":"/metadata/resourceVersion","value":"4711"},
      {"op":"add","path":"/metadata/annotations","value":{"tidemark.io/capacity-epoch":"3"}}])"));
}

// Contract 3.4: zone resource items are sorted by name.
TEST_F(ZonePatchTest, InsertsAMissingResourceInOrder) {
  const auto on =
      topology("", R"([{"name":"node-0","resources":[{"name":"cpu"},{"name":"memory"}]},{"name":"node-1"}])");
  const std::vector changes{added(0, true), added(0, false), added(1, true), added(1, false)};
  const Json patch = *Json::parse(zone_patch({on, plan(2), changes, 1}));
  ASSERT_EQ(patch.as_array().size(), 7u);
  const auto path = [&](std::size_t i) { return patch.as_array()[i].text_at("path"); };
  EXPECT_EQ(path(2), "/zones/0/resources/1");
  EXPECT_EQ(
      patch.as_array()[2].at("value")->dump(),
      R"({"name":"kubernetes.io/batch-cpu","capacity":"9750500m","allocatable":"9750500m","available":"9750500m"})");
  EXPECT_EQ(path(3), "/zones/0/resources/2");
  EXPECT_EQ(patch.as_array()[3].text_at("value", "available"), "10Gi");
  EXPECT_EQ(path(4), "/zones/1/resources") << "the list is made first";
  EXPECT_EQ(path(5), "/zones/1/resources/0");
  EXPECT_EQ(path(6), "/zones/1/resources/1");
}

TEST_F(ZonePatchTest, ReplacesOnlyChangedFields) {
  const auto on = topology("", R"([{"name":"node-0","resources":[{"name":"a"},{"name":"kubernetes.io/batch-cpu"},
      {"name":"kubernetes.io/batch-memory"}]}])");
  const std::vector<policy::sell::ZoneChange> changes{{0, true, false, true, false, true},
                                                      {0, false, false, false, true, false}};
  const Json patch = *Json::parse(zone_patch({on, plan(1), changes, 1}));
  ASSERT_EQ(patch.as_array().size(), 5u);
  EXPECT_EQ(patch.as_array()[2],
            *Json::parse(R"({"op":"replace","path":"/zones/0/resources/1/capacity","value":"9750500m"})"));
  EXPECT_EQ(patch.as_array()[3].text_at("path"), "/zones/0/resources/1/available");
  EXPECT_EQ(patch.as_array()[4].text_at("path"), "/zones/0/resources/2/allocatable");
}

}  // namespace
}  // namespace tidemark::manager
