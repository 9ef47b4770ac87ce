#include "policy/explain/doctor/node_findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <set>

#include "base/json.h"
#include "policy/explain/doctor_text.h"

namespace tidemark::policy::explain {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

KnobFound works(protect::Knob knob) {
  return {knob, true, true, true, {}};
}
KnobFound missing(protect::Knob knob) {
  return {knob, false, false, false, "not there"};
}
KnobFound refused(protect::Knob knob) {
  return {knob, true, false, false, "EINVAL"};
}
KnobFound hollow(protect::Knob knob) {
  return {knob, true, true, false, "nothing came of it"};
}

// A node with cgroup v2 and a mainline kernel, without problems.
NodeFound sound() {
  NodeFound out;
  out.layout = GroupLayout::kV2;
  out.driver = evict::GroupDriver::kSystemd;
  for (std::size_t at = 0; at < protect::kKnobs; ++at) out.knobs.push_back(works(static_cast<protect::Knob>(at)));
  for (const protect::Knob knob : {protect::Knob::kCpuBvt, protect::Knob::kCpuQosLevel})
    out.knobs[static_cast<std::size_t>(knob)] = missing(knob);
  out.kubelet.emplace();
  out.kubelet->driver = evict::GroupDriver::kSystemd;
  out.kubelet->hard.memory_available = evict::EvictionThreshold{100 << 20, 0};
  out.kubelet->hard.nodefs_available = evict::EvictionThreshold{0, 10'000};
  out.ours.memory = {100 * kGibibyte, 70};
  out.ours.disk = {1000 * kGibibyte, 80};
  out.node_pressure = out.group_pressure = true;
  return out;
}

void set(NodeFound& found, const KnobFound& knob) {
  *std::ranges::find(found.knobs, knob.knob, &KnobFound::knob) = knob;
}

std::vector<NodeFinding> of(const std::vector<NodeFinding>& findings, NodeTopic topic) {
  std::vector<NodeFinding> out;
  std::ranges::copy_if(findings, std::back_inserter(out), [&](const NodeFinding& one) { return one.topic == topic; });
  return out;
}

NodeFinding only(const NodeFound& found, NodeTopic topic) {
  const auto all = of(node_findings(found), topic);
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? NodeFinding{} : all.front();
}

void expect(const NodeFound& found, NodeTopic topic, NodeFact fact, Severity severity) {
  const NodeFinding finding = only(found, topic);
  EXPECT_EQ(finding.fact, fact);
  EXPECT_EQ(finding.severity, severity);
}

std::vector<protect::Knob> knobs_of(const NodeFinding& finding) {
  std::vector<protect::Knob> out;
  out.reserve(finding.knobs.size());
  for (const KnobFound& one : finding.knobs) out.push_back(one.knob);
  return out;
}

TEST(NodeFindings, SoundNodeHasOnlyGoodFindings) {
  const auto findings = node_findings(sound());
  EXPECT_EQ(worst(findings), Severity::kOk);
  std::vector<NodeTopic> topics;
  topics.reserve(findings.size());
  for (const NodeFinding& one : findings) topics.push_back(one.topic);
  std::vector<NodeTopic> all;
  all.reserve(kNodeTopics);
  for (std::size_t at = 0; at < kNodeTopics; ++at) all.push_back(static_cast<NodeTopic>(at));
  EXPECT_EQ(topics, all) << "one for each, in order";
}

TEST(NodeFindings, WarnsOfEndedLineOnceTheManagerIsOverdue) {
  NodeFound found = sound();
  expect(found, NodeTopic::kRaisedLines, NodeFact::kLinesAsSaid, Severity::kOk);
  found.lines_ended = "memoryEvictThresholdPercent 95 % -> 70 %, since then";
  expect(found, NodeTopic::kRaisedLines, NodeFact::kLinesEnded, Severity::kOk);
  found.lines_forgotten = true;
  expect(found, NodeTopic::kRaisedLines, NodeFact::kLinesEnded, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kRaisedLines).said, found.lines_ended);
}

TEST(NodeFindings, ReportsWhereCgroupsAre) {
  NodeFound found = sound();
  found.layout = GroupLayout::kHybrid;
  expect(found, NodeTopic::kGroups, NodeFact::kGroupsHybrid, Severity::kOk);
  found.layout = GroupLayout::kV1;
  expect(found, NodeTopic::kGroups, NodeFact::kGroupsV1, Severity::kWarn);
  found.layout = GroupLayout::kNone;
  expect(found, NodeTopic::kGroups, NodeFact::kNoGroups, Severity::kBad);
}

TEST(NodeFindings, ComparesTheDriverWithTheKubelet) {
  NodeFound found = sound();
  found.kubelet->driver = evict::GroupDriver::kCgroupfs;
  expect(found, NodeTopic::kGroupDriver, NodeFact::kDriverDiffers, Severity::kBad);
  EXPECT_EQ(only(found, NodeTopic::kGroupDriver).driver, evict::GroupDriver::kSystemd);
  found.kubelet->driver.reset();
  expect(found, NodeTopic::kGroupDriver, NodeFact::kDriverIs, Severity::kOk);
  found.driver.reset();
  expect(found, NodeTopic::kGroupDriver, NodeFact::kDriverNotSeen, Severity::kOk);
}

TEST(NodeFindings, ReportsTheCpuPriorityKnobAndWhyNotABetterOne) {
  NodeFound found = sound();
  expect(found, NodeTopic::kPriority, NodeFact::kPriorityByKnob, Severity::kOk);
  EXPECT_EQ(knobs_of(only(found, NodeTopic::kPriority)),
            (std::vector{protect::Knob::kCpuIdle, protect::Knob::kCpuBvt, protect::Knob::kCpuQosLevel}));
  EXPECT_EQ(only(found, NodeTopic::kPriority).knobs[1], missing(protect::Knob::kCpuBvt));

  set(found, works(protect::Knob::kCpuQosLevel));
  EXPECT_EQ(knobs_of(only(found, NodeTopic::kPriority)),
            (std::vector{protect::Knob::kCpuQosLevel, protect::Knob::kCpuBvt}));
  set(found, works(protect::Knob::kCpuBvt));
  EXPECT_EQ(knobs_of(only(found, NodeTopic::kPriority)), (std::vector{protect::Knob::kCpuBvt}));
}

TEST(NodeFindings, WarnsOfABetterKnobWithoutEffect) {
  NodeFound found = sound();
  set(found, hollow(protect::Knob::kCpuBvt));
  expect(found, NodeTopic::kPriority, NodeFact::kPriorityByKnob, Severity::kWarn);
}

TEST(NodeFindings, ReportsOnlyTheWeightOrNoKnob) {
  NodeFound found = sound();
  set(found, missing(protect::Knob::kCpuIdle));
  expect(found, NodeTopic::kPriority, NodeFact::kPriorityByWeight, Severity::kWarn);
  EXPECT_EQ(knobs_of(only(found, NodeTopic::kPriority)),
            (std::vector{protect::Knob::kCpuShares, protect::Knob::kCpuBvt, protect::Knob::kCpuQosLevel,
                         protect::Knob::kCpuIdle}));
  set(found, refused(protect::Knob::kCpuShares));
  expect(found, NodeTopic::kPriority, NodeFact::kNoPriority, Severity::kBad);
}

TEST(NodeFindings, ReportsEachBrokenKnob) {
  NodeFound found = sound();
  set(found, missing(protect::Knob::kMemoryMin));
  set(found, refused(protect::Knob::kMemoryLimit));
  set(found, hollow(protect::Knob::kCpuQuota));
  const auto knobs = of(node_findings(found), NodeTopic::kKnobs);
  ASSERT_EQ(knobs.size(), 4u);
  EXPECT_EQ(knobs[0].fact, NodeFact::kKnobsWork);
  EXPECT_EQ(knobs_of(knobs[0]),
            (std::vector{protect::Knob::kCpuShares, protect::Knob::kCpusetCpus, protect::Knob::kMemoryLow}));
  EXPECT_EQ(knobs[1].fact, NodeFact::kKnobWithoutEffect);
  EXPECT_EQ(knobs[1].severity, Severity::kWarn) << "cpusets can still suppress";
  EXPECT_EQ(knobs[2].fact, NodeFact::kKnobRefused);
  EXPECT_EQ(knobs[2].severity, Severity::kBad) << "nothing else limits memory";
  EXPECT_EQ(knobs[3].fact, NodeFact::kKnobMissing);
  EXPECT_EQ(knobs[3].severity, Severity::kWarn);
}

TEST(NodeFindings, WithoutQuotaAndCpusetNothingSuppresses) {
  NodeFound found = sound();
  set(found, missing(protect::Knob::kCpuQuota));
  set(found, missing(protect::Knob::kCpusetCpus));
  for (const NodeFinding& one : of(node_findings(found), NodeTopic::kKnobs)) {
    if (one.fact == NodeFact::kKnobMissing) EXPECT_EQ(one.severity, Severity::kBad);
  }
}

TEST(NodeFindings, InconclusiveTrialIsNoFault) {
  NodeFound found = sound();
  KnobFound quota = works(protect::Knob::kCpuQuota);
  quota.why = "the machine is busy";
  set(found, quota);
  const auto knobs = of(node_findings(found), NodeTopic::kKnobs);
  ASSERT_EQ(knobs.size(), 2u);
  EXPECT_EQ(knobs[1].fact, NodeFact::kKnobNotDecided);
  EXPECT_EQ(knobs[1].severity, Severity::kOk);
}

TEST(NodeFindings, ReducesResultToAVerdict) {
  EXPECT_EQ(verdict_of(works(protect::Knob::kCpuShares)), KnobVerdict::kEffective);
  for (const protect::Knob knob : {protect::Knob::kCpuQosLevel, protect::Knob::kMemoryMin, protect::Knob::kMemoryLow})
    EXPECT_EQ(verdict_of(works(knob)), KnobVerdict::kAccepted) << "no trial shows more";
  KnobFound busy = works(protect::Knob::kMemoryLow);
  busy.why = "the machine is busy";
  EXPECT_EQ(verdict_of(busy), KnobVerdict::kNotDecided);
  EXPECT_EQ(verdict_of(hollow(protect::Knob::kMemoryLow)), KnobVerdict::kNoEffect);
  EXPECT_EQ(verdict_of(refused(protect::Knob::kCpuShares)), KnobVerdict::kRefused);
  EXPECT_EQ(verdict_of(missing(protect::Knob::kCpuShares)), KnobVerdict::kMissing);
}

TEST(NodeFindings, ReportsThatNothingCouldBeTried) {
  NodeFound found = sound();
  found.knobs.clear();
  found.not_tried = "read-only";
  for (const NodeTopic topic : {NodeTopic::kPriority, NodeTopic::kKnobs}) {
    expect(found, topic, NodeFact::kNothingTried, Severity::kBad);
    EXPECT_EQ(only(found, topic).said, "read-only");
  }
}

// 100 GiB, ours at 70 %: 70 GiB. The kubelet's at 100 GiB less the threshold.
TEST(NodeFindings, OurMemoryLineMustLieBelowTheKubelets) {
  NodeFound found = sound();
  const auto with = [&](evict::EvictionThreshold threshold) {
    found.kubelet->hard.memory_available = threshold;
    return only(found, NodeTopic::kMemoryLine);
  };
  EXPECT_EQ(with({100 << 20, 0}).fact, NodeFact::kLineUnder);
  EXPECT_EQ(with({100 << 20, 0}).line, (LinePair{70 * kGibibyte, 100 * kGibibyte - (100 << 20), 100 * kGibibyte}));
  EXPECT_EQ(with({0, 25'000}).fact, NodeFact::kLineUnder) << "75 GiB: just the room that there is to be";
  EXPECT_EQ(with({0, 25'001}).fact, NodeFact::kLineNear);
  EXPECT_EQ(with({0, 25'001}).severity, Severity::kWarn);
  EXPECT_EQ(with({0, 29'999}).fact, NodeFact::kLineNear);
  EXPECT_EQ(with({0, 30'000}).fact, NodeFact::kLineOver) << "both at 70 GiB: the kubelet is as fast";
  EXPECT_EQ(with({200 * kGibibyte, 0}).fact, NodeFact::kLineOver) << "more than the capacity";
  EXPECT_EQ(with({200 * kGibibyte, 0}).severity, Severity::kBad);
  EXPECT_EQ(with({200 * kGibibyte, 0}).line->kubelet, 0);
}

// 80 GiB are in use when pods have used up their common limit: the same threshold applies to that.
TEST(NodeFindings, ReservedMemoryMakesTheKubeletEvictEarlier) {
  NodeFound found = sound();
  found.kubelet->hard.memory_available = evict::EvictionThreshold{10 * kGibibyte, 0};
  found.ours.memory.full_for_pods = 80 * kGibibyte;
  expect(found, NodeTopic::kMemoryLine, NodeFact::kLineOver, Severity::kBad);
  EXPECT_EQ(only(found, NodeTopic::kMemoryLine).line,
            (LinePair{70 * kGibibyte, 70 * kGibibyte, 100 * kGibibyte, false, false, true}));
  found.ours.memory.full_for_pods = 82 * kGibibyte;
  expect(found, NodeTopic::kMemoryLine, NodeFact::kLineNear, Severity::kWarn);
  found.ours.memory.full_for_pods = 120 * kGibibyte;
  expect(found, NodeTopic::kMemoryLine, NodeFact::kLineUnder, Severity::kOk);
  EXPECT_EQ(only(found, NodeTopic::kMemoryLine).line, (LinePair{70 * kGibibyte, 90 * kGibibyte, 100 * kGibibyte}));
  found.kubelet->hard.memory_available.reset();
  found.kubelet->soft.memory_available = evict::EvictionThreshold{10 * kGibibyte, 0, true};
  found.ours.memory.full_for_pods = 20 * kGibibyte;
  EXPECT_EQ(only(found, NodeTopic::kMemoryLine).line, (LinePair{70 * kGibibyte, 90 * kGibibyte, 100 * kGibibyte, true}))
      << "a soft threshold applies only to the node";
}

TEST(NodeFindings, ReportsWhetherCgroupsCanBeKilled) {
  NodeFound found = sound();
  expect(found, NodeTopic::kKills, NodeFact::kGroupsKilled, Severity::kOk);
  found.no_kills = "this kernel cannot hold a process";
  expect(found, NodeTopic::kKills, NodeFact::kGroupsNotKilled, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kKills).said, found.no_kills);
}

// Both evict: a soft one after its grace period.
TEST(NodeFindings, TheFirstThresholdReachedCounts) {
  NodeFound found = sound();
  found.kubelet->hard.memory_available = evict::EvictionThreshold{100 << 20, 0};
  found.kubelet->soft.memory_available = evict::EvictionThreshold{0, 35'000, true};
  expect(found, NodeTopic::kMemoryLine, NodeFact::kLineOver, Severity::kBad);
  EXPECT_EQ(only(found, NodeTopic::kMemoryLine).line,
            (LinePair{70 * kGibibyte, 65 * kGibibyte, 100 * kGibibyte, true}));
  found.kubelet->soft.memory_available = evict::EvictionThreshold{10 << 20, 0, true};
  EXPECT_FALSE(only(found, NodeTopic::kMemoryLine).line->soft);
  found.kubelet->hard.memory_available.reset();
  EXPECT_TRUE(only(found, NodeTopic::kMemoryLine).line->soft);
}

TEST(NodeFindings, ReportsAMissingLine) {
  NodeFound found = sound();
  found.ours.memory.percent.reset();
  found.ours.disk.percent.reset();
  expect(found, NodeTopic::kMemoryLine, NodeFact::kNoLineOfOurs, Severity::kWarn);
  expect(found, NodeTopic::kDiskLine, NodeFact::kNoLineOfOurs, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kDiskLine).line, (LinePair{0, 900 * kGibibyte, 1000 * kGibibyte}));
  found.kubelet->hard.memory_available.reset();
  expect(found, NodeTopic::kMemoryLine, NodeFact::kNoLines, Severity::kOk);
  found.ours.memory.percent = 70;
  expect(found, NodeTopic::kMemoryLine, NodeFact::kNoLineOfKubelet, Severity::kOk);
}

// A kubelet evicts for its nodefs at 10 % free and for its imagefs at 15, also if both are one disk: a line of ours at
// 12 % lies above one and below the other.
TEST(NodeFindings, ReportsEachThresholdOfADisk) {
  NodeFound found = sound();
  found.kubelet->hard.imagefs_available = evict::EvictionThreshold{0, 15'000};
  found.kubelet->hard.nodefs_inodes = evict::EvictionThreshold{0, 5'000};
  found.ours.disk = found.ours.runtime_disk = {1000 * kGibibyte, 100 - 12};
  found.ours.disk_inodes = {1'000'000, 100 - 10};
  expect(found, NodeTopic::kDiskLine, NodeFact::kLineNear, Severity::kWarn);
  expect(found, NodeTopic::kRuntimeDiskLine, NodeFact::kLineOver, Severity::kBad);
  expect(found, NodeTopic::kDiskInodesLine, NodeFact::kLineUnder, Severity::kOk);
  EXPECT_EQ(only(found, NodeTopic::kDiskInodesLine).line, (LinePair{900'000, 950'000, 1'000'000}));
  expect(found, NodeTopic::kRuntimeInodesLine, NodeFact::kNoLines, Severity::kOk);
  found.ours.disk.percent = found.ours.runtime_disk.percent = 100 - 20;
  expect(found, NodeTopic::kDiskLine, NodeFact::kLineUnder, Severity::kOk);
  expect(found, NodeTopic::kRuntimeDiskLine, NodeFact::kLineUnder, Severity::kOk);
}

TEST(NodeFindings, ComparesNothingIfTheCapacityIsUnknown) {
  NodeFound found = sound();
  found.ours.memory.capacity = 0;
  expect(found, NodeTopic::kMemoryLine, NodeFact::kLineUnknown, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kMemoryLine).line, std::nullopt);
}

// As for inodes and image disks of a cluster, whose size the API server does not know.
TEST(NodeFindings, ComparesSharesIfTheCapacityIsUnknown) {
  NodeFound found = sound();
  found.ours.runtime_disk = {0, 100 - 12};
  found.kubelet->hard.imagefs_available = evict::EvictionThreshold{0, 7'500};
  expect(found, NodeTopic::kRuntimeDiskLine, NodeFact::kLineNear, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kRuntimeDiskLine).line, (LinePair{88'000, 92'500, kAllInShares, false, true}));
  found.kubelet->soft.imagefs_available = evict::EvictionThreshold{0, 15'000, true};
  expect(found, NodeTopic::kRuntimeDiskLine, NodeFact::kLineOver, Severity::kBad);
  EXPECT_TRUE(only(found, NodeTopic::kRuntimeDiskLine).line->soft);
  found.kubelet->soft.imagefs_available = evict::EvictionThreshold{10 * kGibibyte, 0, true};
  expect(found, NodeTopic::kRuntimeDiskLine, NodeFact::kLineUnknown, Severity::kWarn);
  found.ours.runtime_disk.percent.reset();
  expect(found, NodeTopic::kRuntimeDiskLine, NodeFact::kLineUnknown, Severity::kWarn);
}

TEST(NodeFindings, SilentKubeletIsOneFinding) {
  NodeFound found = sound();
  found.kubelet.reset();
  found.kubelet_silent = "403";
  expect(found, NodeTopic::kKubelet, NodeFact::kKubeletSilent, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kKubelet).said, "403");
  for (const NodeTopic topic : {NodeTopic::kMemoryLine, NodeTopic::kDiskLine, NodeTopic::kCpuManager})
    EXPECT_TRUE(of(node_findings(found), topic).empty());
}

// Contract 7.3: with kubelet policy static, only the cpusets of containers are written.
TEST(NodeFindings, ReportsStaticCpuManagerWithCpusets) {
  NodeFound found = sound();
  found.kubelet->static_cpus = true;
  expect(found, NodeTopic::kCpuManager, NodeFact::kCpusStatic, Severity::kOk);
  found.ours.suppresses_by_cpuset = true;
  expect(found, NodeTopic::kCpuManager, NodeFact::kCpusStatic, Severity::kWarn);
  found.kubelet->static_cpus = false;
  expect(found, NodeTopic::kCpuManager, NodeFact::kCpusShared, Severity::kOk);
}

TEST(NodeFindings, ReportsTheOtherTopics) {
  NodeFound found = sound();
  found.swap_bytes = 5;
  expect(found, NodeTopic::kSwap, NodeFact::kSwapOn, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kSwap).bytes, 5);
  found.group_pressure = false;
  expect(found, NodeTopic::kPressure, NodeFact::kPressureOfNodeOnly, Severity::kWarn);
  found.node_pressure = false;
  expect(found, NodeTopic::kPressure, NodeFact::kNoPressure, Severity::kWarn);
  found.koordlet = found.latched = found.holds = true;
  expect(found, NodeTopic::kPeer, NodeFact::kPeerPresent, Severity::kWarn);
  found.koordlet.reset();
  expect(found, NodeTopic::kPeer, NodeFact::kPeerUnknown, Severity::kOk);
  expect(found, NodeTopic::kLatch, NodeFact::kLatched, Severity::kWarn);
  expect(found, NodeTopic::kHold, NodeFact::kHolds, Severity::kWarn);
  EXPECT_EQ(worst(node_findings(found)), Severity::kWarn);
}

TEST(NodeFindings, ReportsTheAgentsWork) {
  NodeFound found = sound();
  expect(found, NodeTopic::kInForce, NodeFact::kNoAgentSays, Severity::kOk);
  expect(found, NodeTopic::kFiles, NodeFact::kNoAgentSays, Severity::kOk);
  found.agent.emplace();
  found.agent->strategies = {{model::Strategy::kBatchLimits, "enforce", "TM-AGENT-001", 3, ""}};
  expect(found, NodeTopic::kInForce, NodeFact::kInForce, Severity::kOk);
  EXPECT_EQ(only(found, NodeTopic::kInForce).agent, found.agent);
  expect(found, NodeTopic::kFiles, NodeFact::kFilesAsWanted, Severity::kOk);
  found.agent->waits = true;
  expect(found, NodeTopic::kInForce, NodeFact::kInForceWaits, Severity::kWarn);
  found.agent->refused = found.agent->left = found.agent->unmet = 1;
  found.agent->trouble = "no room";
  const auto files = of(node_findings(found), NodeTopic::kFiles);
  ASSERT_EQ(files.size(), 4u) << "each has its own remedy";
  EXPECT_EQ(files[0].fact, NodeFact::kNothingWritable);
  EXPECT_EQ(files[0].severity, Severity::kBad);
  EXPECT_EQ(files[1].fact, NodeFact::kFilesRefused);
  EXPECT_EQ(files[2].fact, NodeFact::kFilesLeft);
  EXPECT_EQ(files[3].fact, NodeFact::kIntentsUnmet);
  EXPECT_EQ(files[3].severity, Severity::kWarn);
}

TEST(NodeFindings, ReportsOnlinePodsWithoutRequests) {
  NodeFound found = sound();
  expect(found, NodeTopic::kRequests, NodeFact::kNoAgentSays, Severity::kOk);
  found.agent.emplace();
  expect(found, NodeTopic::kRequests, NodeFact::kOnlineHasRequests, Severity::kOk);
  found.agent->online_in_besteffort = "kube-system/kube-proxy-x";
  expect(found, NodeTopic::kRequests, NodeFact::kOnlineWithoutRequests, Severity::kWarn);
  EXPECT_EQ(only(found, NodeTopic::kRequests).agent, found.agent);
}

TEST(NodeFindings, ReportsMemoryProtection) {
  NodeFound found = sound();
  expect(found, NodeTopic::kMemoryProtection, NodeFact::kProtectionNotAsked, Severity::kOk);
  found.ours.protects_memory = true;
  found.protection = {true, "kubepods/besteffort", 8 * kGibibyte};
  expect(found, NodeTopic::kMemoryProtection, NodeFact::kProtectionHolds, Severity::kOk);
  EXPECT_EQ(only(found, NodeTopic::kMemoryProtection).protection, found.protection);
  found.protection.limit_bytes.reset();
  expect(found, NodeTopic::kMemoryProtection, NodeFact::kProtectionNoLimit, Severity::kWarn);
  found.protection.handed_down = false;
  expect(found, NodeTopic::kMemoryProtection, NodeFact::kProtectionNotHandedDown, Severity::kWarn);
  set(found, missing(protect::Knob::kMemoryLow));
  expect(found, NodeTopic::kMemoryProtection, NodeFact::kProtectionNoKernel, Severity::kWarn);
  EXPECT_EQ(knobs_of(only(found, NodeTopic::kMemoryProtection)), std::vector{protect::Knob::kMemoryLow});
}

TEST(NodeFindings, ReportsOomOrder) {
  NodeFound found = sound();
  expect(found, NodeTopic::kOomOrder, NodeFact::kNoAgentSays, Severity::kOk);
  found.agent.emplace();
  // an older agent does not know this strategy
  expect(found, NodeTopic::kOomOrder, NodeFact::kNoAgentSays, Severity::kOk);
  found.agent->strategies = {{model::Strategy::kOomOrder, "restore", "TM-AGENT-002", 0, ""}};
  expect(found, NodeTopic::kOomOrder, NodeFact::kOomOnlyShown, Severity::kOk);
  found.agent->strategies[0].permit = "enforce";
  expect(found, NodeTopic::kOomOrder, NodeFact::kOomOrdered, Severity::kOk);
  found.agent->oom = {2, 0, false, ""};
  expect(found, NodeTopic::kOomOrder, NodeFact::kOomNotLowered, Severity::kWarn);
  expect(found, NodeTopic::kFiles, NodeFact::kFilesAsWanted, Severity::kOk);
  found.agent->oom = {2, 3, false, "3 processes are of another pid namespace"};
  const auto both = of(node_findings(found), NodeTopic::kOomOrder);
  ASSERT_EQ(both.size(), 2u) << "each has its own remedy";
  EXPECT_EQ(both[0].fact, NodeFact::kOomNotLowered);
  EXPECT_EQ(both[1].fact, NodeFact::kOomForeign);
  found.agent->oom = {0, 0, true, "no room"};
  expect(found, NodeTopic::kOomOrder, NodeFact::kOomTrouble, Severity::kWarn);
}

// For information; nothing depends on them.
TEST(NodeFindings, MissingMeasurementsAreNoFault) {
  NodeFound found = sound();
  found.measures = {{"cpi", false, false, "no PMU"}, {"run queue", true, false, "/proc/self/schedstat"}};
  expect(found, NodeTopic::kMeasures, NodeFact::kMeasures, Severity::kOk);
  EXPECT_EQ(only(found, NodeTopic::kMeasures).measures, found.measures);
}

TEST(NodeFindings, AnswersEachTopicWithoutFacts) {
  const auto findings = node_findings({});
  EXPECT_EQ(worst(findings), Severity::kBad);
  EXPECT_EQ(worst(std::vector<NodeFinding>()), Severity::kOk);
}

class AnyNode : public ::testing::TestWithParam<int> {
 protected:
  std::mt19937_64 random{static_cast<std::uint64_t>(GetParam())};

  std::int64_t amount() {
    constexpr std::int64_t kAmounts[] = {
        std::numeric_limits<std::int64_t>::min(), -1, 0, 1, 70, 100, 101, 40 * kGibibyte, 100 * kGibibyte,
        std::numeric_limits<std::int64_t>::max()};
    return kAmounts[random() % std::size(kAmounts)];
  }
  bool coin() { return random() % 2 == 0; }
  std::optional<evict::EvictionThreshold> threshold() {
    if (coin()) return std::nullopt;
    return evict::EvictionThreshold{amount(), coin() ? 0 : amount()};
  }
  LineFound line() { return {amount(), coin() ? std::nullopt : std::optional(amount())}; }
  NodeFound draw() {
    NodeFound out;
    out.layout = static_cast<GroupLayout>(random() % 4);
    if (coin()) out.driver = static_cast<evict::GroupDriver>(random() % 2);
    for (std::size_t at = 0; at < protect::kKnobs; ++at) {
      if (coin()) out.knobs.push_back({static_cast<protect::Knob>(at), coin(), coin(), coin(), coin() ? "why" : ""});
    }
    if (random() % 4 == 0) out.not_tried = "read-only";
    if (random() % 4 != 0) {
      out.kubelet = evict::KubeletFound{coin() ? std::nullopt : std::optional(evict::GroupDriver::kSystemd),
                                        coin(),
                                        {threshold(), threshold(), threshold(), threshold(), threshold()},
                                        {threshold(), threshold(), threshold(), threshold(), threshold()}};
    }
    out.ours.memory = line();
    out.ours.disk = line();
    out.ours.disk_inodes = line();
    out.ours.runtime_disk = line();
    out.ours.runtime_inodes = line();
    out.ours.suppresses_by_cpuset = coin();
    out.swap_bytes = amount();
    out.node_pressure = coin();
    out.group_pressure = coin();
    out.koordlet = coin();
    out.latched = coin();
    out.holds = coin();
    if (coin()) out.lines_ended = "a line";
    out.lines_forgotten = coin();
    if (coin()) {
      out.agent = AgentFound{{},
                             coin(),
                             coin() ? "no room" : "",
                             coin() ? "ada" : "",
                             "",
                             amount(),
                             amount(),
                             amount(),
                             {amount(), amount(), coin(), coin() ? "no room" : ""}};
      if (coin()) out.agent->strategies.push_back({model::Strategy::kEviction, "restore", "", amount(), ""});
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(NodeFindings, AnyNode, ::testing::Range(0, 500));

TEST_P(AnyNode, EachTopicIsAnsweredInItsOrder) {
  const NodeFound found = draw();
  const auto findings = node_findings(found);
  EXPECT_TRUE(std::ranges::is_sorted(findings, {}, &NodeFinding::topic));
  std::set<NodeTopic> topics;
  for (const NodeFinding& one : findings) {
    topics.insert(one.topic);
    EXPECT_GE(one.bytes, 0);
    if (!one.line) continue;
    for (const std::int64_t bytes : {one.line->ours, one.line->kubelet}) {
      EXPECT_GE(bytes, 0);
      EXPECT_LE(bytes, one.line->capacity);
    }
    EXPECT_EQ(one.fact == NodeFact::kLineOver, one.severity == Severity::kBad);
  }
  EXPECT_EQ(topics.size(), kNodeTopics - (found.kubelet ? 0 : 6));
}

TEST_P(AnyNode, EachProblemHasARemedy) {
  for (const NodeFinding& one : node_findings(draw())) {
    const Json json = render_json({&one, 1});
    const Json& shown = json.at("findings")->as_array()[0];
    EXPECT_EQ(*shown.at("fix") == Json(nullptr), one.severity == Severity::kOk) << shown.text_at("found");
    EXPECT_NE(shown.text_at("found"), "");
  }
}

// Lowering a line of ours never worsens the result, nor does a kubelet threshold that frees less.
TEST_P(AnyNode, LowerLineIsNeverWorse) {
  NodeFound found = draw();
  found.kubelet = evict::KubeletFound{};
  found.kubelet->hard.memory_available = evict::EvictionThreshold{amount(), coin() ? 0 : amount()};
  const std::int64_t percent = static_cast<std::int64_t>(random() % 100);
  found.ours.memory.percent = percent;
  const Severity lower = only(found, NodeTopic::kMemoryLine).severity;
  found.ours.memory.percent = percent + 1;
  EXPECT_GE(only(found, NodeTopic::kMemoryLine).severity, lower);
}

}  // namespace
}  // namespace tidemark::policy::explain
