#include "kube/leader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube/testing/scripted_api.h"
#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;

LeaderConfig config(std::string identity) {
  LeaderConfig config;
  config.ns = "system";
  config.name = "manager";
  config.identity = std::move(identity);
  return config;  // 15 s, 10 s, 2 s
}

// One replica. Its API can be cut off by itself, as when only its machine loses the network.
struct Replica {
  Replica(net::EventLoop& loop, testing::ScriptedApi& api, const base::Log& log, std::string identity,
          std::uint64_t seed)
      : scope(loop) {
    elector = std::move(*LeaderElector::make(loop, api, api, log, metrics, base::Random(seed), config(identity)));
    elector->on_change([this](bool leading) { changes.push_back(leading); });
    scope.spawn(elector->run());
  }
  bool leading() const { return elector->leading(); }

  base::Registry metrics;
  std::unique_ptr<LeaderElector> elector;
  std::vector<bool> changes;
  net::Scope scope;
};

class LeaderTest : public ::testing::Test {
 protected:
  Replica start(std::string identity, std::uint64_t seed) { return {loop, api, log, std::move(identity), seed}; }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }
  Json lease() const { return *Json::parse(api.objects().at("manager")); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  testing::ScriptedApi api{loop};
};

TEST_F(LeaderTest, FirstCandidateTakesAndRenewsTheLease) {
  auto a = start("a", 1);
  run_for(1s);
  EXPECT_TRUE(a.leading());
  EXPECT_EQ(a.elector->epoch(), 1);
  run_for(5min);
  EXPECT_TRUE(a.leading());
  EXPECT_EQ(a.elector->epoch(), 1) << "renewing is not a take-over";
  EXPECT_EQ(a.changes, (std::vector<bool>{true}));
}

TEST_F(LeaderTest, LeaseHasTheFieldsOfClientGo) {
  auto a = start("a", 1);
  run_for(1s);
  EXPECT_EQ(lease().text_at("spec", "holderIdentity"), "a");
  EXPECT_EQ(*lease().at("spec", "leaseDurationSeconds"), Json(15));
  EXPECT_EQ(*lease().at("spec", "leaseTransitions"), Json(1));
  EXPECT_EQ(lease().text_at("spec", "acquireTime").size(), std::string("2026-01-01T00:00:00.000000Z").size());
  EXPECT_EQ(lease().text_at("spec", "renewTime").size(), std::string("2026-01-01T00:00:00.000000Z").size());
}

TEST_F(LeaderTest, RenewalWritesAnnotationsOfTheLeaderAndKeepsOthers) {
  auto a = start("a", 1);
  std::string said = "one";
  a.elector->annotate("tidemark.io/said", [&] { return said; });
  run_for(1s);
  net::testing::run_task(
      loop, clock,
      api.patch(kLeases, "manager", PatchType::kMerge, R"({"metadata":{"annotations":{"of":"another"}}})", {}, 1s));
  EXPECT_EQ(lease().text_at("metadata", "annotations", "tidemark.io/said"), "one");
  said = "two";
  run_for(5s);
  EXPECT_EQ(lease().text_at("metadata", "annotations", "tidemark.io/said"), "two");
  EXPECT_EQ(lease().text_at("metadata", "annotations", "tidemark.io/annotated-by"), "a");
  EXPECT_EQ(lease().text_at("metadata", "annotations", "of"), "another");
  EXPECT_TRUE(a.leading());
}

TEST_F(LeaderTest, SecondCandidateWaitsWhileTheLeaseIsRenewed) {
  auto a = start("a", 1);
  run_for(3s);
  auto b = start("b", 2);
  run_for(10min);
  EXPECT_TRUE(a.leading());
  EXPECT_FALSE(b.leading());
  EXPECT_TRUE(b.changes.empty());
}

TEST_F(LeaderTest, DeadLeaderIsReplacedOneLeaseAfterItsLastRenewal) {
  auto a = std::make_unique<Replica>(loop, api, log, "a", 1);
  run_for(3s);
  auto b = start("b", 2);
  run_for(30s);
  a.reset();
  const auto died = clock.boot();
  run_for(12s);
  EXPECT_FALSE(b.leading()) << "the last renewal was at most 2.4 s old, the lease lasts 15 s";
  run_for(6s);
  EXPECT_TRUE(b.leading());
  EXPECT_EQ(b.elector->epoch(), 2);
  EXPECT_GE(clock.boot() - died, 15s);
}

TEST_F(LeaderTest, LeaderThatCannotRenewStopsBeforeASuccessorStarts) {
  auto a = start("a", 1);
  run_for(3s);
  ASSERT_TRUE(a.leading());
  api.down = true;
  run_for(7s);
  EXPECT_TRUE(a.leading());
  run_for(4s);
  EXPECT_FALSE(a.leading());
  EXPECT_EQ(a.changes, (std::vector<bool>{true, false}));
  api.down = false;
  auto b = start("b", 2);
  for (int i = 0; i < 600; ++i) {
    run_for(100ms);
    ASSERT_FALSE(a.leading() && b.leading());
  }
  EXPECT_TRUE(a.leading() || b.leading());
}

