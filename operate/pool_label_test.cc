// Nodes are put into a pool by their label; under the API server in memory.
#include "operate/pool_label.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "manager/testing/cluster.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

class PoolLabelTest : public manager::testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    Json object = name_only("tidemark-config");
    object["data"] = Json::object({{"config.yaml", Json("{schema: 1, mode: enforce, pools: [{name: old, nodeSelector: "
                                                        "{matchLabels: {age: old}}}, {name: night, nodeSelector: "
                                                        "{matchLabels: {tidemark.io/pool: night}}}]}")}});
    must("POST", manager::testing::kConfigPath, object);
    node("n1");
    node("n2");
    client = std::make_unique<kube::Client>(
        loop, *admin, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
  }
  Result<std::vector<PoolOfNode>> label(std::string pool, bool dry_run = false) {
    PoolLabelOptions options;
    options.nodes = {"n1", "n2"};
    options.pool = std::move(pool);
    options.dry_run = dry_run;
    options.config_namespace = "koordinator-system";
    options.zones = [](std::string_view) { return policy::waterline::Zones(); };
    return net::testing::run_task(loop, clock, label_pool(*client, std::move(options)));
  }
  std::string label_of(std::string_view name) {
    const Json object = must("GET", base::cat("/api/v1/nodes/", name), nullptr);
    return std::string(object.text_at("metadata", "labels", kPoolLabel));
  }

  std::unique_ptr<kube::Client> client;
};

TEST_F(PoolLabelTest, NodesGetTheLabelAndLoseItForTheDefaultPool) {
  const auto tried = label("night", true);
  ASSERT_TRUE(tried) << tried.error().message;
  EXPECT_EQ((*tried)[0].before, "default");
  EXPECT_EQ((*tried)[0].after, "night");
  EXPECT_EQ(label_of("n1"), "") << "a dry run writes nothing";
  ASSERT_TRUE(label("night"));
  EXPECT_EQ(label_of("n1"), "night");
  EXPECT_EQ(label_of("n2"), "night");
  ASSERT_TRUE(label("default"));
  EXPECT_EQ(label_of("n2"), "");
}

TEST_F(PoolLabelTest, NoNodeChangesIfOneWouldBeInAnotherPool) {
  must("PATCH", "/api/v1/nodes/n2",
       Json::object({{"metadata", Json::object({{"labels", Json::object({{"age", "old"}})}})}}),
       manager::testing::kMerge);
  const auto refused = label("night");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_TRUE(refused.error().message.contains("n2")) << refused.error().message;
  EXPECT_EQ(label_of("n1"), "");
  EXPECT_EQ(label("nigth").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace tidemark::operate
