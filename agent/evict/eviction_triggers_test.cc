// The causes of evictions, from measurement to request: each threshold and order, and what causes none.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/testing/evicting_node.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using policy::state::Permit;
using testing::kGiB;

class EvictionTriggers : public testing::EvictingNode {};

// 16 GiB, 8 online, 2 offline and 5 of files that were read: 62 % by what is available, 93 % as the kubelet counts.
TEST_F(EvictionTriggers, EvictsBeforeKubeletDoesForReadFiles) {
  pod("shuffle", 2);
  read_gib = 5;
  seconds(5);
  EXPECT_TRUE(hands.asked.empty()) << "a kubelet that evicts no pod";
  rules.threshold.memory_before_kubelet_percent = 89;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"shuffle"});
  EXPECT_NE(lines.find("(93 % of 89 %, down to 87 %, as the kubelet counts it"), std::string::npos) << lines;
}

// Contract 7.1: the feature gates are off by default, and so are evictions.
TEST_F(EvictionTriggers, WithoutGateNothingIsEvicted) {
  gates = {};
  begin();
  pod("job", 7);
  seconds(30);
  EXPECT_TRUE(hands.asked.empty());
  rules.word.emplace();  // our manager's: what is given is meant
  seconds(1);
  EXPECT_EQ(hands.asked.size(), 1U);
}

TEST_F(EvictionTriggers, EvictsTaskThatFillsDisk) {
  rules.word.emplace();
  rules.word->evict.disk_free_percent = 20;
  for (const char* name : {"small", "large"}) pod(name, 1);
  pod("web", 1, model::Qos::kLs);
  disks.disks[0] = model::DiskSeen{100 * kGiB, 21 * kGiB, 0, 0};
  disks.held["small"] = {model::DiskHeld{kGiB / 10, 1, true}};
  disks.held["large"] = {model::DiskHeld{40 * kGiB, 1, false}};
  disks.held["web"] = {model::DiskHeld{30 * kGiB, 1, true}};
  seconds(5);
  EXPECT_TRUE(hands.asked.empty());
  EXPECT_EQ(controller->says(), "TM-EVICT-008: BEMemoryEvict") << "one of all features, in few words";
  disks.disks[0]->bytes_free = 12 * kGiB;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"large"});
  EXPECT_EQ(hands.why, std::vector{model::Reason::kEvictDiskLine});
  EXPECT_NE(lines.find("12 % of the kubelet's disk free, the line is 20 %, up to 22 %"), std::string::npos) << lines;
  EXPECT_EQ(controller->says(), "TM-EVICT-007: DiskEvict 12 % free of 20 %; 1 leaving");
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
TEST_F(EvictionTriggers, EvictsReclaimedClass) {
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
  EXPECT_EQ(controller->says(), "TM-EVICT-009: ReclaimEvict; 2 leaving");
  pods.erase("a");
  pods.erase("b");
  seconds(120);
  EXPECT_EQ(hands.asked.size(), 2U) << "the level is reached";
  const auto lost = losses();
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].feature, "ReclaimEvict");
  EXPECT_EQ(lost[0].reason, "TM-LEDGER-009");
}

TEST_F(EvictionTriggers, ObserveEvictsNothingOfOffClass) {
  rules.threshold.enable = false;
  rules.reclaim = {{"transcode", {}, {}, "TM-STATE-027"}};
  permit = Permit::kRestore;
  work("a", "transcode", 4000, model::TaskKind::kPod);
  seconds(30);
  EXPECT_TRUE(hands.asked.empty());
  EXPECT_NE(lines.find("would be evicted"), std::string::npos) << lines;
  EXPECT_NE(lines.find("TM-STATE-027"), std::string::npos) << lines;
}

// The same where most of the node is free, and all pods together have little left of theirs.
TEST_F(EvictionTriggers, EvictsBeforeKubeletDoesForPodLimit) {
  pod("shuffle", 2);
  rules.threshold.pods_before_kubelet_percent = 89;
  left_to_pods = 2 * kGiB;
  seconds(5);
  EXPECT_TRUE(hands.asked.empty()) << "87 % of what it may be";
  left_to_pods = kGiB;
  seconds(1);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"shuffle"});
  EXPECT_NE(lines.find("(93 % of 89 %, down to 87 %, as the kubelet counts it: by the rest of the limit of all pods"),
            std::string::npos)
      << lines;
}

// The memory limit of kubepods does not count tasks outside of it.
TEST_F(EvictionTriggers, TasksOutsideKubepodsDoNotRelievePodLimit) {
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

// `tidemark up` has no feature gates and no eviction budgets.
TEST_F(EvictionTriggers, SingleMachineEnforcesEveryThreshold) {
  gates = {};
  alone = true;
  begin();
  for (int i = 0; i < 6; ++i) pod(base::cat("job-", i), 1);
  other_gib = 13;
  seconds(30);
  EXPECT_EQ(hands.asked.size(), 6U) << controller->says();
}

// Kubernetes' scheduler and YARN's sold 9 of the 6 cores that there are, and offline work gets 2 of them: transcoding
// of both goes first, as much as was sold too much, and Spark of both keeps running.
TEST_F(EvictionTriggers, OversoldNodeEvictsTranscodingFirst) {
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
TEST_F(EvictionTriggers, WorkOutsideBesteffortCausesNoCpuEviction) {
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

// A limit by an order `off` is no shortage that causes evictions, and neither is its history after the order ends.
TEST_F(EvictionTriggers, LimitByOrderCausesNoEviction) {
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

// `tidemark off pool night` (docs/guide/off.md): running tasks continue. While a node drains its offer is 0, and an
// unreadable state mark counts as draining.
TEST_F(EvictionTriggers, WithdrawnOfferCausesNoEviction) {
  for (const auto feature :
       {policy::evict::EvictFeature::kCpuAllocatable, policy::evict::EvictFeature::kMemoryAllocatable}) {
    gates.set(feature);
  }
  gates.set(policy::evict::EvictFeature::kBeCpu);
  policy::protect::ThresholdRules& threshold = rules.threshold;
  threshold.cpu_allocatable_evict_percent = threshold.memory_allocatable_evict_percent = 100;
  threshold.cpu_allocatable_evict_lower_percent = threshold.memory_allocatable_evict_lower_percent = 90;
  threshold.allocatable_evict_priority = 5999;
  threshold.cpu_evict_satisfaction_lower_percent = 30;
  threshold.cpu_evict_satisfaction_upper_percent = 60;
  threshold.cpu_evict_policy = policy::protect::CpuEvictPolicy::kByAllocatable;
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

TEST_F(EvictionTriggers, WithoutQuotaUnusedCpuIsTheLimit) {
  begin_by_satisfaction();
  work("job", "", 3000, model::TaskKind::kPod);
  cpu_micro = 20'000;
  besteffort.quota_us = policy::protect::kNoLimit;
  besteffort.left = model::CpuMilli{2000};
  seconds(120);
  EXPECT_TRUE(hands.asked.empty());
  besteffort.left = model::CpuMilli{20};
  seconds(120);
  EXPECT_EQ(hands.asked, std::vector<std::string>{"job"});
}

}  // namespace
}  // namespace tidemark::agent
