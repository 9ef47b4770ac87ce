#include "policy/explain/doctor/cluster_findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "policy/explain/cluster_doctor_text.h"

namespace tidemark::policy::explain {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

// A node without a problem, whose agent enforces.
ClusterNode sound(std::string name) {
  ClusterNode out;
  out.name = std::move(name);
  out.kernel = "6.1.0-18-amd64";
  out.os_image = "Debian 12";
  out.architecture = "amd64";
  out.runtime = "containerd://1.7.2";
  out.kubelet_version = "v1.31.4";
  out.agent = "Enforcing";
  out.sells = true;
  out.pool = "default";
  out.ours.memory = {100 * kGib, 70};
  return out;
}

class ClusterFindings : public ::testing::Test {
 protected:
  ClusterFindings() {
    found.pools = &config;
    for (const char* name : {"n3", "n1", "n2"}) found.nodes.push_back(sound(name));
  }

  std::vector<ClusterFinding> of(ClusterTopic topic) const {
    std::vector<ClusterFinding> out;
    for (auto& one : cluster_findings(found)) {
      if (one.topic == topic) out.push_back(std::move(one));
    }
    return out;
  }
  std::vector<ClusterFact> facts(ClusterTopic topic) const {
    std::vector<ClusterFact> out;
    for (const auto& one : of(topic)) out.push_back(one.fact);
    return out;
  }
  // The only finding with this fact.
  ClusterFinding the(ClusterFact fact) const {
    const auto all = cluster_findings(found);
    EXPECT_EQ(std::ranges::count(all, fact, &ClusterFinding::fact), 1);
    const auto at = std::ranges::find(all, fact, &ClusterFinding::fact);
    return at == all.end() ? ClusterFinding() : *at;
  }
  static std::vector<std::string> names(const ClusterFinding& finding) {
    return finding.groups.empty() ? std::vector<std::string>() : finding.groups.front().names;
  }
  using Names = std::vector<std::string>;