TEST_F(LeaderTest, LeaderReturnsUnderANewEpoch) {
  auto a = start("a", 1);
  run_for(3s);
  api.down = true;
  run_for(12s);
  ASSERT_FALSE(a.leading());
  api.down = false;
  run_for(1min);
  EXPECT_TRUE(a.leading());
  EXPECT_EQ(a.elector->epoch(), 2);
}

TEST_F(LeaderTest, SleptMachineDoesNotTrustItsLease) {
  auto a = start("a", 1);
  run_for(3s);
  ASSERT_TRUE(a.leading());
  clock.sleep_machine(11s);  // monotonic time stood still
  EXPECT_FALSE(a.leading());
}

TEST_F(LeaderTest, WallClockJumpChangesNothing) {
  auto a = start("a", 1);
  auto b = start("b", 2);
  run_for(5s);
  const bool a_leads = a.leading();
  for (const auto jump : {-1h, 5h, -8h}) {
    clock.jump_wall(jump);
    run_for(1min);
    EXPECT_EQ(a.leading(), a_leads);
    EXPECT_EQ(b.leading(), !a_leads);
  }
}

TEST_F(LeaderTest, ReleaseLetsASuccessorStartAtOnce) {
  auto a = start("a", 1);
  run_for(3s);
  auto b = start("b", 2);
  run_for(5s);
  net::testing::run_task(loop, clock, a.elector->release());
  a.scope.clear();
  EXPECT_FALSE(a.leading());
  run_for(3s);
  EXPECT_TRUE(b.leading());
}

TEST_F(LeaderTest, ReleasedLeaseIsNotTakenAgain) {
  auto a = start("a", 1);
  run_for(3s);
  net::testing::run_task(loop, clock, a.elector->release());
  run_for(1min);
  EXPECT_FALSE(a.leading());
  EXPECT_EQ(lease().text_at("spec", "holderIdentity"), "");
  EXPECT_EQ(a.changes, (std::vector<bool>{true, false}));
}

TEST_F(LeaderTest, RecreatedLeaseDoesNotLowerTheEpoch) {
  auto a = start("a", 1);
  run_for(3s);
  api.remove_object("manager");
  run_for(5s);
  EXPECT_TRUE(a.leading());
  EXPECT_EQ(a.elector->epoch(), 2);
}

TEST_F(LeaderTest, OnlyTheHolderRaisesItsEpochAboveASeenOne) {
  auto a = start("a", 1);
  run_for(3s);
  auto b = start("b", 2);
  run_for(3s);
  b.elector->raise_epoch(70);
  run_for(5s);
  EXPECT_EQ(a.elector->epoch(), 1);
  a.elector->raise_epoch(41);
  run_for(5s);
  EXPECT_EQ(a.elector->epoch(), 42);
  EXPECT_EQ(*lease().at("spec", "leaseTransitions"), Json(42));
  EXPECT_EQ(a.changes, (std::vector<bool>{true})) << "it led all the time";
}

// The times in the lease are not used: an unreadable one blocks no replica forever.
TEST_F(LeaderTest, LeaseWithAbsurdTimeExpiresNormally) {
  {
    auto a = start("a", 1);
    run_for(3s);
  }
  net::testing::run_task(
      loop, clock,
      api.patch(kLeases, "manager", PatchType::kMerge,
                R"({"spec":{"holderIdentity":"gone","renewTime":"9999-12-31T23:59:59.999999Z","acquireTime":"soon"}})",
                {}, 1s));
  auto b = start("b", 2);
  run_for(10s);
  EXPECT_FALSE(b.leading()) << "its length is not over";
  run_for(10s);
  EXPECT_TRUE(b.leading());
}

TEST_F(LeaderTest, LabelOnTheLeaseDoesNotDeposeTheLeader) {
  auto a = start("a", 1);
  run_for(5s);
  for (int i = 0; i < 200; ++i) {
    net::testing::run_task(loop, clock,
                           api.patch(kLeases, "manager", PatchType::kMerge,
                                     base::cat(R"({"metadata":{"labels":{"touched":")", i, R"("}}})"), {}, 1s));
    run_for(137ms);
    ASSERT_TRUE(a.leading());
  }
  EXPECT_EQ(a.elector->epoch(), 1);
}

TEST_F(LeaderTest, ReleasesTheLeaseDuringARenewal) {
  for (int ms = 0; ms < 30; ++ms) {
    auto a = std::make_unique<Replica>(loop, api, log, base::cat("a", ms), 1);
    ASSERT_TRUE(net::testing::run_until(loop, clock, [&] { return a->leading(); }));
    run_for(2s + std::chrono::milliseconds(ms * 30));
    net::testing::run_task(loop, clock, a->elector->release());
    run_for(1s);
    EXPECT_EQ(lease().text_at("spec", "holderIdentity"), "") << "released after " << ms * 30 << " ms";
  }
}

