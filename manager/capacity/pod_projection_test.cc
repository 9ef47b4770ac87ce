#include "manager/capacity/pod_projection.h"

#include <gtest/gtest.h>

#include "kube/convert.h"
#include "kube/objects.h"
#include "kube/testing/testdata.h"

namespace tidemark::manager {
namespace {

// Budget: 10,000 nodes have 300,000 pods, each kept once. Without the interner's share and the cache's own table.
constexpr std::size_t kBytesMax = 240;  // the pointer to how a pod ends took it over 224: 4.6 MiB for all of them

TEST(PodProjection, EqualsTheConversionOfTheWholePod) {
  kube::Interner interner;
  for (const char* file : {"pod_web.json", "pod_level.json"}) {
    const std::string bytes = kube::testing::testdata(file);
    const auto kept = decode_pod_projection(bytes, interner);
    const auto whole = kube::decode_pod(bytes, kube::overcommit_pod_fields(), interner);
    ASSERT_TRUE(kept && whole) << file;
    const model::PodView view = kept->view();
    const model::PodView wanted = kube::to_pod_view(*whole);
    EXPECT_EQ(view.id, wanted.id);
    EXPECT_EQ(kept->meta.ns, whole->meta.ns);
    EXPECT_EQ(kept->meta.name, whole->meta.name);
    EXPECT_EQ(view.phase, wanted.phase);
    EXPECT_EQ(view.priority, wanted.priority);
    EXPECT_EQ(view.qos, wanted.qos);
    EXPECT_EQ(view.request, wanted.request);
    EXPECT_EQ(view.numa_nodes, wanted.numa_nodes);
    EXPECT_EQ(kept->node_name, whole->node_name);
    EXPECT_EQ(kept->meta.resource_version, whole->meta.resource_version);
  }
}

TEST(PodProjection, IsSmall) {
  kube::Interner interner;
  const auto kept = decode_pod_projection(
      R"({"metadata":{"name":"notifications-worker-7d9c6b5f4-x2x9k","namespace":"default","resourceVersion":"123456789012"},)"
      R"("spec":{"nodeName":"node-1","containers":[{"name":"c","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}})",
      interner);
  ASSERT_TRUE(kept);
  EXPECT_LE(kept->bytes(), kBytesMax);
}

TEST(PodProjection, RefusesInputThatIsNotAPod) {
  kube::Interner interner;
  EXPECT_FALSE(decode_pod_projection(R"({"kind":"Node","metadata":{"name":"a"}})", interner));
  EXPECT_FALSE(decode_pod_projection(R"({"metadata":{}})", interner));
}

}  // namespace
}  // namespace tidemark::manager
