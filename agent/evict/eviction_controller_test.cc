// Execution and reports of eviction plans: requests, kills, the budget of an hour, and the state after a restart.
#include "agent/evict/eviction_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/testing/evicting_node.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using policy::evict::EvictOutcome;
using policy::state::Permit;
using testing::kGiB;

class Evictions : public testing::EvictingNode {
 protected:
  void limit(std::int64_t per_hour) {
    if (!rules.word) rules.word.emplace();
    rules.word->evict.per_hour = per_hour;
  }
};

// 16 GiB, 8 online and 4 + 1 offline: 81 %, and down to 68 % means 2.2 GiB, which the large one releases.
TEST_F(Evictions, EvictsOfflineWorkAboveMemoryThreshold) {
  pod("large", 4);
  pod("small", 1);
  pod("web", 2, model::Qos::kLs);
  other_gib = 6;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"large"});
  EXPECT_EQ(hands.why, std::vector{model::Reason::kEvictMemoryLine});
  EXPECT_NE(lines.find("(81 % of 70 %, down to 68 %)"), std::string::npos) << lines;
  seconds(5);
  EXPECT_EQ(hands.asked.size(), 1U) << "what is on its way releases enough";
  EXPECT_EQ(controller->leaving(), 1U);
  EXPECT_TRUE(losses().empty());

  pods.erase("large");
  seconds(1);
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].name, "large");
  EXPECT_EQ(lost[0].feature, "BEMemoryEvict");
  EXPECT_EQ(lost[0].reason, "TM-EVICT-001");
  EXPECT_EQ(lost[0].ended, "TM-EVICT-015");
  EXPECT_EQ(lost[0].memory, model::MemoryBytes{4 * kGiB});
  EXPECT_EQ(lost[0].lost_core_seconds, 3600) << "a core for an hour";
  EXPECT_EQ(lost[0].ending, 6s);
  EXPECT_TRUE(hands.killed.empty());
  seconds(60);
  EXPECT_EQ(hands.asked.size(), 1U) << "below the line no task goes";
  EXPECT_NE(metrics.text().find(
                "tidemark_agent_evictions_total{class=\"\",component=\"BEMemoryEvict\",reason=\"TM-EVICT-015\"} 1"),
            std::string::npos)
      << metrics.text();
}

TEST_F(Evictions, KillsTaskAtItsDeadline) {
  pod("stubborn", 6);
  seconds(30);
  EXPECT_EQ(hands.grace, 30s);
  EXPECT_TRUE(hands.killed.empty()) << "thirty seconds of grace";
  seconds(2);
  ASSERT_FALSE(hands.killed.empty());
  EXPECT_EQ(hands.killed[0], "stubborn");
  EXPECT_EQ(hands.why.back(), model::Reason::kEvictKilled);
  pods.clear();
  seconds(1);
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].ended, "TM-EVICT-018");
}

// The provider lists the ended task too long: nothing is killed, and no kill is reported.
TEST_F(Evictions, TaskWithEmptyGroupEndedByItself) {
  pod("slow", 6);
  hands.in_group = 0;
  seconds(40);
  EXPECT_FALSE(hands.killed.empty());
  pods.clear();
  seconds(1);
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].ended, "TM-EVICT-015");
  EXPECT_EQ(metrics.text().find("tidemark_agent_kills_total{"), std::string::npos) << metrics.text();
  const auto told = lines.find("the cgroup to kill was empty");
  EXPECT_NE(told, std::string::npos) << lines;
  EXPECT_EQ(told, lines.rfind("the cgroup to kill was empty")) << "once";
}

TEST_F(Evictions, KillsGroupIfNoAnswer) {
  pod("job", 6);
  hands.answer = EvictOutcome::kUnreachable;
  seconds(8);
  ASSERT_FALSE(hands.killed.empty()) << lines;
  EXPECT_NE(lines.find("TM-EVICT-017"), std::string::npos);
}

// A surge on many nodes keeps a webhook busy: its answer is waited for, a kill would pass the budgets that it holds.
TEST_F(Evictions, RetriesBusyServerWithoutKill) {
  pod("job", 6);
  hands.answer = EvictOutcome::kBusy;
  seconds(25);
  EXPECT_TRUE(hands.killed.empty()) << lines;
  EXPECT_GE(hands.asked.size(), 4U) << "each 2 to 6 s";
  EXPECT_LE(hands.asked.size(), 13U);
  hands.answer = EvictOutcome::kForbidden;
  seconds(8);
  EXPECT_TRUE(hands.killed.empty()) << "a budget forbids it";
  EXPECT_NE(lines.find("cannot evict"), std::string::npos);
}

TEST_F(Evictions, BusyServerIsNotAwaitedUntilOutOfMemory) {
  pod("job", 6);
  hands.answer = EvictOutcome::kBusy;
  seconds(32);
  ASSERT_EQ(hands.killed, std::vector<std::string>{"job"}) << lines;
  const std::size_t asked = hands.asked.size();
  seconds(8);
  EXPECT_EQ(hands.asked.size(), asked) << "it was killed: that one is asked no more";
}

TEST_F(Evictions, NoRetryAfterChangeToObserve) {
  pod("job", 6);
  hands.answer = EvictOutcome::kBusy;
  seconds(1);
  ASSERT_EQ(hands.asked.size(), 1U);
  permit = Permit::kRestore;
  seconds(40);
  EXPECT_EQ(hands.asked.size(), 1U);
  EXPECT_TRUE(hands.killed.empty());
}

