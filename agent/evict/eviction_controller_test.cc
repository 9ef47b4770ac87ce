// What is decided is carried out and told: on a node whose memory is nearly used up, second by second.
#include "agent/evict/eviction_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using policy::EvictOutcome;
using policy::Permit;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Ends whom it is told to, as the test says.
class Hands final : public EvictionHands {
 public:
  EvictOutcome answer = EvictOutcome::kAccepted;
  std::vector<std::string> asked, killed;
  std::vector<model::Reason> why;  // of all of them
  base::Duration grace{};          // of the last one that was asked
  std::size_t in_group = 1;        // of whomever it kills

  net::Task<EvictOutcome> ask(const model::Task& task, model::Reason reason, base::Duration granted,
                              bool /*itself*/) override {
    asked.push_back(task.name);
    grace = granted;
    why.push_back(reason);
    co_return answer;
  }
  net::Task<Result<linux::KillReport>> kill(const model::Task& task, model::Reason reason) override {
    killed.push_back(task.name);
    why.push_back(reason);
    co_return linux::KillReport{in_group, 0};
  }
};

class Evictions : public ::testing::Test {
 protected:
  Evictions() {
    facts.size.capacity = facts.size.allocatable = {model::CpuMilli{8000}, model::MemoryBytes{16 * kGiB}};
    rules.threshold.enable = true;
    rules.threshold.memory_evict_percent = 70;
    gates.set(policy::EvictFeature::kBeMemory);
    begin();
  }

  void begin() {
    controller.reset();
    memory.emplace(log, folder.root() + "/run", "b1");
    controller.emplace(loop, EvictionOutside{hands, nullptr, &ledger, nullptr, &*memory}, log, metrics,
                       eviction_defaults(gates, alone));
  }
  // Offline work ends where it has less than 30 % of the processors that it asked for, over a minute.
  void begin_by_satisfaction() {
    gates.set(policy::EvictFeature::kBeCpu);
    rules.threshold.cpu_evict_satisfaction_lower_percent = 30;
    rules.threshold.cpu_evict_satisfaction_upper_percent = 60;
    rules.threshold.cpu_evict_window_s = 60;
    begin();
  }
  std::vector<Loss> losses() {
    EXPECT_TRUE(net::testing::run_task(loop, ledger.drain(1h)));
    return read_losses(folder.root()).value().losses;
  }

  void pod(const std::string& name, std::int64_t memory_gib, model::Qos qos = model::Qos::kBe) {
    auto task = std::make_shared<model::Task>();
    task->identity.source = "kubernetes";
    task->identity.task = task->name = name;
    task->ns = "jobs";
    task->path = "kubepods/besteffort/pod" + name;
    task->phase = model::PodPhase::kRunning;
    task->qos_raw = task->qos = qos;
    task->priority_raw = task->priority =
        qos == model::Qos::kBe ? model::PriorityClass::kBatch : model::PriorityClass::kProd;
    task->created = task->started = clock.wall() + -1h;
    pods[name] = {std::move(task), memory_gib};
  }

  // Requests so much batch CPU and uses half a core.
  void work(const std::string& name, const std::string& work_class, std::int64_t milli, model::TaskKind kind) {
    pod(name, 0);
    auto task = std::make_shared<model::Task>(*pods[name].first);
    task->kind = kind;
    task->identity.work_class = work_class;
    task->requests.batch.cpu = model::CpuMilli{milli};
    if (kind == model::TaskKind::kCopilotTask) task->identity.source = "yarn";
    pods[name].first = std::move(task);
  }

