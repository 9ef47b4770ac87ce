// A reaction by hand: the counters are files that a test writes, and each look is a call.
#include "agent/reaction/reactor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "agent/testing/kernel_node.h"
#include "base/testing/allocations.h"
#include "base/text.h"
#include "base/thread.h"
#include "linux/scan.h"

namespace tidemark::agent {
namespace {

using Outcome = ReactionTaken::Outcome;
using linux::Layout;
using model::CpuMilli;
using std::chrono::milliseconds;

class ReactorTest : public ::testing::TestWithParam<Layout> {
 protected:
  ReactorTest() {
    for (const char* each : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) node.group(each);
    is_v2 = GetParam() == Layout::kV2;
    put_quota("240000");
    plan.readiness = policy::protect::ReactionReadiness::kReady;
    plan.whole = "kubepods";
    plan.less = {"kubepods/besteffort"};
    order.known = CpuMilli{200};
    plan.groups = {"kubepods/besteffort"};
    order.over = "240000";
    order.steps = {{CpuMilli{400}, 100'000, {}}, {CpuMilli{1900}, 2000, {}}};
    order.bytes = {"100000", "2000"};
    write_use();
  }

  std::string quota_file() const {
    return is_v2 ? "kubepods/besteffort/cpu.max" : "cpu/kubepods/besteffort/cpu.cfs_quota_us";
  }
  void put_quota(std::string_view quota) {
    node.cgroups.write(quota_file(), base::cat(quota, is_v2 ? " 100000\n" : "\n"));
  }
  std::string quota() const {
    std::ifstream in(node.cgroups.root() + "/" + quota_file());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    return std::string(linux::without_line_end(text));
  }
  std::string as_shown(std::string_view quota) const { return base::cat(quota, is_v2 ? " 100000" : ""); }
  void write_use() {
    node.cpu("kubepods", online_ns + offline_ns);
    node.cpu("kubepods/besteffort", offline_ns);
  }
  void arm() {
    const auto armed = reactor.arm(*node.hierarchies, plan, order);
    ASSERT_TRUE(armed) << armed.error().message;
  }
  // Online work uses so many milli-cores for so long. Whether one of the looks took a step.
  bool uses(std::int64_t milli, base::Duration time) {
    bool taken = false;
    for (base::Duration done{0}; done < time; done += kLook) {
      node.clock.advance(kLook);
      online_ns += milli * kLook.count() / 1000;
      offline_ns += 2 * kLook.count();
      write_use();
      taken = reactor.look() || taken;
    }
    return taken;
  }

  static constexpr base::Duration kLook = milliseconds(25);
  testing::KernelNode node{GetParam()};
  bool is_v2 = false;
  std::int64_t online_ns = 7'000'000'000, offline_ns = 3'000'000'000;
  policy::protect::ReactionPlan plan;
  ReactionOrder order;
  Reactor reactor{node.clock};
};

TEST_P(ReactorTest, ReactsAtNextLookAndReports) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500))) << "all as it was decided";
  EXPECT_EQ(quota(), as_shown("240000"));
  EXPECT_TRUE(uses(4200, kLook)) << "of 100 ms a quarter at 4000 more";
  EXPECT_EQ(quota(), "100000");
  const auto taken = reactor.withdraw();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->outcome, Outcome::kWrote);
  EXPECT_EQ(taken->step, 0u);
  EXPECT_EQ(taken->files, 1u);
  EXPECT_EQ(taken->risen.value, 1000);
  EXPECT_FALSE(reactor.withdraw()) << "told once";
}

TEST_P(ReactorTest, LargerSurgeTakesTighterStep) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  ASSERT_TRUE(uses(8200, kLook));
  EXPECT_EQ(quota(), "2000");
}

TEST_P(ReactorTest, TakesOneStepPerDecision) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  ASSERT_TRUE(uses(4200, kLook));
  put_quota("100000");
  EXPECT_FALSE(uses(9000, milliseconds(500)));
  EXPECT_EQ(quota(), as_shown("100000"));
}

// The order of an off: withdrawn, then put back. Nothing is written after that.
TEST_P(ReactorTest, WritesNothingAfterWithdraw) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  EXPECT_FALSE(reactor.withdraw());
  put_quota("240000");
  EXPECT_FALSE(uses(9000, milliseconds(500)));
  EXPECT_EQ(quota(), as_shown("240000"));
}