TEST_F(Evictions, AsksAnotherTaskAfterRefusal) {
  pod("guarded", 4);
  pod("other", 3);
  hands.answer = EvictOutcome::kForbidden;
  seconds(1);
  ASSERT_EQ(hands.asked.size(), 1U);
  hands.answer = EvictOutcome::kAccepted;
  seconds(2);
  ASSERT_EQ(hands.asked.size(), 2U);
  EXPECT_NE(hands.asked[0], hands.asked[1]);
  EXPECT_TRUE(hands.killed.empty());
}

TEST_F(Evictions, ObserveOnlyLogs) {
  pod("job", 6);
  for (const Permit each : {Permit::kRestore, Permit::kTighten}) {
    permit = each;
    seconds(60);
  }
  EXPECT_TRUE(hands.asked.empty());
  EXPECT_NE(lines.find("would be evicted"), std::string::npos);
  EXPECT_EQ(lines.find("would be evicted"), lines.rfind("would be evicted")) << "once in ten minutes: " << lines;
  permit = Permit::kKeep;
  begin();
  seconds(5);
  EXPECT_EQ(controller->says(), "") << "nothing is known, nothing is decided";
}

// A node evicts as much as its grant says until the grant ends; without one, as the settings say.
TEST_F(Evictions, LimitsEvictionsPerHour) {
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  limit(2);
  seconds(120);
  EXPECT_EQ(hands.asked.size(), 2U);
  EXPECT_EQ(controller->says().substr(0, 12), "TM-EVICT-012") << controller->says();
  rules.grant = model::NodeGrant{{4, clock.wall() + 24h}, {}};
  seconds(30);
  EXPECT_EQ(hands.asked.size(), 4U);
}

// It would evict by an order of its own, which knows nothing of YARN's containers.
TEST_F(Evictions, ExceedsGrantIfKubeletIsAboutToEvict) {
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  rules.threshold.memory_before_kubelet_percent = 87;
  rules.threshold.kubelet_next_bytes = 2 * kGiB;
  limit(2);
  seconds(10);
  EXPECT_EQ(hands.asked.size(), 2U) << "2 GiB are left of 16: it is not next yet";
  EXPECT_EQ(lines.find("exceeds the eviction grant"), std::string::npos);
  other_gib = 9;
  seconds(5);
  EXPECT_EQ(hands.asked.size(), 4U) << "one GiB: 93 % down to 68 % are 4 GiB, and two are on their way";
  EXPECT_NE(lines.find("exceeds the eviction grant"), std::string::npos) << lines;
}

TEST_F(Evictions, CountsRepeatedEvictionOfJob) {
  rules.grant = model::NodeGrant{{100, clock.wall() + 24h}, {}};
  const auto evict = [&](const std::string& name, const std::string& job) {
    pod(name, 6);
    auto task = std::make_shared<model::Task>(*pods[name].first);
    task->identity.job = job;
    pods[name].first = std::move(task);
    const std::size_t before = hands.asked.size();
    seconds(30);
    EXPECT_EQ(hands.asked.size(), before + 1) << name;
    pods.erase(name);
    seconds(30);
  };
  const auto again = [&] {
    const std::string text = metrics.text();
    const auto at = text.find("tidemark_agent_evicted_again_total{class=\"\"} ");
    return at == std::string::npos ? '0' : text[text.find("} ", at) + 2];
  };
  evict("a-1", "a");
  evict("b-1", "b");
  EXPECT_EQ(again(), '0');
  evict("a-2", "a");
  EXPECT_EQ(again(), '1');
  seconds(3700);
  evict("a-3", "a");
  EXPECT_EQ(again(), '1') << "an hour later it is a first one";
}

// As Koordinator's agent, which has no limit.
TEST_F(Evictions, HasNoHourlyLimitWithoutSettings) {
  for (int i = 0; i < 30; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  seconds(300);
  EXPECT_EQ(hands.asked.size(), 30U);
}

TEST_F(Evictions, RestartContinuesCountOfHour) {
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  limit(2);
  for (int i = 0; i < 3; ++i) {
    seconds(120);
    EXPECT_EQ(hands.asked.size(), 2U) << "start " << i;
    begin();
  }
}

TEST_F(Evictions, RestartKeepsPromisedDeadline) {
  pod("stubborn", 6);
  seconds(10);
  begin();
  seconds(18);
  EXPECT_TRUE(hands.killed.empty()) << "thirty seconds of grace";
  seconds(4);
  ASSERT_FALSE(hands.killed.empty());
  EXPECT_EQ(hands.killed[0], "stubborn");
  EXPECT_EQ(hands.asked.size(), 1U) << "it was told";
  EXPECT_NE(lines.find("BEMemoryEvict"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("0 % of 0 %"), std::string::npos) << "what was seen then is not known any more" << lines;
  pods.erase("stubborn");
  seconds(2);
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].feature, "BEMemoryEvict");
  EXPECT_EQ(lost[0].memory, model::MemoryBytes{6 * kGiB});
  EXPECT_GT(lost[0].lost_core_seconds, 0);
  EXPECT_GE(lost[0].ending, 30s) << "since the first agent asked";
}

}  // namespace
}  // namespace tidemark::agent