  void seconds(int count) {
    for (int i = 0; i < count; ++i) {
      auto snapshot = std::make_shared<TaskSnapshot>();
      measured = {};
      std::int64_t used = other_gib * kGiB;
      std::uint32_t slot = 0;
      for (const auto& [name, each] : pods) {
        const TaskHandle handle{slot++, 1};
        snapshot->tasks.push_back({handle, each.first, std::nullopt, false});
        AccountMeasured account;
        account.handle = handle;
        account.use.memory.good_for = account.use.cpu_micro.good_for = 2s;
        account.use.memory.put({each.second * kGiB, each.second * kGiB}, clock.monotonic());
        account.use.cpu_micro.put(cpu_micro, clock.monotonic());
        measured.accounts.push_back(std::move(account));
        used += each.second * kGiB;
      }
      measured.node.memory.good_for = 2s;
      measured.node.memory.put({used, used}, clock.monotonic());
      measured.node.memory_of_kubelet.good_for = 2s;
      measured.node.memory_of_kubelet.put(used + read_gib * kGiB, clock.monotonic());
      tasks = std::move(snapshot);
      controller->observe(
          {{&facts, measured, *tasks, rules.threshold, besteffort, &disks, off, withdrawn,
            left_to_pods.transform([](std::int64_t bytes) { return model::MemoryBytes{bytes}; }), "kubepods"},
           tasks,
           rules,
           permit});
      net::testing::run_for(loop, clock, 1s);
    }
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  Hands hands;
  NodeFacts facts;
  policy::NodeRules rules;
  policy::EvictSwitches gates;
  bool alone = false;  // on a machine of its own
  Permit permit = Permit::kEnforce;
  std::map<std::string, std::pair<TaskPointer, std::int64_t>> pods;  // with what it uses
  std::int64_t other_gib = 8;
  std::int64_t read_gib = 0;  // of files, lately: available, and used as the kubelet counts
  std::optional<std::int64_t> left_to_pods;
  Measured measured;
  DiskSights disks;
  BesteffortInForce besteffort{.cpus = {}, .quota_us = {}, .group = "kubepods/besteffort"};
  bool off = false;
  bool withdrawn = false;
  std::int64_t cpu_micro = 1'000'000;  // of each task
  std::shared_ptr<const TaskSnapshot> tasks;
  linux::testing::Tree folder;
  LossLedger ledger{loop, log, metrics, folder.root()};
  std::optional<EvictMemory> memory;
  std::optional<EvictionController> controller;
};

// 16 GiB, 8 online and 4 + 1 offline: 81 %, and down to 68 % means 2.2 GiB, which the large one releases.
TEST_F(Evictions, OfflineWorkEndsAboveTheMemoryLine) {
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
  EXPECT_EQ(hands.asked.size(), 1U) << "below the line nobody goes";
  EXPECT_NE(metrics.text().find(
                "tidemark_agent_evictions_total{class=\"\",component=\"BEMemoryEvict\",reason=\"TM-EVICT-015\"} 1"),
            std::string::npos)
      << metrics.text();
}

// 16 GiB, 8 online, 2 offline and 5 of files that were read: 62 % by what is available, 93 % as the kubelet counts.
TEST_F(Evictions, OfflineWorkEndsBeforeTheKubeletWouldEvictForFilesThatWereRead) {
  pod("shuffle", 2);
  read_gib = 5;
  seconds(5);
  EXPECT_TRUE(hands.asked.empty()) << "a kubelet that evicts nobody";
  rules.threshold.memory_before_kubelet_percent = 89;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"shuffle"});
  EXPECT_NE(lines.find("(93 % of 89 %, down to 87 %, as the kubelet counts it"), std::string::npos) << lines;
}

