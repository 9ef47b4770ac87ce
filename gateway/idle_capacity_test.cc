#include "gateway/idle_capacity.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using namespace policy::route;
using base::cat;
using testing::World;

class IdleCapacityTest : public ::testing::Test, public World {
 protected:
  IdleCapacityTest() { watch.start(); }

  void add_node(const std::string& name, const std::string& labels = "{}") {
    create(kube::kNodes,
           cat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name, R"(","labels":)", labels, "}}"), "");
    set_node(name, 10'000, true);
  }
  void set_node(const std::string& name, int batch_cpu, bool ready) {
    kube::WriteOptions status;
    status.subresource = "status";
    const std::string amounts =
        cat(R"({"kubernetes.io/batch-cpu":")", batch_cpu, R"(","kubernetes.io/batch-memory":"20Gi"})");
    patch(kube::kNodes, name,
          cat(R"({"status":{"capacity":)", amounts, R"(,"allocatable":)", amounts,
              R"(,"conditions":[{"type":"Ready","status":")", ready ? "True" : "False", R"("}]}})"),
          status);
  }
  void add_pod(const std::string& name, int batch_cpu, const std::string& node, const std::string& labels = "{}") {
    const std::string amounts =
        cat(R"({"kubernetes.io/batch-cpu":")", batch_cpu, R"(","kubernetes.io/batch-memory":"1Gi"})");
    create(kube::kPods,
           cat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name, R"(","labels":)", labels,
               R"(},"spec":{"nodeName":")", node, R"(","containers":[{"name":"c","image":"i","resources":{"requests":)",
               amounts, R"(,"limits":)", amounts, "}}]}}"),
           "default");
  }
  void create(const kube::Resource& kind, const std::string& body, const std::string& ns) {
    kube::WriteOptions in;
    in.ns = ns;
    const auto done = World::run(client->create(kind, body, in, "", 10s));
    ASSERT_TRUE(done) << done.error().message;
  }
  void patch(const kube::Resource& kind, const std::string& name, const std::string& body,
             const kube::WriteOptions& in) {
    const auto done = World::run(client->patch(kind, name, kube::PatchType::kMerge, body, in, 10s));
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t idle(std::string_view owner = "") {
    const auto capacity = watch.capacity();
    if (!capacity) return -1;
    for (const OwnedCapacity& each : capacity->nodes) {
      if (each.owner == owner) return each.idle.cpu.value;
    }
    return 0;
  }

  base::Registry registry;
  IdleCapacity watch{loop, *client, log, registry, base::Random(9), "store"};
};

TEST_F(IdleCapacityTest, IdleIsWhatPodsLeaveOfReadyNodes) {
  EXPECT_EQ(watch.capacity(), std::nullopt) << "not read yet";
  EXPECT_EQ(watch.quota("default"), std::nullopt);
  add_node("a");
  add_node("b", R"({"tidemark.io/business":"ads"})");
  ASSERT_TRUE(until([&] { return idle() == 10'000 && idle("ads") == 10'000; }));
  EXPECT_EQ(watch.quota("default"), QuotaRoom()) << "no quota";
  add_pod("one", 3000, "a");
  add_pod("two", 1000, "a");
  ASSERT_TRUE(until([&] { return idle() == 6000; }));
  EXPECT_EQ(idle("ads"), 10'000);
  set_status("one", R"({"phase":"Succeeded"})");
  ASSERT_TRUE(until([&] { return idle() == 9000; }));
  set_node("a", 500, true);
  ASSERT_TRUE(until([&] { return idle() == 0; })) << "a node that sells less than it holds has nothing idle";
  set_node("b", 10'000, false);
  ASSERT_TRUE(until([&] { return idle("ads") == 0; })) << "it is not ready";
  set_node("b", 10'000, true);
  ASSERT_TRUE(until([&] { return idle("ads") == 10'000; }));
  patch(kube::kNodes, "b", R"({"spec":{"unschedulable":true}})", {});
  ASSERT_TRUE(until([&] { return idle("ads") == 0; })) << "it is cordoned";
}

TEST_F(IdleCapacityTest, PodsWithoutANodeClaimUnlessTheirRunDoes) {
  add_node("a");
  add_pod("waits", 2000, "", R"({"tidemark.io/business":"ads"})");
  add_pod("own", 1000, "", R"({"tidemark.io/run":"store-7"})");
  add_pod("own-too", 500, "a", R"({"tidemark.io/run":"store-7"})");
  add_pod("other", 400, "", R"({"tidemark.io/run":"elsewhere-7"})");
  ASSERT_TRUE(
      until([&] { return watch.requested(7).pods == 2 && idle() == 9500 && watch.capacity()->claims.size() == 2; }));
  EXPECT_EQ(watch.requested(7).batch.cpu, model::CpuMilli{1500});
  EXPECT_EQ(watch.requested(8), RunNeed());
  const auto claims = watch.capacity()->claims;
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].business, "");
  EXPECT_EQ(claims[0].batch.cpu, model::CpuMilli{400});
  EXPECT_EQ(claims[1].business, "ads");
  EXPECT_EQ(claims[1].batch.cpu, model::CpuMilli{2000});
}

TEST_F(IdleCapacityTest, CallsAfterAChange) {
  ASSERT_TRUE(until([&] { return watch.capacity().has_value(); }));
  bool called = false;
  watch.follow([&] { called = true; });
  add_node("a");
  EXPECT_TRUE(until([&] { return called; }));
}

// As a real API server writes it.
TEST(NamespaceQuota, LeavesHardMinusUsed) {
  const auto room = [](std::string_view spec, std::string_view hard, std::string_view used) {
    return decode_namespace_quota(cat(R"({"metadata":{"name":"q","namespace":"spark","resourceVersion":"7"},"spec":{)",
                                      spec, R"(},"status":{"hard":)", hard, R"(,"used":)", used, "}}"))
        ->room;
  };
  EXPECT_EQ(room("", R"({"pods":"10","cpu":"4"})", R"({"pods":"3","cpu":"1"})")->pods, 7);
  EXPECT_EQ(room("", R"({"pods":"10","count/pods":"4"})", R"({"pods":"3","count/pods":"3"})")->pods, 1);
  EXPECT_EQ(room("", R"({"pods":"1"})", R"({"pods":"3"})")->pods, 0);
  EXPECT_EQ(room("", R"({"pods":"1"})", "{}"), QuotaRoom()) << "nothing is counted yet";
  EXPECT_EQ(room("", R"({"pods":"many"})", R"({"pods":"3"})"), std::nullopt);
  EXPECT_EQ(room("", R"({"pods":"4","count/pods":"4"})", R"({"pods":"3","count/pods":"?"})"), std::nullopt);
  const auto batch =
      room("", R"({"requests.kubernetes.io/batch-cpu":"12k","requests.kubernetes.io/batch-memory":"4Gi"})",
           R"({"requests.kubernetes.io/batch-cpu":"500","requests.kubernetes.io/batch-memory":"1Gi"})");
  EXPECT_EQ(batch->batch_cpu, model::CpuMilli{11'500});
  EXPECT_EQ(batch->batch_memory, model::MemoryBytes{std::int64_t{3} << 30});
  EXPECT_EQ(room(R"("scopes":["BestEffort"])", R"({"pods":"1"})", R"({"pods":"1"})"), QuotaRoom());
  EXPECT_EQ(room(R"("scopeSelector":{"matchExpressions":[]})", R"({"pods":"1"})", R"({"pods":"1"})"), QuotaRoom());
}

}  // namespace
}  // namespace tidemark::gateway