  waterline::TidemarkConfig config;
  ClusterFound found;
};

TEST_F(ClusterFindings, SoundClusterHasOnlyGoodFindings) {
  const auto findings = cluster_findings(found);
  EXPECT_EQ(worst(findings), Severity::kOk) << render_text(findings);
  std::set<ClusterTopic> topics;
  for (const auto& one : findings) topics.insert(one.topic);
  // Without the topics that need a kubelet's configuration, and the finding about asking.
  EXPECT_EQ(topics.size(), kClusterTopics - 10);
  EXPECT_TRUE(std::ranges::is_sorted(findings, {}, &ClusterFinding::topic));
}

TEST_F(ClusterFindings, CountsAGroupAndNamesItsFirstNodes) {
  for (int i = 0; i < 10'000; ++i) found.nodes.push_back(sound(base::cat("x", i)));
  found.nodes[0].kernel = "6.6.1";
  const auto kernels = of(ClusterTopic::kKernel);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(kernels[0].groups.size(), 2u);
  EXPECT_EQ(kernels[0].groups[0], (NodeGroup{"6.1.0-18-amd64", 10'002, {"n1", "n2", "x0"}}));
  EXPECT_EQ(kernels[0].groups[1], (NodeGroup{"6.6.1", 1, {"n3"}}));
}

TEST_F(ClusterFindings, OnlyCountsTheSmallestOfManyGroups) {
  for (int i = 0; i < 40; ++i) found.nodes.push_back(sound(base::cat("x", i)));
  for (std::size_t i = 0; i < 20; ++i) found.nodes[i].os_image = base::cat("image ", i);
  const auto images = of(ClusterTopic::kOs).at(0);
  EXPECT_EQ(images.groups.size(), kGroupsShownMax);
  EXPECT_EQ(images.groups_left_off, 21 - static_cast<std::int64_t>(kGroupsShownMax));
  EXPECT_EQ(images.groups[0].value, "Debian 12");
}

TEST_F(ClusterFindings, AnOldKernelIsAWarning) {
  found.nodes[0].kernel = "5.10.0-33-amd64";
  found.nodes[1].kernel = "4.18.0-553.el8";
  found.nodes[2].kernel = "4.19.91-26.al7.x86_64";
  EXPECT_EQ(the(ClusterFact::kKernelWithoutPriority).nodes, 2) << "not the one with a vendor knob";
  EXPECT_EQ(names(the(ClusterFact::kKernelWithoutPriority)), (Names{"n1", "n3"}));
  EXPECT_EQ(names(the(ClusterFact::kKernelWithoutPressure)), Names{"n1"});
  EXPECT_EQ(the(ClusterFact::kKernelWithoutPriority).severity, Severity::kWarn);
}

TEST_F(ClusterFindings, WarnsOfUnsupportedKubeletVersions) {
  found.nodes[0].kubelet_version = "v1.28.0";
  EXPECT_EQ(facts(ClusterTopic::kKubeletVersion), std::vector{ClusterFact::kAre});
  found.nodes[0].kubelet_version = "v1.27.9";
  EXPECT_EQ(names(the(ClusterFact::kKubeletsApart)), Names{"n3"});
}

TEST_F(ClusterFindings, AsksNothingOfNodesWithoutOurComponents) {
  found.nodes[0].linux = false;
  found.nodes[0].kernel = "10.0.20348";
  found.nodes[0].agent = "";
  EXPECT_EQ(names(the(ClusterFact::kNotLinux)), Names{"n3"});
  EXPECT_EQ(facts(ClusterTopic::kAgents), std::vector{ClusterFact::kAgentsSay});
  EXPECT_EQ(worst(cluster_findings(found)), Severity::kOk);
  found.nodes[1].architecture = "s390x";
  EXPECT_EQ(names(the(ClusterFact::kNotShipped)), Names{"n1"});
}

TEST_F(ClusterFindings, ConditionsThatEvictAreWarnings) {
  found.nodes[0].ready = false;
  found.nodes[1].memory_pressure = true;
  found.nodes[2].disk_pressure = true;
  EXPECT_EQ(facts(ClusterTopic::kConditions),
            (std::vector{ClusterFact::kNotReady, ClusterFact::kMemoryPressure, ClusterFact::kDiskPressure}));
}

TEST_F(ClusterFindings, TaintsAreCountedByKeyAndEffect) {
  EXPECT_EQ(facts(ClusterTopic::kTaints), std::vector{ClusterFact::kNoTaints});
  found.nodes[0].taints = {"gpu:NoSchedule", "a:NoExecute"};
  found.nodes[1].taints = {"gpu:NoSchedule"};
  const auto taints = the(ClusterFact::kTaints);
  EXPECT_EQ(taints.nodes, 2);
  ASSERT_EQ(taints.groups.size(), 2u);
  EXPECT_EQ(taints.groups[0], (NodeGroup{"gpu:NoSchedule", 2, {"n1", "n3"}}));
}

TEST_F(ClusterFindings, ReportsStatesOfAgents) {
  found.nodes[0].agent = "Unable";
  found.nodes[1].agent = "Holding";
  found.nodes[2].agent = "OffLocally";
  EXPECT_EQ(the(ClusterFact::kAgentUnable).severity, Severity::kBad);
  EXPECT_EQ(the(ClusterFact::kAgentHolds).reason, model::Reason::kAgentHolds);
  EXPECT_EQ(the(ClusterFact::kAgentSwitchedOff).reason, model::Reason::kAgentLatched);
  found.nodes[0].agent = "";
  EXPECT_EQ(names(the(ClusterFact::kNoAgent)), Names{"n3"});
}

TEST_F(ClusterFindings, WithoutAgentsReportsOnlyThat) {
  for (ClusterNode& node : found.nodes) {
    node.agent = "";
    node.sells = false;
    node.silent = model::Reason::kMetricMissing;
  }
  EXPECT_EQ(facts(ClusterTopic::kAgents), std::vector{ClusterFact::kNoAgents});
  EXPECT_TRUE(of(ClusterTopic::kReports).empty()) << "without agents no report is late";
  EXPECT_EQ(facts(ClusterTopic::kOffers), std::vector{ClusterFact::kNothingOffered});
  EXPECT_EQ(worst(cluster_findings(found)), Severity::kWarn);
}

TEST_F(ClusterFindings, OffersWithoutAnAgentAreBad) {
  found.nodes[0].agent = "";
  found.nodes[1].silent = model::Reason::kMetricStale;
  EXPECT_EQ(names(the(ClusterFact::kOffersUnguarded)), Names{"n3"});
  EXPECT_EQ(names(the(ClusterFact::kOffersUnseen)), Names{"n1"});
  EXPECT_EQ(the(ClusterFact::kReportOld).reason, model::Reason::kMetricStale);
  EXPECT_EQ(worst(cluster_findings(found)), Severity::kBad);
  found.nodes[0].koordlet = true;
  EXPECT_EQ(facts(ClusterTopic::kOffers), std::vector{ClusterFact::kOffersUnseen})
      << "the other one's agent guards too";
}

TEST_F(ClusterFindings, ReportsEachReasonOfSilence) {
  found.nodes[0].silent = model::Reason::kMetricMissing;
  found.nodes[1].silent = model::Reason::kMetricWithoutTime;
  found.nodes[2].silent = model::Reason::kMetricStale;
  EXPECT_EQ(facts(ClusterTopic::kReports),
            (std::vector{ClusterFact::kReportMissing, ClusterFact::kReportNever, ClusterFact::kReportOld}));
}

TEST_F(ClusterFindings, NamesKoordinatorComponents) {
  EXPECT_EQ(facts(ClusterTopic::kPeer), std::vector{ClusterFact::kNoPeer});
  found.nodes[0].koordlet = true;
  found.koord_managers = {"koordinator-system/koord-manager-a", "koordinator-system/koord-manager-b"};
  EXPECT_EQ(the(ClusterFact::kPeerAgents).reason, model::Reason::kAgentPeerPresent);
  EXPECT_NE(the(ClusterFact::kPeerManagers).said.find("koord-manager-b"), std::string::npos);
  found.koord_managers.reset();
  found.pods_unread = "forbidden";
  EXPECT_EQ(the(ClusterFact::kPeerUnknown).said, "forbidden");
}

TEST_F(ClusterFindings, UnknownKoordletIsNoFault) {
  found.koord_managers.reset();
  found.nodes[0].sells = true;
  found.nodes[0].agent.clear();
  EXPECT_EQ(names(the(ClusterFact::kOffersGuardUnknown)), Names{"n3"});
  EXPECT_EQ(the(ClusterFact::kOffersGuardUnknown).severity, Severity::kWarn);
  EXPECT_EQ(facts(ClusterTopic::kOffers), std::vector{ClusterFact::kOffersGuardUnknown});
  EXPECT_EQ(worst(cluster_findings(found)), Severity::kWarn);
}

TEST_F(ClusterFindings, ReportsUnknownAgentsAsNotChecked) {
  found.koord_managers.reset();
  found.nodes[0].agent.clear();
  found.nodes[0].silent = model::Reason::kMetricStale;
  EXPECT_EQ(facts(ClusterTopic::kReports), std::vector{ClusterFact::kReportsUnlooked}) << "not that all is reported";
  EXPECT_EQ(names(the(ClusterFact::kReportsUnlooked)), Names{"n3"});
  found.nodes[1].silent = model::Reason::kMetricStale;
  EXPECT_EQ(names(the(ClusterFact::kReportOld)), Names{"n1"}) << "our own agent is known";
  for (ClusterNode& node : found.nodes) node.agent.clear();
  EXPECT_EQ(the(ClusterFact::kReportsUnlooked).nodes, 3) << "also on nodes without our agent";
  for (ClusterNode& node : found.nodes) node.sells = false;
  EXPECT_TRUE(of(ClusterTopic::kReports).empty()) << "nothing rests on them";
}

TEST_F(ClusterFindings, ReportsEmptyAndOverlappingPools) {
  config.pools.resize(3);
  config.pools[0].name = "night";
  config.pools[1].name = "day";
  config.pools[2].name = "empty";
  found.nodes[0].pool = found.nodes[1].pool = "night";
  found.overlaps = {{"night", "day", 1, model::NodeName("n1")}};
  EXPECT_EQ(the(ClusterFact::kPoolEmpty).said, "empty") << "the node of day is reported as an overlap";
  EXPECT_EQ(the(ClusterFact::kPoolsOverlap).also, "day");
  EXPECT_EQ(names(the(ClusterFact::kInNoPool)), Names{"n2"});
}

TEST_F(ClusterFindings, SettingsThatCannotBeUsedAreBad) {
  found.settings_notes = {"a roll-out is under way"};
  EXPECT_EQ(the(ClusterFact::kSettingsNoted).severity, Severity::kWarn);
  found.pools = nullptr;
  EXPECT_EQ(the(ClusterFact::kSettingsUnusable).severity, Severity::kBad);
  EXPECT_TRUE(of(ClusterTopic::kPools).empty());
}

TEST_F(ClusterFindings, GroupsNodesByOrder) {
  state::EffectiveState off;
  off.k8s = off.yarn = model::NodeState::kOff;
  off.decided_by = model::Reason::kStateByCluster;
  off.order = state::StateOrder{};
  off.order->by = "ann";
  found.nodes[0].state = found.nodes[1].state = off;
  found.nodes[1].state->again_after = std::chrono::seconds(3);
  EXPECT_EQ(the(ClusterFact::kOrdered).nodes, 2);
  off.order->by = "bob";
  found.nodes[2].state = off;
  EXPECT_EQ(of(ClusterTopic::kStates).size(), 2u);
  for (std::size_t i = 0; i < kOrdersShownMax; ++i) {
    found.nodes.push_back(sound(base::cat("x", i)));
    off.order->by = base::cat("c", i);
    found.nodes.back().state = off;
  }
  const auto orders = of(ClusterTopic::kStates);
  EXPECT_EQ(orders.size(), kOrdersShownMax);
  EXPECT_EQ(orders.back().state, std::nullopt);
  EXPECT_EQ(orders.back().nodes, 3);
}

TEST_F(ClusterFindings, ReportsIgnoredMarks) {
  found.nodes[1].unheeded = model::Reason::kStateUnreadable;
  found.nodes[1].unheeded_why = "no JSON";
  EXPECT_EQ(the(ClusterFact::kMarkUnheeded).said, "no JSON");
  EXPECT_EQ(the(ClusterFact::kMarkUnheeded).reason, model::Reason::kStateUnreadable);
}

// 100 GiB: our line is at 70, the kubelet's at 90, 72 and 50.
TEST_F(ClusterFindings, ComparesThresholdsWithTheKubelets) {
  const std::int64_t free_gib[] = {10, 28, 50};
  for (std::size_t i = 0; i < 3; ++i) {
    found.nodes[i].kubelet.emplace();
    found.nodes[i].kubelet->hard.memory_available = evict::EvictionThreshold{free_gib[i] * kGib, 0};
  }
  const auto lines = of(ClusterTopic::kMemoryLine);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].severity, Severity::kBad);
  EXPECT_EQ(names(lines[0]), Names{"n2"});
  EXPECT_EQ(lines[1].of_node->fact, NodeFact::kLineNear);
  EXPECT_EQ(lines[2].of_node->fact, NodeFact::kLineUnder);
  EXPECT_EQ(lines[2].of_node->line, (LinePair{70 * kGib, 90 * kGib, 100 * kGib}));
}

// The same code as for one node: the nodefs size is known, the rest are shares.
TEST_F(ClusterFindings, ReportsEachThresholdOfADisk) {
  for (ClusterNode& node : found.nodes) {
    node.kubelet.emplace();
    node.kubelet->hard.nodefs_available = node.kubelet->hard.imagefs_available = evict::EvictionThreshold{0, 15'000};
    node.kubelet->hard.nodefs_inodes = evict::EvictionThreshold{0, 5'000};
    node.ours.disk = {1000 * kGib, 80};
    node.ours.runtime_disk.percent = 80;
    node.ours.disk_inodes.percent = node.ours.runtime_inodes.percent = 90;
  }
  found.nodes[0].ours.runtime_disk.percent = 88;
  const auto disk = of(ClusterTopic::kDiskLine);
  ASSERT_EQ(disk.size(), 1u);
  EXPECT_EQ(disk[0].of_node->line, (LinePair{800 * kGib, 850 * kGib, 1000 * kGib}));
  EXPECT_EQ(disk[0].nodes, 3);
  const auto images = of(ClusterTopic::kRuntimeDiskLine);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].severity, Severity::kBad);
  EXPECT_EQ(names(images[0]), Names{"n3"});
  EXPECT_EQ(images[1].of_node->line, (LinePair{80'000, 85'000, kAllInShares, false, true}));
  EXPECT_EQ(of(ClusterTopic::kDiskInodesLine).at(0).of_node->fact, NodeFact::kLineUnder);
  EXPECT_EQ(of(ClusterTopic::kRuntimeInodesLine).at(0).of_node->fact, NodeFact::kNoLineOfKubelet);
}

TEST_F(ClusterFindings, ReportsKubeletConfiguration) {
  for (ClusterNode& node : found.nodes) node.kubelet.emplace();
  found.nodes[0].kubelet->driver = evict::GroupDriver::kSystemd;
  found.nodes[1].kubelet->driver = evict::GroupDriver::kCgroupfs;
  found.nodes[1].kubelet->static_cpus = found.nodes[1].ours.suppresses_by_cpuset = true;
  found.nodes[2].kubelet->static_memory = found.nodes[2].kubelet->takes_swap = true;
  EXPECT_EQ(of(ClusterTopic::kGroupDriver).at(0).groups.size(), 3u);
  EXPECT_EQ(of(ClusterTopic::kCpuManager).at(0).severity, Severity::kWarn);
  EXPECT_EQ(of(ClusterTopic::kMemoryManager).at(0).groups.at(1), (NodeGroup{"Static", 1, {"n2"}}));
  EXPECT_EQ(names(the(ClusterFact::kSwapTaken)), Names{"n2"});
  EXPECT_EQ(the(ClusterFact::kKubeletsTell).of_nodes, 3);
}

TEST_F(ClusterFindings, ReportsRefusalOnce) {
  found.kubelets_refused = "403";
  EXPECT_EQ(of(ClusterTopic::kKubelets).size(), 1u);
  EXPECT_EQ(the(ClusterFact::kKubeletsRefuse).said, "403");
  found.nodes[0].kubelet_silent = "no route";
  EXPECT_EQ(the(ClusterFact::kKubeletsSilent).nodes, 1);
  found.kubelets_wanted = false;
  EXPECT_EQ(the(ClusterFact::kKubeletsNotAsked).severity, Severity::kOk);
}

TEST_F(ClusterFindings, WithoutNodesReportsOnlyThat) {
  found.nodes.clear();
  EXPECT_EQ(the(ClusterFact::kNoNodes).severity, Severity::kWarn);
  EXPECT_EQ(worst(cluster_findings(found)), Severity::kWarn);
}

TEST_F(ClusterFindings, AsksSomeKubeletsOfEachGroup) {
  found.nodes.clear();
  for (int i = 0; i < 100; ++i) found.nodes.push_back(sound(base::cat("n", 100 + i)));
  for (std::size_t i = 90; i < 100; ++i) found.nodes[i].kernel = "6.6.1";
  found.nodes[95].ready = false;
  found.nodes[0].linux = false;
  const auto asked = kubelets_to_ask(found.nodes, 3);
  EXPECT_EQ(asked, (std::vector<std::size_t>{1, 30, 60, 90, 93, 97}));
  EXPECT_EQ(kubelets_to_ask(found.nodes, std::nullopt).size(), 98u);
  EXPECT_TRUE(kubelets_to_ask(found.nodes, 0).empty());
  EXPECT_TRUE(kubelets_to_ask({}, 3).empty());
}

}  // namespace
}  // namespace tidemark::policy::explain