TEST_F(Evictions, WhoDoesNotEndIsKilledAtItsDeadline) {
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

// Its source is slow to say so: nobody was killed, and nothing tells that somebody was.
TEST_F(Evictions, WhoHasEndedWhenItsGroupIsKilledEndedByItself) {
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
  const auto told = lines.find("nobody was in the group that was to be killed");
  EXPECT_NE(told, std::string::npos) << lines;
  EXPECT_EQ(told, lines.rfind("nobody was in the group that was to be killed")) << "once";
}

TEST_F(Evictions, WhereNobodyAnswersMemoryIsSavedByTheKernel) {
  pod("job", 6);
  hands.answer = EvictOutcome::kUnreachable;
  seconds(8);
  ASSERT_FALSE(hands.killed.empty()) << lines;
  EXPECT_NE(lines.find("TM-EVICT-017"), std::string::npos);
}

// A surge on many nodes keeps a webhook busy: its answer is waited for, a kill would pass the budgets that it holds.
TEST_F(Evictions, WhoIsBusyIsAskedAgainAndNobodyIsKilled) {
  pod("job", 6);
  hands.answer = EvictOutcome::kBusy;
  seconds(25);
  EXPECT_TRUE(hands.killed.empty()) << lines;
  EXPECT_GE(hands.asked.size(), 4U) << "each 2 to 6 s";
  EXPECT_LE(hands.asked.size(), 13U);
  hands.answer = EvictOutcome::kForbidden;
  seconds(8);
  EXPECT_TRUE(hands.killed.empty()) << "a budget forbids it";
  EXPECT_NE(lines.find("could not be evicted"), std::string::npos);
}

TEST_F(Evictions, WhoStaysBusyIsNotWaitedForUntilTheMachineIsOutOfMemory) {
  pod("job", 6);
  hands.answer = EvictOutcome::kBusy;
  seconds(32);
  ASSERT_EQ(hands.killed, std::vector<std::string>{"job"}) << lines;
  const std::size_t asked = hands.asked.size();
  seconds(8);
  EXPECT_EQ(hands.asked.size(), asked) << "it was killed: that one is asked no more";
}

TEST_F(Evictions, WhoIsBusyIsNotAskedAgainOnceOnlyObserved) {
  pod("job", 6);
  hands.answer = EvictOutcome::kBusy;
  seconds(1);
  ASSERT_EQ(hands.asked.size(), 1U);
  permit = Permit::kPutBack;
  seconds(40);
  EXPECT_EQ(hands.asked.size(), 1U);
  EXPECT_TRUE(hands.killed.empty());
}

TEST_F(Evictions, AnotherOneIsAskedWhereOneMayNotGo) {
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

TEST_F(Evictions, ObservingItOnlySaysSo) {
  pod("job", 6);
  for (const Permit each : {Permit::kPutBack, Permit::kTighten}) {
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

// Contract 7.1: the peer's gates are off, and so are evictions, until somebody switches them on.
TEST_F(Evictions, WithoutAGateNobodyGoes) {
  gates = {};
  begin();
  pod("job", 7);
  seconds(30);
  EXPECT_TRUE(hands.asked.empty());
  rules.word.emplace();  // our manager's: what is given is meant
  seconds(1);
  EXPECT_EQ(hands.asked.size(), 1U);
}

TEST_F(Evictions, WhoHoldsADiskThatIsShortEnds) {
  rules.word.emplace();
  rules.word->evict.disk_free_percent = 20;
  for (const char* name : {"small", "large"}) pod(name, 1);
  pod("web", 1, model::Qos::kLs);
  disks.disks[0] = policy::DiskSeen{100 * kGiB, 21 * kGiB, 0, 0};
  disks.held["small"] = {policy::DiskHeld{kGiB / 10, 1, true}};
  disks.held["large"] = {policy::DiskHeld{40 * kGiB, 1, false}};
  disks.held["web"] = {policy::DiskHeld{30 * kGiB, 1, true}};
  seconds(5);
  EXPECT_TRUE(hands.asked.empty());
  EXPECT_EQ(controller->says(), "TM-EVICT-008: BEMemoryEvict") << "one of all features, in few words";
  disks.disks[0]->bytes_free = 12 * kGiB;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"large"});
  EXPECT_EQ(hands.why, std::vector{model::Reason::kEvictDiskLine});
  EXPECT_NE(lines.find("12 % of the kubelet's disk free, the line is 20 %, up to 22 %"), std::string::npos) << lines;
  EXPECT_EQ(controller->says(), "TM-EVICT-007: DiskEvict 12 % free of 20 %; 1 on their way out");
  disks.disks[0]->bytes_free = 50 * kGiB;
  disks.held.erase("large");
  pods.erase("large");
  seconds(90);
  EXPECT_EQ(hands.asked.size(), 1U);
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].feature, "DiskEvict");
  EXPECT_EQ(lost[0].reason, "TM-EVICT-007");
}

