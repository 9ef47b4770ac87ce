#include "policy/evict/left_over.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark::policy::evict {
namespace {

using namespace std::chrono_literals;

class LeftOverTest : public ::testing::Test {
 protected:
  LeftOverTest() {
    container_.kind = model::TaskKind::kCopilotTask;
    container_.identity.source = "yarn";
    container_.identity.task = "container_1_0001_01_000002";
    pod_.kind = model::TaskKind::kPod;
    pod_.identity.source = "kubernetes";
    pod_.identity.task = "uid";
  }
  std::vector<std::size_t> after(base::Duration time, const std::optional<EvictionOrder>& order) {
    now_ = now_ + time;
    auto step = left_over(std::move(state_), order, tasks_, now_);
    state_ = std::move(step.state);
    return step.to_end;
  }

  const EvictionOrder order_{base::WallTime{1h}, 30s};
  model::Task container_, pod_;
  std::vector<const model::Task*> tasks_{&pod_, &container_};
  base::MonotonicTime now_{1h};
  LeftOverState state_;
  using Ended = std::vector<std::size_t>;
};

TEST_F(LeftOverTest, EndsContainersThatOutliveTheGrace) {
  EXPECT_EQ(after(0s, order_), Ended());
  EXPECT_EQ(after(34s, order_), Ended()) << "the ResourceManager ends them within a heartbeat";
  EXPECT_EQ(after(1s, order_), Ended{1}) << "pods are ended by the command";
}

TEST_F(LeftOverTest, AsksAgainWhileAContainerIsThere) {
  after(0s, order_);
  EXPECT_EQ(after(35s, order_), Ended{1});
  EXPECT_EQ(after(9s, order_), Ended());
  EXPECT_EQ(after(1s, order_), Ended{1});
  tasks_ = {&pod_};
  EXPECT_EQ(after(20s, order_), Ended());
  tasks_ = {&container_};
  EXPECT_EQ(after(1s, order_), Ended{0}) << "one that began later has had its time";
}

TEST_F(LeftOverTest, CountsTheGraceFromTheMomentOfReading) {
  after(0s, std::nullopt);
  EXPECT_EQ(after(10min, order_), Ended()) << "its time is the one of another clock";
  after(31s, order_);
  const EvictionOrder later{order_.since + 1min, 5s};
  EXPECT_EQ(after(1s, later), Ended()) << "another order";
  EXPECT_EQ(after(10s, later), Ended{1});
  EXPECT_EQ(after(1min, std::nullopt), Ended()) << "the order ended";
}

}  // namespace
}  // namespace tidemark::policy::evict
