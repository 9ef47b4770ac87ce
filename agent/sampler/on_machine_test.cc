// The sampler on the kernel that runs the test. Nothing is written except in groups named tidemark-test-<pid>, which
// the test makes and removes.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "agent/sampler/facilities.h"
#include "agent/sampler/kernel_events.h"
#include "agent/sampler/sampler.h"
#include "base/text.h"
#include "linux/testing/own_group.h"

namespace tidemark::agent {
namespace {

using linux::testing::kMachineRoot;
using linux::testing::OwnGroup;

constexpr TaskHandle kMeasuredPod{0, 1};

struct SamplerOnMachine : ::testing::Test {
  base::SystemClock clock;
  std::optional<linux::Hierarchies> hierarchies;
  std::optional<linux::Folder> proc, numa;

  void SetUp() override {
    linux::Buffer buffer;
    const auto mounts = linux::read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts && *mounts);
    if (linux::parse_mounts(kMachineRoot, **mounts).empty()) GTEST_SKIP() << "no cgroup hierarchy is mounted";
    hierarchies.emplace(linux::Hierarchies::discover(kMachineRoot, **mounts).value());
    proc.emplace(linux::Folder::open("/proc").value());
    if (auto nodes = linux::Folder::open("/sys/devices/system/node")) numa.emplace(std::move(*nodes));
  }
  SamplerPlaces places() const { return {*hierarchies, *proc, numa ? &*numa : nullptr, true}; }

  // A process in the group, in each hierarchy, that uses a processor until it is ended.
  pid_t busy_in(const std::string& group) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (volatile bool on = true; on;) {
      }
    }
    for (const linux::Hierarchy& one : hierarchies->all()) {
      std::ofstream(one.path + "/" + group + "/cgroup.procs") << pid << std::flush;
    }
    return pid;
  }
  // Waits, by looking, until the group has used this much more.
  void use_up(const std::string& group, std::int64_t ns) {
    linux::Buffer buffer;
    const auto opened = linux::Group::open(*hierarchies, group).value();
    ASSERT_TRUE(opened);
    const std::int64_t from = linux::read_cpu_usage_ns(*opened, buffer).value().value();
    while (linux::read_cpu_usage_ns(*opened, buffer).value().value() < from + ns) ::sched_yield();
  }
};

TEST_F(SamplerOnMachine, EveryFacilityIsPresentOrMissingWithReason) {
  const auto all = probe_facilities({*hierarchies, *proc, numa ? &*numa : nullptr, "/dev/kmsg"});
  ASSERT_EQ(all.size(), kFacilities);
  for (const FacilityReport& one : all) EXPECT_FALSE(one.why.empty()) << to_string(one.facility);
  EXPECT_TRUE(is_there(all, Facility::kMemory));
}

TEST_F(SamplerOnMachine, MeasuresRunningGroupUntilRemoved) {
  OwnGroup own(*hierarchies);
  if (!own.complete()) GTEST_SKIP() << "may not make groups in every hierarchy below " << kMachineRoot;
  const pid_t pid = busy_in(own.name());
  SamplerOptions options;
  options.interval = std::chrono::milliseconds(1);
  // Two counters of which the second is the time of the first: their ratio is known without a PMU.
  options.cpi.events = {linux::PerfEvent::kTaskClock, linux::PerfEvent::kTaskClock};
  options.cpi.window = std::chrono::milliseconds(1);
  for (ReadingRow& row : options.readings) row.period = options.interval;
  Sampler sampler(places(), options, clock);
  AccountSpec spec;
  spec.handle = kMeasuredPod;
  spec.path = own.name();
  spec.online = true;
  sampler.set_accounts(std::vector{spec});
  sampler.pass();
  use_up(own.name(), 50'000'000);
  sampler.pass();
  const AccountMeasured& pod = *sampler.measured().find(kMeasuredPod);
  EXPECT_EQ(pod.presence, Presence::kPresent);
  EXPECT_EQ(pod.use.cpu_micro.validity, Validity::kGood);
  EXPECT_GT(pod.use.cpu_micro.value, 0);
  EXPECT_LE(pod.use.cpu_micro.value, 1'500'000) << "one process";
  EXPECT_EQ(sampler.measured().node.cpu_micro.validity, Validity::kGood);
  EXPECT_GT(sampler.measured().node.memory.value.without_page_cache, 0);
  EXPECT_TRUE(pod.use.memory.validity == Validity::kGood || pod.use.memory.validity == Validity::kMissing);
  EXPECT_EQ(pod.run_queue.value.processes, 1);
  EXPECT_GE(pod.run_queue.value.ran_ns, 40'000'000);
  if (pod.cpi.validity != Validity::kMissing) {  // a virtual machine may have no counters
    use_up(own.name(), 20'000'000);
    sampler.pass();
    EXPECT_EQ(pod.cpi.validity, Validity::kGood);
    // Both counters count the same; how far they are apart is a matter of when the kernel reads each.
    EXPECT_GT(pod.cpi.value.cycles, 0);
    EXPECT_GT(pod.cpi.value.instructions, 0);
  }
  EXPECT_EQ(sampler.measured().pass.unreadable, 0) << sampler.measured().pass.an_error;

  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  own.remove();
  sampler.pass();
  EXPECT_EQ(pod.presence, Presence::kVanished) << "files that are held open say so";
  EXPECT_EQ(sampler.measured().pass.unreadable, 0) << sampler.measured().pass.an_error;
}

TEST_F(SamplerOnMachine, ReadsLogOrGivesReason) {
  auto events = KernelEvents::open("/dev/kmsg", linux::KernelLog::From::kBeginning, *hierarchies);
  if (!events) {
    EXPECT_TRUE(events.error().kind == ErrorKind::kUnsupported || events.error().kind == ErrorKind::kDenied)
        << events.error().message;
    return;
  }
  const TaskSnapshot nobody;
  for (bool end = false; !end;) {
    const auto read = events->read(nobody);
    ASSERT_TRUE(read) << read.error().message;
    end = *read;
  }
  for (const KernelEvent& one : events->take()) EXPECT_FALSE(one.owner);
}

}  // namespace
}  // namespace tidemark::agent