// What the manager asks back of a class goes with no line drawn and no gate open, and nothing else of the node does.
TEST_F(Evictions, WhatIsAskedBackOfAClassGoes) {
  gates = {};
  rules.threshold.enable = false;
  begin();
  work("a", "transcode", 4000, model::TaskKind::kPod);
  work("b", "transcode", 4000, model::TaskKind::kPod);
  work("c", "transcode", 4000, model::TaskKind::kPod);
  work("y", "transcode", 4000, model::TaskKind::kCopilotTask);
  work("s", "spark", 8000, model::TaskKind::kPod);
  seconds(30);
  EXPECT_TRUE(hands.asked.empty());
  EXPECT_EQ(controller->says(), "");
  rules.reclaim = {{"transcode", {}, {model::CpuMilli{7200}, model::MemoryBytes{}}, "TM-LEDGER-009"}};
  seconds(30);
  EXPECT_EQ(hands.asked, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(hands.why[0], model::Reason::kLedgerReclaim);
  EXPECT_NE(lines.find("4800 milli-cores requested by pods of class transcode above the 7200"), std::string::npos)
      << lines;
  EXPECT_EQ(controller->says(), "TM-EVICT-009: ReclaimEvict; 2 on their way out");
  pods.erase("a");
  pods.erase("b");
  seconds(120);
  EXPECT_EQ(hands.asked.size(), 2U) << "the level is reached";
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].feature, "ReclaimEvict");
  EXPECT_EQ(lost[0].reason, "TM-LEDGER-009");
}

TEST_F(Evictions, OfAClassThatIsOffNobodyGoesWhereEvictionOnlyObserves) {
  rules.threshold.enable = false;
  rules.reclaim = {{"transcode", {}, {}, "TM-STATE-027"}};
  permit = Permit::kPutBack;
  work("a", "transcode", 4000, model::TaskKind::kPod);
  seconds(30);
  EXPECT_TRUE(hands.asked.empty());
  EXPECT_NE(lines.find("would be evicted"), std::string::npos) << lines;
  EXPECT_NE(lines.find("TM-STATE-027"), std::string::npos) << lines;
}

// policy/budget: without a grant a node evicts little; with one, as much as it says, until it ends.
TEST_F(Evictions, TheHourIsBounded) {
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  seconds(120);
  EXPECT_EQ(hands.asked.size(), 2U) << "kLocalEvictionsPerHour";
  EXPECT_EQ(controller->says().substr(0, 12), "TM-EVICT-012") << controller->says();
  rules.grant = policy::NodeGrant{{4, clock.wall() + 24h}, {}};
  seconds(30);
  EXPECT_EQ(hands.asked.size(), 4U);
}

// It would evict by an order of its own, which knows nothing of YARN's containers.
TEST_F(Evictions, WhereTheKubeletIsAboutToEvictMoreGoThanTheHourWasGranted) {
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  rules.threshold.memory_before_kubelet_percent = 87;
  rules.threshold.kubelet_next_bytes = 2 * kGiB;
  seconds(10);
  EXPECT_EQ(hands.asked.size(), 2U) << "2 GiB are left of 16: it is not next yet";
  EXPECT_EQ(lines.find("beyond what the hour was granted"), std::string::npos);
  other_gib = 9;
  seconds(5);
  EXPECT_EQ(hands.asked.size(), 4U) << "one GiB: 93 % down to 68 % are 4 GiB, and two are on their way";
  EXPECT_NE(lines.find("beyond what the hour was granted"), std::string::npos) << lines;
}

