// The operator with many nodes and a small write budget: that of Koordinator.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/annotations.h"
#include "model/yarn_reclaim.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using testing::NodeId;
using namespace std::chrono_literals;

class FleetTest : public testing::OperatorWorld {
 protected:
  void SetUp() override {
    options.queries_per_second = 30;
    options.query_burst = 50;
    budget = {.queries_per_second = options.queries_per_second, .burst = static_cast<int>(options.query_burst)};
    OperatorWorld::SetUp();
    options.poll = 1s;
  }
  static std::string name(int number) { return base::cat("n", number); }
  static NodeId nm(int number) { return {base::cat("host-", number), 1}; }
  static std::string container(int number) { return base::cat("container_1_0001_01_00", 1000 + number); }
  // Each has a container, and a ledger with another total.
  void nodes(int count) {
    const model::YarnBook book{0, {{1000}, {std::int64_t{1} << 30}}, std::nullopt, std::nullopt};
    for (int i = 0; i < count; ++i) {
      manager().nodes[nm(i)] = {};
      manager().run(container(i), nm(i), 512);
      node(name(i), nm(i).text(), origin("4k", "4Gi"), model::format_yarn_book(book));
    }
  }
  bool all_told(int count) {
    return until([&] { return manager().updated_nodes >= count; });
  }
  bool answered(int number) {
    const auto said = model::parse_reclaim_answer(annotation(name(number), model::kYarnReclaimAnswerAnnotation));
    return said && said->generation == 1 && said->gone == std::vector{container(number)};
  }
};

// An agent without an answer within three seconds kills the tasks itself, and sends no request for a minute. 200
// answers use five seconds of the budget, and ledgers need writes too.
TEST_F(FleetTest, AnswersTwoHundredNodesThatAskAtOnce) {
  constexpr int kNodes = 200;
  nodes(kNodes);
  begin();
  ASSERT_TRUE(all_told(kNodes));
  const auto listings = [&] { return manager().asked("getClusterNodes") - manager().asked("getQueueInfo"); };
  const auto listed_before = listings();
  const base::MonotonicTime begin = clock.monotonic();
  for (int i = 0; i < kNodes; ++i) {
    const model::ReclaimRequest request{1, {container(i)}, "TM-EVICT-001", clock.wall(), 60};
    patch(name(i), annotations(Json::object(
                       {{std::string(model::kYarnReclaimAnnotation), Json(model::format_reclaim_request(request))}})));
  }
  int count = 0;
  while (count < kNodes && clock.monotonic() - begin < 20s) {
    if (answered(count)) {
      ++count;
    } else {
      pass(10ms);
    }
  }
  EXPECT_EQ(count, kNodes);
  const base::Duration took = clock.monotonic() - begin;
  EXPECT_EQ(manager().preempted.size(), static_cast<std::size_t>(kNodes));
  EXPECT_LE(listings() - listed_before, 2 + took / 100ms) << "listings of all nodes for the agents";
}

// Pods wait for the capacity that was given up. Writing all ledgers takes half a minute.
TEST_F(FleetTest, ConfirmsAnOfferBeforeOtherWrites) {
  constexpr int kNodes = 1000, kLast = kNodes - 1;
  nodes(kNodes);
  begin();
  ASSERT_TRUE(all_told(kNodes));
  const model::YarnOffer offer{7, {{2000}, {std::int64_t{2} << 30}}, {{2000}, {std::int64_t{2} << 30}}};
  patch(name(kLast),
        annotations(Json::object({{std::string(model::kYarnOfferAnnotation), Json(model::format_yarn_offer(offer))}})));
  const base::MonotonicTime begin = clock.monotonic();
  const auto in_force = [&] {
    const auto book = model::parse_yarn_book(annotation(name(kLast), model::kYarnBookAnnotation));
    return book && book->generation == 7;
  };
  while (!in_force() && clock.monotonic() - begin < 60s) pass(50ms);
  EXPECT_LT(clock.monotonic() - begin, 8s);
}

}  // namespace
}  // namespace tidemark::yarn_operator