TEST_P(ReactorTest, LeavesForeignValue) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  put_quota("300000");
  ASSERT_TRUE(uses(4200, kLook));
  EXPECT_EQ(reactor.withdraw()->outcome, Outcome::kNotOurs);
  EXPECT_EQ(quota(), as_shown("300000"));
}

TEST_P(ReactorTest, ObserveDoesNotWrite) {
  order.only_shown = true;
  order.over = {};
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  ASSERT_TRUE(uses(4200, kLook));
  EXPECT_EQ(reactor.withdraw()->outcome, Outcome::kWouldWrite);
  EXPECT_EQ(quota(), as_shown("240000"));
}

TEST_P(ReactorTest, UnreadableCounterEndsTheWatch) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  node.cgroups.write(is_v2 ? "kubepods/cpu.stat" : "cpuacct/kubepods/cpuacct.usage", "");
  EXPECT_TRUE(reactor.look());
  EXPECT_EQ(reactor.withdraw()->outcome, Outcome::kUnreadable);
}

TEST_P(ReactorTest, WithoutTheBesteffortGroupNothingIsKnown) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  node.cgroups.write(is_v2 ? "kubepods/besteffort/cpu.stat" : "cpuacct/kubepods/besteffort/cpuacct.usage", "");
  EXPECT_TRUE(reactor.look());
  EXPECT_EQ(reactor.withdraw()->outcome, Outcome::kUnreadable);
}

TEST_P(ReactorTest, ErrorNamesMissingGroup) {
  plan.whole = "nowhere";
  const auto armed = reactor.arm(*node.hierarchies, plan, order);
  ASSERT_FALSE(armed);
  EXPECT_NE(armed.error().message.find("nowhere"), std::string::npos) << armed.error().message;
  EXPECT_FALSE(reactor.look());
}

// Each decision arms anew: what was learned of the same groups stays.
TEST_P(ReactorTest, RearmKeepsCounters) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  (void)reactor.withdraw();
  arm();
  EXPECT_TRUE(uses(4200, kLook));
  (void)reactor.withdraw();
  for (const char* each : {"other", "other/besteffort"}) node.group(each);
  plan.whole = "other";
  plan.less = {"other/besteffort"};
  put_quota("240000");
  arm();
  node.cpu("other", 50'000'000'000);
  EXPECT_FALSE(uses(9000, milliseconds(500))) << "another sum: nothing is known of it before a second";
}

// Offline pods outside of the besteffort group, another one each second.
TEST_P(ReactorTest, OfflinePodsThatComeAndGoKeepKnownUse) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  const std::vector<std::string> alone = plan.less;
  std::int64_t ended_ns = 0;
  for (int second = 0; second < 5; ++second) {
    const std::string pod = base::cat("kubepods/burstable/batch", second);
    node.group(pod);
    (void)reactor.withdraw();
    plan.less = alone;
    plan.less.push_back(pod);
    plan.less.push_back("kubepods/burstable/not-there-yet");
    arm();
    for (int look = 0; look < 10; ++look) {
      node.clock.advance(kLook);
      online_ns += 200 * kLook.count() / 1000;
      ended_ns += 900 * kLook.count() / 1000;
      node.cpu(pod, (look + 1) * 900 * kLook.count() / 1000);
      node.cpu("kubepods", online_ns + offline_ns + ended_ns);
      ASSERT_FALSE(reactor.look()) << "second " << second;
    }
    // As a kernel reads a group that is gone; the whole has what that used last.
    ended_ns += 40'000'000;
    node.cgroups.write(is_v2 ? pod + "/cpu.stat" : base::cat("cpuacct/", pod, "/cpuacct.usage"), "");
    node.clock.advance(kLook);
    node.cpu("kubepods", online_ns + offline_ns + ended_ns);
    ASSERT_FALSE(reactor.look()) << "second " << second;
  }
  online_ns += ended_ns;  // the sum does not tell which cgroup used it
  EXPECT_TRUE(uses(4200, kLook)) << "a surge is answered as if they had never been";
  EXPECT_EQ(reactor.withdraw()->outcome, Outcome::kWrote);
}

// What is read second has run on: with many processors by some ticks.
TEST_P(ReactorTest, FallingSumIsKept) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  node.clock.advance(kLook);
  offline_ns += 50'000'000;
  node.cpu("kubepods/besteffort", offline_ns);
  ASSERT_FALSE(reactor.look());
  EXPECT_TRUE(uses(4200, 2 * kLook));
}

