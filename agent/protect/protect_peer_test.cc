// Beside Koordinator's agent, or another one of ours: nothing is written that it writes.
#include <gtest/gtest.h>

#include "agent/testing/guarded_node.h"
#include "policy/protect/suppress/suppress.h"

namespace tidemark::agent {
namespace {

using model::Strategy;

class ProtectPeer : public testing::GuardedNode {};

TEST_F(ProtectPeer, ObservesBesideKoordinatorsAgent) {
  start();
  say_all(kQuota80);
  seconds(2);
  the_peer_comes();
  seconds(2);
  EXPECT_EQ(quota(), -1);
  EXPECT_TRUE(guard->status().peer_present);
  end("peer");
  seconds(2);
  EXPECT_EQ(quota(), -1) << "it may only be made anew";
  net::testing::run_for(loop, node.clock, policy::state::kPeerStays);
  seconds(2);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
}

TEST_F(ProtectPeer, FindsKoordinatorsAgentOutsidePodsAtStart) {
  the_peer_runs_beside_pods(4711);
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_TRUE(guard->status().peer_present);
  EXPECT_EQ(quota(), -1) << "nothing was written beside it";
  net::testing::run_for(loop, node.clock, 2 * policy::state::kPeerStays);
  seconds(2);
  EXPECT_TRUE(guard->status().peer_present) << "it is looked for again before it counts as gone";
  node.proc.remove("4711/comm");
  node.proc.remove("4711/status");
  net::testing::run_for(loop, node.clock, policy::state::kPeerLook + policy::state::kPeerStays);
  seconds(2);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
}

TEST_F(ProtectPeer, FindsKoordinatorsAgentStartedLater) {
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_GT(quota(), 0);
  the_peer_runs_beside_pods(4711);
  net::testing::run_for(loop, node.clock, policy::state::kPeerLook);
  seconds(2);
  EXPECT_TRUE(guard->status().peer_present);
  EXPECT_EQ(quota(), -1);
}

TEST_F(ProtectPeer, ProcessWithSameNameIsNotKoordinatorsAgent) {
  the_peer_runs_beside_pods(4711, 1000);
  the_peer_runs_beside_pods(4712, 0, true);
  the_peer_runs_beside_pods(::getpid());
  node.proc.write("self/stat", base::cat(::getpid(), " (koordlet) S 1\n"));  // a link by that name starts ours too
  start();
  say_all(kQuota80);
  seconds(2);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
}

// A koordlet that crashes again and again: nothing is set and put back with each of its starts.
TEST_F(ProtectPeer, RestartingKoordinatorsAgentCountsAsRunning) {
  start();
  say_all(kQuota80);
  the_peer_comes();
  seconds(2);
  ASSERT_EQ(quota(), -1);
  for (int crash = 0; crash < 4; ++crash) {
    pods.at("peer").containers[0].state = model::ContainerState::kWaiting;
    list_pods();
    for (int second = 0; second < 90; ++second) {
      seconds(1);
      ASSERT_EQ(quota(), -1) << crash << "/" << second;
    }
    pods.at("peer").containers[0].state = model::ContainerState::kRunning;
    list_pods();
    seconds(5);
  }
  EXPECT_TRUE(guard->status().peer_present);
}

// Any user who can create a pod can choose this container name.
TEST_F(ProtectPeer, ContainerWithSameNameIsNotKoordinatorsAgent) {
  start();
  say_all(kQuota80);
  seconds(2);
  ASSERT_GT(quota(), 0);
  pods.at("job").containers[0].name = "koordlet";
  online("friend", 0);
  pods.at("friend").ns = "batch";
  pods.at("friend").containers[0].name = "koordlet";
  list_pods();
  seconds(3);
  EXPECT_FALSE(guard->status().peer_present);
  EXPECT_GT(quota(), 0);
  EXPECT_EQ(quota(pods.at("job").path), -1) << "one quota for all of it";
}

TEST_F(ProtectPeer, OffLimitsOfflineWorkBesideKoordinatorsAgent) {
  start();
  say_all(kQuota80);
  the_peer_comes();
  seconds(2);
  ASSERT_EQ(quota(), -1);
  say_node(R"("tidemark.io/state":"off")");
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
  EXPECT_EQ(condition_reason(guard->status()), "Off");
  EXPECT_EQ(permit_of(Strategy::kCpuPriority), "restore") << "all else is the peer's";
  say_node();
  seconds(1);
  EXPECT_EQ(quota(), -1);
  EXPECT_EQ(condition_reason(guard->status()), "PeerPresent");
  ASSERT_TRUE(set_latch(run.root() + "/run/latch", {"root@n1", "disk", {}, ""}));
  seconds(1);
  EXPECT_EQ(quota(), policy::protect::kSuppressQuotaMin_us);
}

TEST_F(ProtectPeer, SecondAgentOnlyReports) {
  start();
  say_all(kQuota80);
  seconds(2);
  const auto first = std::move(guard);
  start();
  say_all(R"("enable":false)");
  seconds(3);
  EXPECT_GT(quota(), 0);
  EXPECT_EQ(condition_reason(guard->status()), "Unable");
}

}  // namespace
}  // namespace tidemark::agent
