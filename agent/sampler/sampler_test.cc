#include "agent/sampler/sampler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/testing/kernel_node.h"

namespace tidemark::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::KernelNode;
using testing::Layout;

constexpr std::int64_t kCore = 1'000'000;  // micro-cores
constexpr std::int64_t kNs = 1'000'000'000;
constexpr std::int64_t kMiB = 1 << 20;
constexpr TaskHandle kPod{0, 1}, kOther{1, 1};

AccountSpec account(TaskHandle handle, std::string path, std::vector<ContainerSpec> containers = {}) {
  AccountSpec spec;
  spec.handle = handle;
  spec.path = std::move(path);
  spec.containers = std::move(containers);
  return spec;
}

// On each form of a machine.
struct SamplerTest : ::testing::TestWithParam<Layout> {
  KernelNode node{GetParam()};
  std::optional<Sampler> sampler;

  // Files are opened for each reading: in a folder a file that is held stays readable when it is removed, which a
  // kernel's does not.
  void start(const std::vector<AccountSpec>& accounts, bool keep_files = false) {
    SamplerOptions options;
    options.keep_files = keep_files;
    sampler.emplace(node.places(), options, node.clock);
    sampler->set_accounts(accounts);
  }
  const Measured& pass_after(base::Duration by = seconds(1)) {
    node.clock.advance(by);
    return sampler->pass();
  }
  const AccountMeasured& of(TaskHandle handle) const {
    const AccountMeasured* found = sampler->measured().find(handle);
    EXPECT_TRUE(found);
    return *found;
  }
  std::optional<std::int64_t> cpu_of(TaskHandle handle) const {
    return of(handle).use.cpu_micro.last(node.clock.monotonic());
  }
  std::optional<SystemUse> system() const { return sampler->measured().system_cpu.last(node.clock.monotonic()); }
  const PassReport& report() const { return sampler->measured().pass; }
};
INSTANTIATE_TEST_SUITE_P(On, SamplerTest, ::testing::Values(Layout::kV1, Layout::kHybrid, Layout::kV2),
                         [](const auto& on) { return std::string(linux::to_string(on.param)); });

