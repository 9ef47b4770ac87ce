#include "agent/reaction/reaction_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <string>

#include "agent/testing/kernel_node.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

// Each reading is a quarter of a second later.
class Hasty final : public base::Clock {
 public:
  base::MonotonicTime monotonic() const override { return {std::chrono::milliseconds(250) * ++asked}; }
  base::BootTime boot() const override { return {}; }
  base::WallTime wall() const override { return {}; }
  mutable std::atomic<int> asked = 0;
};

class OnAThread : public ::testing::Test {
 protected:
  OnAThread() {
    for (const char* each : {"kubepods", "kubepods/besteffort"}) node.group(each);
    node.cgroups.write(kQuota, "240000\n");
    use(1'000'000'000'000);
  }
  // Overwrites the present value with as many digits: a reader at the same time finds a number.
  void use(std::int64_t ns) const {
    std::fstream file(node.cgroups.path("cpuacct/kubepods/cpuacct.usage"), std::ios::in | std::ios::out);
    file << ns << "\n";
  }
  void arm() {
    policy::protect::ReactionPlan plan;
    plan.whole = "kubepods";
    plan.less = {"kubepods/besteffort"};
    ReactionOrder order;
    plan.groups = {"kubepods/besteffort"};
    order.over = "240000";
    order.steps = {{model::CpuMilli{400}, 2000, {}}};
    order.bytes = {"2000"};
    ASSERT_TRUE(reactor.arm(*node.hierarchies, plan, order));
  }

  static constexpr const char* kQuota = "cpu/kubepods/besteffort/cpu.cfs_quota_us";
  testing::KernelNode node{linux::Layout::kV1};
  net::EventLoop loop{node.clock};
  Hasty clock;
  Reactor reactor{clock};
  int told = 0;
};

TEST_F(OnAThread, SignalsStepToLoop) {
  // By hand, so that it is known what online work used lately.
  arm();
  for (int i = 0; i < 6; ++i) ASSERT_FALSE(reactor.look());
  use(9'000'000'000'000);
  const auto thread = std::move(*ReactionThread::start(loop, reactor, [&] { ++told; }));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return told > 0; }));
  int quota = 0;
  std::ifstream(node.cgroups.path(kQuota)) >> quota;
  EXPECT_EQ(quota, 2000);
  const auto taken = reactor.withdraw();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->outcome, ReactionTaken::Outcome::kWrote);
  EXPECT_EQ(told, 1);
}

TEST_F(OnAThread, FailedStartLeavesOrderWithLoop) {
  arm();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};  // more descriptors
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto started = ReactionThread::start(loop, reactor, [] {});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("reaction thread"), std::string::npos) << started.error().message;
  EXPECT_FALSE(reactor.withdraw());
}

TEST_F(OnAThread, StopsInAnyState) {
  {
    const auto waits = std::move(*ReactionThread::start(loop, reactor, [] {}));
  }
  Reactor other(clock);
  policy::protect::ReactionPlan plan;
  plan.whole = "kubepods";
  plan.less = {"kubepods/besteffort"};
  plan.groups = {"kubepods/besteffort"};
  ASSERT_TRUE(other.arm(*node.hierarchies, plan, {}));
  {
    const auto looks = std::move(*ReactionThread::start(loop, other, [] {}));
  }
  EXPECT_FALSE(other.look());
}

}  // namespace
}  // namespace tidemark::agent