TEST_F(LeaderTest, RunningRenewalDoesNotRetakeAReleasedLease) {
  for (int ms = 0; ms < 30; ++ms) {
    api.get_delay = base::Duration(0);
    auto a = std::make_unique<Replica>(loop, api, log, base::cat("slow", ms), 1);
    ASSERT_TRUE(net::testing::run_until(loop, clock, [&] { return a->leading(); }));
    api.get_delay = 800ms;
    run_for(2s + std::chrono::milliseconds(ms * 100));
    net::testing::run_task(loop, clock, a->elector->release());
    run_for(5s);
    EXPECT_EQ(lease().text_at("spec", "holderIdentity"), "") << "released after " << ms * 100 << " ms";
  }
}

TEST_F(LeaderTest, NeverTwoLeadersUnderRandomFailures) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    base::testing::Clock own_clock;
    net::EventLoop own_loop(own_clock);
    testing::ScriptedApi own_api(own_loop);
    base::Random random(seed);
    std::vector<std::unique_ptr<Replica>> replicas;
    for (int i = 0; i < 4; ++i) {
      replicas.push_back(std::make_unique<Replica>(own_loop, own_api, log, base::cat("r", i), seed * 10 + i));
    }
    std::int64_t led = 0;
    std::int64_t last_epoch = 0;
    for (int step = 0; step < 1500; ++step) {
      if (random.below(100) == 0) own_api.down = !own_api.down;
      if (random.below(150) == 0) {
        const auto victim = random.below(replicas.size());
        replicas[victim].reset();
        replicas[victim] =
            std::make_unique<Replica>(own_loop, own_api, log, base::cat("r", victim, "-", step), seed * 100 + step);
      }
      net::testing::run_for(own_loop, own_clock, 100ms);
      int leaders = 0;
      for (const auto& replica : replicas) {
        if (!replica->leading()) continue;
        ++leaders;
        ++led;
        EXPECT_GE(replica->elector->epoch(), last_epoch) << "epochs never go back";
        last_epoch = replica->elector->epoch();
      }
      ASSERT_LE(leaders, 1) << "seed " << seed << " step " << step;
    }
    EXPECT_GT(led, 100) << "seed " << seed;
  }
}

TEST_F(LeaderTest, ReportsTimeWithoutAcceptedRenewals) {
  auto a = start("a", 1);
  auto b = start("b", 2);
  run_for(1min);
  ASSERT_TRUE(a.leading());
  EXPECT_EQ(a.elector->unheard().total, 0s);
  api.takes_no_writes = true;
  run_for(10min);
  EXPECT_FALSE(a.leading() || b.leading());
  for (const auto* each : {&a, &b}) {
    EXPECT_TRUE(each->elector->unheard().lasts);
    EXPECT_GT(each->elector->unheard().total, 9min + 30s) << "the other waits for the end of the lease first";
  }
  api.takes_no_writes = false;
  run_for(10min);
  for (const auto* each : {&a, &b}) {
    EXPECT_FALSE(each->elector->unheard().lasts);
    EXPECT_LT(each->elector->unheard().total, 10min + 10s);
  }
}

TEST_F(LeaderTest, OccasionalRenewalFailureIsNotSilence) {
  auto a = start("a", 1);
  run_for(1min);
  for (int i = 0; i < 20; ++i) {
    api.takes_no_writes = true;
    run_for(5s);
    EXPECT_TRUE(a.leading());
    api.takes_no_writes = false;
    run_for(5s);
  }
  EXPECT_EQ(a.elector->unheard().total, 0s);
}

TEST_F(LeaderTest, LeaseOfAnotherHolderCountsAsAnswer) {
  auto a = start("a", 1);
  run_for(3s);
  auto b = start("b", 2);
  run_for(1min);
  EXPECT_EQ(b.elector->unheard().total, 0s);
}

TEST_F(LeaderTest, RefusesContradictoryTimes) {
  base::Registry metrics;
  auto make = [&](base::Duration lease, base::Duration renew, base::Duration retry) {
    LeaderConfig wrong = config("a");
    wrong.lease_duration = lease;
    wrong.renew_deadline = renew;
    wrong.retry_period = retry;
    return LeaderElector::make(loop, api, api, log, metrics, base::Random(1), wrong);
  };
  EXPECT_TRUE(make(15s, 10s, 2s));
  EXPECT_FALSE(make(10s, 10s, 2s));
  EXPECT_FALSE(make(15s, 10s, 10s));
  EXPECT_FALSE(make(15s, 10s, 0s));
  EXPECT_FALSE(make(500ms, 400ms, 100ms));
  EXPECT_FALSE(make(2900ms, 2500ms, 500ms)) << "others would read 2 s and take over while the holder still leads";
  EXPECT_NE(make(10s, 12s, 2s).error().message.find("12s"), std::string::npos) << "the message names the values";
}

}  // namespace
}  // namespace tidemark::kube