TEST_P(SamplerTest, ARateTakesTwoReadings) {
  node.group("kubepods/pod1");
  start({account(kPod, "kubepods/pod1")}, true);
  sampler->pass();
  EXPECT_EQ(of(kPod).use.cpu_micro.validity, Validity::kNotYet);
  EXPECT_EQ(sampler->measured().node.cpu_micro.validity, Validity::kNotYet);
  EXPECT_FALSE(system());

  node.cpu("kubepods/pod1", kNs / 2, 10, 3);
  node.cpu_ticks({80, 50});
  pass_after();
  EXPECT_EQ(cpu_of(kPod), kCore / 2);
  EXPECT_EQ(sampler->measured().node.cpu_micro.value, 1'300'000);
  EXPECT_EQ(system()->cpu_micro, 800'000);
  EXPECT_EQ(system()->unmeasured, 0);
  for (int at = 0; at < 9; ++at) pass_after();  // throttling is read every ten seconds
  const Throttling throttling = of(kPod).use.throttling.value;
  EXPECT_EQ(throttling.periods, 10);
  EXPECT_EQ(throttling.throttled_periods, 3);
}

// Contract 7.12: memory = inactive_anon + active_anon + unevictable, with the page cache also active and inactive
// files.
TEST_P(SamplerTest, MemoryAsTheContractCountsIt) {
  node.group("pod1");
  node.group_memory("pod1", {10 * kMiB, 20 * kMiB, 5 * kMiB, 7 * kMiB});  // and one byte unevictable
  node.usage("pod1", 45 * kMiB);
  node.memory(1000 * kMiB, 900 * kMiB, 600 * kMiB);
  start({account(kPod, "pod1")});
  sampler->pass();
  const auto now = node.clock.monotonic();
  EXPECT_EQ(of(kPod).use.memory.last(now)->without_page_cache, 30 * kMiB + 1);
  EXPECT_EQ(of(kPod).use.memory.last(now)->with_page_cache, 42 * kMiB + 1);
  EXPECT_EQ(of(kPod).working_set_bytes.last(now), 40 * kMiB) << "as the kubelet: usage − inactive_file";
  const Measured& measured = sampler->measured();
  EXPECT_EQ(measured.node.memory.last(now)->without_page_cache, 100 * kMiB) << "total − available";
  EXPECT_EQ(measured.node.memory.last(now)->with_page_cache, 400 * kMiB) << "total − free";
  EXPECT_EQ(measured.system_memory.last(now)->bytes.without_page_cache, 70 * kMiB - 1);
  EXPECT_EQ(measured.system_memory.last(now)->bytes.with_page_cache, 358 * kMiB - 1);
}

TEST_P(SamplerTest, ACounterThatGoesBackGivesNoSample) {
  node.group("pod1");
  node.cpu("pod1", 100 * kNs);
  start({account(kPod, "pod1")}, true);
  sampler->pass();
  node.cpu("pod1", 101 * kNs);
  node.cpu_ticks({100, 100});
  pass_after();
  ASSERT_EQ(cpu_of(kPod), kCore);
  ASSERT_EQ(system()->cpu_micro, kCore);

  node.cpu("pod1", 3 * kNs);
  node.cpu_ticks({200, 200});
  pass_after();
  EXPECT_EQ(cpu_of(kPod), kCore) << "the last sample, one second old";
  EXPECT_LT(of(kPod).use.cpu_micro.at, report().at);
  EXPECT_LT(sampler->measured().system_cpu.at, report().at) << "nothing is subtracted from what is not whole";

  node.cpu("pod1", 3 * kNs + kNs / 4);
  node.cpu_ticks({300, 300});
  pass_after();
  EXPECT_EQ(cpu_of(kPod), kCore / 4);
  EXPECT_EQ(system()->cpu_micro, 2 * kCore - kCore / 4);
}

TEST_P(SamplerTest, RateAboveAllCpusIsRejected) {
  node.group("pod1");
  start({account(kPod, "pod1")});
  sampler->pass();
  node.cpu("pod1", 1000 * kNs);
  pass_after();
  EXPECT_EQ(of(kPod).use.cpu_micro.validity, Validity::kNotYet);
  node.cpu("pod1", 1001 * kNs);
  pass_after();
  EXPECT_EQ(cpu_of(kPod), kCore);
}

TEST_P(SamplerTest, ASampleIsTheLastOneForTwicePeriod) {
  node.group("pod1");
  start({account(kPod, "pod1")});
  sampler->pass();
  pass_after();
  ASSERT_EQ(cpu_of(kPod), 0);
  const std::string file = node.file("cpuacct", "pod1", GetParam() == Layout::kV2 ? "cpu.stat" : "cpuacct.usage");
  node.cgroups.write(file, "no number\n");
  pass_after();
  EXPECT_GT(report().unreadable, 0);
  EXPECT_NE(report().an_error.find("pod1"), std::string::npos) << report().an_error;
  EXPECT_EQ(cpu_of(kPod), 0) << "one second old";
  pass_after();
  EXPECT_EQ(cpu_of(kPod), 0) << "two seconds old";
  pass_after();
  EXPECT_FALSE(cpu_of(kPod));
  EXPECT_EQ(of(kPod).use.cpu_micro.validity, Validity::kUnreadable);
  node.clock.advance(seconds(3));
  EXPECT_EQ(of(kPod).use.memory.validity_at(node.clock.monotonic()), Validity::kStale) << "no pass was made";
}

TEST_P(SamplerTest, RemovedGroupIsNoErrorAndNoValue) {
  node.group("pod1");
  node.group("pod2");
  start({account(kPod, "pod1"), account(kOther, "pod2")});
  sampler->pass();
  pass_after();
  ASSERT_EQ(cpu_of(kPod), 0);
  node.remove_group("pod1");
  node.cpu_ticks({100, 0});
  pass_after();
  EXPECT_EQ(of(kPod).presence, Presence::kVanished);
  EXPECT_FALSE(cpu_of(kPod));
  EXPECT_FALSE(of(kPod).use.memory.last(node.clock.monotonic()));
  EXPECT_EQ(report().vanished, 1);
  EXPECT_EQ(report().unreadable, 0) << report().an_error;
  EXPECT_EQ(system()->cpu_micro, 0) << "what it used since the pass before is not the system's";
  EXPECT_EQ(cpu_of(kOther), 0);
  node.cpu_ticks({150, 0});
  pass_after();
  EXPECT_EQ(system()->cpu_micro, kCore / 2);
  EXPECT_EQ(report().vanished, 0);
}

TEST_P(SamplerTest, RecreatedGroupIsAnotherGroup) {
  node.group("pod1");
  node.cpu("pod1", 10 * kNs);
  start({account(kPod, "pod1")});
  sampler->pass();
  pass_after();
  node.remove_group("pod1");
  node.group("pod1");
  node.cpu("pod1", 11 * kNs);
  pass_after();
  EXPECT_EQ(of(kPod).presence, Presence::kVanished) << "the one that was held is gone";
  node.cpu("pod1", 12 * kNs);
  pass_after();
  EXPECT_EQ(of(kPod).presence, Presence::kPresent);
  EXPECT_EQ(of(kPod).use.cpu_micro.validity, Validity::kNotYet) << "no rate spans the two";
  node.cpu("pod1", 12 * kNs + kNs / 10);
  pass_after();
  EXPECT_EQ(cpu_of(kPod), kCore / 10);
}

TEST_P(SamplerTest, AGroupIsAwaited) {
  start({account(kPod, "pod1")});
  sampler->pass();
  EXPECT_EQ(of(kPod).presence, Presence::kAwaited);
  EXPECT_EQ(report().unreadable, 0);
  node.group("pod1");
  pass_after();
  EXPECT_EQ(of(kPod).presence, Presence::kPresent);
}

TEST_P(SamplerTest, GroupRemovedBetweenReadingsIsGone) {
  if (GetParam() == Layout::kV2) return;  // one folder, which goes at once
  node.group("pod1");
  start({account(kPod, "pod1")});
  sampler->pass();
  pass_after();
  node.cgroups.remove("memory/pod1");
  pass_after();
  EXPECT_EQ(of(kPod).presence, Presence::kVanished);
  EXPECT_FALSE(cpu_of(kPod)) << "although its CPU was read";
  EXPECT_LT(sampler->measured().system_cpu.at, report().at);
}

TEST_P(SamplerTest, ChangedListKeepsRemainingAccounts) {
  node.group("pod1");
  node.group("pod2");
  start({account(kPod, "pod1")});
  sampler->pass();
  sampler->set_accounts(std::vector{account(kOther, "pod2"), account(kPod, "pod1")});
  node.cpu("pod1", kNs);
  pass_after();
  EXPECT_EQ(cpu_of(kPod), kCore);
  EXPECT_FALSE(cpu_of(kOther));
  sampler->set_accounts(std::vector{account(kOther, "pod2")});
  EXPECT_FALSE(sampler->measured().find(kPod));
  pass_after();
  EXPECT_LT(sampler->measured().system_cpu.at, report().at) << "pod1 used some of the node's second";
}

TEST_P(SamplerTest, UncountedAccountIsMeasuredButNotSubtracted) {
  node.group("besteffort");
  node.group("besteffort/pod1");
  AccountSpec level = account(kOther, "besteffort");
  level.counts = false;
  start({level, account(kPod, "besteffort/pod1")});
  sampler->pass();
  node.cpu("besteffort", kNs / 2);
  node.cpu("besteffort/pod1", kNs / 2);
  node.cpu_ticks({100, 0});
  pass_after();
  EXPECT_EQ(cpu_of(kOther), kCore / 2);
  EXPECT_EQ(system()->cpu_micro, kCore / 2);
}

TEST_P(SamplerTest, LatePassIsReportedAndNotRepeated) {
  node.group("pod1");
  start({account(kPod, "pod1")});
  sampler->pass();
  EXPECT_EQ(sampler->until_next(), base::Duration(seconds(1)));
  node.cpu("pod1", 3 * kNs);
  pass_after(milliseconds(3400));
  EXPECT_EQ(report().late, base::Duration(milliseconds(2400)));
  EXPECT_EQ(report().skipped, 2);
  EXPECT_EQ(cpu_of(kPod), 3 * kCore * 10 / 34) << "over the time that went by";
  EXPECT_EQ(sampler->until_next(), base::Duration(milliseconds(600))) << "back on the grid";
  pass_after(milliseconds(600));
  EXPECT_EQ(report().late, base::Duration(0));
  EXPECT_EQ(report().skipped, 0);
}

TEST_P(SamplerTest, PressureIsOfGroupOrMissing) {
  node.group("pod1");
  if (GetParam() == Layout::kHybrid) node.cgroups.remove("unified/pod1");
  if (GetParam() == Layout::kV2) node.pressure("pod1", 1234);
  start({account(kPod, "pod1")});
  sampler->pass();
  if (GetParam() == Layout::kV2) {
    EXPECT_EQ(of(kPod).pressure.cpu.value.some_centi, 1234);
    EXPECT_EQ(of(kPod).pressure.cpu.validity, Validity::kGood);
    return;
  }
  EXPECT_EQ(of(kPod).pressure.cpu.validity, Validity::kMissing);
  EXPECT_EQ(report().unreadable, 0) << "missing is no error";
  if (GetParam() == Layout::kV1) return;
  // A runtime puts the group into one hierarchy after the other.
  for (int at = 0; at < 5; ++at) pass_after();
  linux::testing::make_v2_group(node.cgroups, "unified", "pod1");
  node.pressure("pod1", 250);
  for (int at = 0; at < 20; ++at) pass_after();
  EXPECT_EQ(of(kPod).pressure.cpu.validity, Validity::kGood);
  EXPECT_EQ(of(kPod).pressure.cpu.value.some_centi, 250);
}

TEST_P(SamplerTest, SlowReadingsAreSpreadOverPasses) {
  std::vector<AccountSpec> accounts;
  for (std::uint32_t at = 0; at < 10; ++at) {
    accounts.push_back(account({at, 1}, base::cat("pod", at)));
    node.group(accounts.back().path);
  }
  start(accounts);
  sampler->pass();
  for (int at = 0; at < 20; ++at) {
    pass_after();
    int read = 0;
    for (const AccountMeasured& one : sampler->measured().accounts) read += one.io.at == report().at ? 1 : 0;
    EXPECT_EQ(read, 1) << "pass " << report().number;
  }
}

TEST_P(SamplerTest, DisksOfAGroup) {
  node.group("pod1");
  start({account(kPod, "pod1")});
  sampler->pass();
  const auto began = node.clock.monotonic();
  node.io("pod1", 100 * kMiB, 50 * kMiB);
  while (of(kPod).io.validity != Validity::kGood && report().number < 12) pass_after();
  const std::int64_t took = (report().at - began) / seconds(1);
  EXPECT_LE(took, 10);
  EXPECT_EQ(of(kPod).io.value.read_bytes, 100 * kMiB / took);
  EXPECT_EQ(of(kPod).io.value.write_bytes, 50 * kMiB / took);
  EXPECT_EQ(of(kPod).io.value.reads, 0);
}

TEST_P(SamplerTest, ContainersAreReadTwiceAMinute) {
  node.group("pod1");
  node.group("pod1/a");
  start({account(kPod, "pod1", {{"a", "pod1/a"}})});
  sampler->pass();
  node.cpu("pod1/a", kNs / 5, 10, 4);
  std::vector<std::int64_t> read_in;
  for (int at = 0; at < 60; ++at) {
    pass_after();
    const Sample<Throttling>& throttling = of(kPod).containers[0].throttling;
    if (throttling.at != report().at) continue;
    read_in.push_back(report().number);
    if (read_in.size() == 1) EXPECT_EQ(throttling.last(node.clock.monotonic())->throttled_periods, 4);
  }
  ASSERT_EQ(read_in.size(), 2u);
  EXPECT_EQ(read_in[1] - read_in[0], 30);
}

TEST_P(SamplerTest, MemoryEventsContinueAcrossContainers) {
  node.group("pod1");
  node.group("pod1/a");
  start({account(kPod, "pod1", {{"a", "pod1/a"}})});
  sampler->pass();
  EXPECT_EQ(of(kPod).memory_events.value.oom_kills, 0);
  // v1 counts in the group itself, v2 in those above as well.
  node.oom_kills(GetParam() == Layout::kV2 ? "pod1" : "pod1/a", 2);
  for (int at = 0; at < 30; ++at) pass_after();
  EXPECT_EQ(of(kPod).memory_events.value.oom_kills, 2);
  node.remove_group("pod1/a");
  for (int at = 0; at < 30; ++at) pass_after();
  EXPECT_EQ(of(kPod).containers[0].presence, Presence::kVanished);
  EXPECT_EQ(of(kPod).memory_events.value.oom_kills, 2);
  node.group("pod1/b");
  node.oom_kills(GetParam() == Layout::kV2 ? "pod1" : "pod1/b", GetParam() == Layout::kV2 ? 3 : 1);
  sampler->set_accounts(std::vector{account(kPod, "pod1", {{"b", "pod1/b"}})});
  for (int at = 0; at < 60; ++at) pass_after();
  const MemoryEventTotals totals = of(kPod).memory_events.last(node.clock.monotonic()).value();
  EXPECT_EQ(totals.oom_kills, 3);
  // v2: those of the pod's own file. v1: of the pod and of both containers, each three times at its limit.
  EXPECT_EQ(totals.limit_hits, GetParam() == Layout::kV2 ? 3 : 9);
  EXPECT_EQ(totals.high_hits, GetParam() == Layout::kV2 ? 5 : 0);
}

TEST_P(SamplerTest, RunQueueWaitOfOnlineAccounts) {
  node.group("pod1");
  node.group("pod1/a");
  node.processes("pod1/a", "7\n8\n9\n10\n");
  node.schedstat(7, 0, 0);
  node.schedstat(10, 0, 0);
  node.schedstat(8, 5 * kNs, 5 * kNs);
  AccountSpec spec = account(kPod, "pod1", {{"a", "pod1/a"}});
  spec.online = true;
  start({spec});
  sampler->pass();
  EXPECT_EQ(of(kPod).run_queue.validity, Validity::kNotYet);
  node.schedstat(7, kNs / 10, kNs / 20);
  node.schedstat(8, 6 * kNs, 100 * kNs);  // a wait that began long before, and is over now
  node.schedstat(10, 40 * kNs, kNs);      // another process with its number: no thread runs longer than time goes by
  node.schedstat(9, kNs, kNs);            // was not there before
  for (int at = 0; at < 10; ++at) pass_after();
  const RunQueueUse use = of(kPod).run_queue.value;
  EXPECT_EQ(of(kPod).run_queue.validity, Validity::kGood);
  EXPECT_EQ(use.processes, 2);
  EXPECT_EQ(use.ran_ns, kNs / 10 + kNs);
  EXPECT_GE(use.waited_ns, kNs / 20 + 8 * kNs) << "what is left of the nine seconds";
  EXPECT_LE(use.waited_ns, kNs / 20 + 8 * kNs + kNs / 10);
  EXPECT_EQ(use.left_out, 0);
}

// Contract 7.12: the system's use of a NUMA node is apportioned by the node's own use.
TEST_P(SamplerTest, NumaNodes) {
  node.group("pod1");
  node.numa({{"0", 300 * kMiB}, {"1", 100 * kMiB}});
  node.memory(2048 * kMiB, 1648 * kMiB, 1648 * kMiB);
  start({account(kPod, "pod1")});
  sampler->pass();
  node.cpu("pod1", kNs / 2);
  node.cpu_ticks({90, 30});
  pass_after();
  const auto& numa = sampler->measured().node.numa;
  ASSERT_EQ(numa.size(), 2u);
  EXPECT_EQ(numa[0].cpu_micro.value, 900'000);
  EXPECT_EQ(numa[1].cpu_micro.value, 300'000);
  EXPECT_EQ(system()->cpu_micro, 700'000);
  EXPECT_EQ(numa[0].system_cpu_micro.value, 525'000);
  EXPECT_EQ(numa[1].system_cpu_micro.value, 175'000);
  EXPECT_EQ(numa[0].memory_bytes.value, 300 * kMiB);
  EXPECT_EQ(numa[1].system_memory_bytes.value, (400 * kMiB - 1) / 4);

  // A processor is taken off: its node's sum goes back, which is no rate.
  node.numa({{"0", 300 * kMiB}, {"", 100 * kMiB}});
  node.cpu_ticks({100});
  pass_after();
  EXPECT_EQ(sampler->measured().node.cpus, 1);
  for (int at = 0; at < 3; ++at) pass_after();
  EXPECT_EQ(sampler->measured().node.numa[1].cpu_micro.value, 0);
}

}  // namespace
}  // namespace tidemark::agent