TEST_P(ReactorTest, ALookAllocatesNothing) {
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  node.clock.advance(kLook);
  EXPECT_EQ(base::testing::allocated_by([&] { EXPECT_FALSE(reactor.look()); }), 0);
  node.clock.advance(kLook);
  online_ns += 200'000'000;
  write_use();
  EXPECT_EQ(base::testing::allocated_by([&] { EXPECT_TRUE(reactor.look()); }), 0) << "nor does what it writes";
}

TEST_P(ReactorTest, WaiterWakesOnArmAndEnd) {
  std::atomic<int> armed = 0;
  std::thread waits = base::start_thread([&] {
    while (reactor.wait_until_armed()) {
      armed = 1;
      armed.notify_one();
      std::this_thread::yield();
    }
  });
  arm();
  armed.wait(0);
  reactor.end();
  waits.join();
  EXPECT_FALSE(reactor.withdraw());
  EXPECT_FALSE(reactor.look());
}

// Of processors there are several files, and all of them or none.
TEST_P(ReactorTest, WritesManyFilesInOrderOrNone) {
  const std::string folder = is_v2 ? "" : "cpuset/";
  const std::vector<std::string> groups = {"kubepods/besteffort/pod1/c1", "kubepods/besteffort/pod1",
                                           "kubepods/besteffort"};
  const auto file_of_group = [&](const std::string& group) { return base::cat(folder, group, "/cpuset.cpus"); };
  const auto shown = [&](const std::string& group) {
    std::string text;
    std::ifstream(node.cgroups.path(file_of_group(group))) >> text;
    return text;
  };
  for (const std::string& each : groups) {
    node.group(each);
    node.cgroups.write(file_of_group(each), "0-2\n");
  }
  plan.policy = policy::protect::SuppressPolicy::kCpuset;
  plan.groups = groups;
  order.over = "0-2";
  order.bytes = {"0-1", "0-1"};
  arm();
  ASSERT_FALSE(uses(200, milliseconds(1500)));
  node.cgroups.write(file_of_group(groups.back()), "0-3\n");
  ASSERT_TRUE(uses(4200, kLook));
  EXPECT_EQ(reactor.withdraw()->outcome, Outcome::kNotOurs);
  EXPECT_EQ(shown(groups.front()), "0-2");
  node.cgroups.write(file_of_group(groups.back()), "0-2\n");
  arm();
  ASSERT_TRUE(uses(4200, kLook));
  const auto taken = reactor.withdraw();
  EXPECT_EQ(taken->outcome, Outcome::kWrote);
  EXPECT_EQ(taken->files, 3u);
  for (const std::string& each : groups) EXPECT_EQ(shown(each), "0-1") << each;
}

// Two threads in earnest: as often as it is withdrawn, what stands there then stays until it is armed again.
TEST_P(ReactorTest, WithdrawDuringLookStopsWrites) {
  order.steps = {{CpuMilli{INT64_MIN}, 100'000, {}}};  // each look takes a step, once a second of looks is over
  arm();
  ASSERT_TRUE(uses(200, milliseconds(1500)));
  (void)reactor.withdraw();
  // The clock and the counters stand: a clock that goes back makes the use unknown, and so no step is taken; each
  // round moves them before it arms.
  std::thread looks = base::start_thread([&] {
    while (reactor.wait_until_armed()) reactor.look();
  });
  int wrote = 0;
  for (int round = 0; round < 100; ++round) {
    node.clock.advance(kLook);
    online_ns += 5'000'000;
    write_use();
    put_quota("240000");
    arm();
    if (round % 10 == 0) {
      while (quota() != "100000") std::this_thread::yield();
    }
    const auto taken = reactor.withdraw();
    if (taken && taken->outcome == Outcome::kWrote) ++wrote;
    put_quota("999");
    for (int i = 0; i < 3; ++i) std::this_thread::yield();
    ASSERT_EQ(quota(), as_shown("999")) << "round " << round;
  }
  reactor.end();
  looks.join();
  EXPECT_GE(wrote, 10);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ReactorTest, ::testing::Values(Layout::kV1, Layout::kV2),
                         [](const auto& each) { return each.param == Layout::kV1 ? "v1" : "v2"; });

}  // namespace
}  // namespace tidemark::agent