// The same where most of the node is free, and all pods together have little left of theirs.
TEST_F(Evictions, OfflineWorkEndsBeforeTheKubeletWouldEvictForWhatPodsHaveLeft) {
  pod("shuffle", 2);
  rules.threshold.pods_before_kubelet_percent = 89;
  left_to_pods = 2 * kGiB;
  seconds(5);
  EXPECT_TRUE(hands.asked.empty()) << "87 % of what it may be";
  left_to_pods = kGiB;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"shuffle"});
  EXPECT_NE(
      lines.find("(93 % of 89 %, down to 87 %, as the kubelet counts it: by what is left of the limit of all pods"),
      std::string::npos)
      << lines;
}

// Of the limit of pods nothing is free when somebody beside their group ends.
TEST_F(Evictions, WhoLiesBesideThePodsDoesNotEndForWhatTheyHaveLeft) {
  work("container", "", 500, model::TaskKind::kCopilotTask);
  auto beside = std::make_shared<model::Task>(*pods["container"].first);
  beside->path = "kubepods-yarn/container";
  pods["container"] = {std::move(beside), 2};
  rules.threshold.pods_before_kubelet_percent = 89;
  rules.threshold.pods_kubelet_next_bytes = 2 * kGiB;
  left_to_pods = kGiB;
  seconds(5);
  EXPECT_TRUE(hands.asked.empty());
  pod("shuffle", 1);
  seconds(5);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"shuffle"});
}

// `tidemark up`: nobody switches gates there, and nobody grants anything.
TEST_F(Evictions, AMachineOfItsOwnGoesByEveryLineThatIsDrawn) {
  gates = {};
  alone = true;
  begin();
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  seconds(30);
  EXPECT_EQ(hands.asked.size(), 6U) << controller->says();
}

TEST_F(Evictions, AJobThatLosesAnotherTaskWithinTheHourIsEvictedAgain) {
  rules.grant = policy::NodeGrant{{100, clock.wall() + 24h}, {}};
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

TEST_F(Evictions, AnAgentThatStartsAnewCountsTheHourOn) {
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  for (int i = 0; i < 3; ++i) {
    seconds(120);
    EXPECT_EQ(hands.asked.size(), 2U) << "kLocalEvictionsPerHour, start " << i;
    begin();
  }
}

TEST_F(Evictions, AnAgentThatStartsAnewKeepsToTheDeadlineThatWasTold) {
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

// Kubernetes' scheduler and YARN's sold 9 of the 6 cores that there are, and offline work gets 2 of them: transcoding
// of both goes first, as much as was sold too much, and Spark of both keeps running.
TEST_F(Evictions, OfANodeThatTwoSchedulersOversoldTranscodingGoesFirst) {
  rules.word.emplace();
  rules.word->classes = {{"transcode", 10}, {"spark", 30}};
  rules.threshold.cpu_evict_satisfaction_lower_percent = 30;
  rules.threshold.cpu_evict_satisfaction_upper_percent = 90;
  begin();
  work("spark-pod", "spark", 3000, model::TaskKind::kPod);
  work("spark-task", "spark", 3000, model::TaskKind::kCopilotTask);
  work("transcode-pod", "transcode", 1500, model::TaskKind::kPod);
  work("transcode-task", "transcode", 1500, model::TaskKind::kCopilotTask);
  facts.batch.cpu = model::CpuMilli{2500};
  facts.origin = model::Resources{model::CpuMilli{6000}, model::MemoryBytes{kGiB}};
  facts.oversold = true;
  besteffort.quota_us = 200'000;
  cpu_micro = 500'000;
  seconds(30);  // the CPU features wait for twenty at the start
  std::ranges::sort(hands.asked);
  EXPECT_EQ(hands.asked, (std::vector<std::string>{"transcode-pod", "transcode-task"}));
  EXPECT_EQ(hands.why, (std::vector{model::Reason::kArbitrateEvict, model::Reason::kArbitrateEvict}));
  EXPECT_NE(lines.find("TM-ARBITRATE-003"), std::string::npos) << lines;
}

// A NodeManager's containers may lie beside the kubelet's groups: besteffort's limit does not hold them.
TEST_F(Evictions, NobodyEndsForWhatRunsBesideBesteffort) {
  begin_by_satisfaction();
  work("job", "", 1000, model::TaskKind::kPod);
  work("container", "", 9000, model::TaskKind::kCopilotTask);
  auto beside = std::make_shared<model::Task>(*pods["container"].first);
  beside->path = "hadoop-yarn/container";
  pods["container"].first = beside;
  cpu_micro = 500'000;
  besteffort.quota_us = 50'000;
  seconds(120);
  EXPECT_TRUE(hands.asked.empty()) << "the pod has half of what it asked for";
  beside = std::make_shared<model::Task>(*beside);
  beside->path = "kubepods/besteffort/hadoop-yarn/container";
  pods["container"].first = beside;
  seconds(120);
  EXPECT_FALSE(hands.asked.empty()) << "both have a twentieth";
}

// What the agent leaves to offline work by an order is no lack that anybody ends for, nor what was seen of it once it
// is over.
TEST_F(Evictions, NobodyEndsForWhatAnOrderHoldsHimTo) {
  begin_by_satisfaction();
  work("job", "", 3000, model::TaskKind::kPod);
  cpu_micro = 20'000;
  besteffort.quota_us = 2'000;
  off = true;
  seconds(120);
  EXPECT_TRUE(hands.asked.empty());
  off = false;
  besteffort.quota_us = 300'000;
  seconds(120);
  EXPECT_TRUE(hands.asked.empty());
  besteffort.quota_us = 2'000;
  seconds(120);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"job"}) << "without an order it is one";
}

// `tidemark off pool night` (docs/guide/off.md): what runs already goes on running. While a node drains it says that it
// offers 0, and a mark that nobody can read counts as that.
TEST_F(Evictions, NobodyEndsSinceAnOrderTakesBackWhatIsOffered) {
  for (const auto feature : {policy::EvictFeature::kCpuAllocatable, policy::EvictFeature::kMemoryAllocatable}) {
    gates.set(feature);
  }
  gates.set(policy::EvictFeature::kBeCpu);
  policy::ThresholdRules& threshold = rules.threshold;
  threshold.cpu_allocatable_evict_percent = threshold.memory_allocatable_evict_percent = 100;
  threshold.cpu_allocatable_evict_lower_percent = threshold.memory_allocatable_evict_lower_percent = 90;
  threshold.allocatable_evict_priority = 5999;
  threshold.cpu_evict_satisfaction_lower_percent = 30;
  threshold.cpu_evict_satisfaction_upper_percent = 60;
  threshold.cpu_evict_policy = policy::CpuEvictPolicy::kByAllocatable;
  begin();
  work("job", "spark", 4000, model::TaskKind::kPod);
  auto task = std::make_shared<model::Task>(*pods["job"].first);
  task->eviction_enabled = true;
  task->priority_value = 5500;
  pods["job"].first = std::move(task);
  other_gib = 2;
  facts.batch = {model::CpuMilli{0}, model::MemoryBytes{0}};
  withdrawn = true;
  seconds(60);
  EXPECT_TRUE(hands.asked.empty()) << controller->says();
  withdrawn = false;
  seconds(2);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"job"}) << "the node lost what it sold";
}

TEST_F(Evictions, WhereNoQuotaHoldsOfflineWorkWhatOthersLeaveItCounts) {
  begin_by_satisfaction();
  work("job", "", 3000, model::TaskKind::kPod);
  cpu_micro = 20'000;
  besteffort.quota_us = policy::kNoLimit;
  besteffort.left = model::CpuMilli{2000};
  seconds(120);
  EXPECT_TRUE(hands.asked.empty());
  besteffort.left = model::CpuMilli{20};
  seconds(120);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"job"});
}

}  // namespace
}  // namespace tidemark::agent
