// Accounts and system together are the node; and what a pass costs at steady state.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "agent/sampler/sampler.h"
#include "agent/testing/kernel_node.h"
#include "base/random.h"
#include "base/testing/allocations.h"

namespace tidemark::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::KernelNode;
using testing::Layout;

// Groups that use, idle, jump back, go and come again, at passes that come on time or late.
struct World {
  static constexpr int kGroups = 6;
  struct OneGroup {
    bool there = false;
    std::int64_t cpu_ns = 0, memory = 0;
    int turn = 0;
  };

  explicit World(Layout layout, std::uint64_t seed) : node(layout), random(seed), groups(kGroups) {}

  std::string path(int at) const { return at < 2 ? base::cat("pod", at) : base::cat("pod", at % 2, "/in", at); }
  bool nested(int at) const { return at >= 2; }

  void set(int at) {
    node.cpu(path(at), groups[at].cpu_ns);
    node.group_memory(path(at), {groups[at].memory, 0, 0, 0});
  }
  void come(int at) {
    if (nested(at) && !groups[at % 2].there) return;
    groups[at].there = true;
    groups[at].cpu_ns = groups[at].memory = 0;
    node.group(path(at));
  }
  void go(int at) {
    for (int other = 0; other < kGroups; ++other) {
      if (other == at || (!nested(at) && nested(other) && other % 2 == at)) groups[other].there = false;
    }
    node.remove_group(path(at));
  }
  void live(std::int64_t over_ns) {
    for (int at = 0; at < kGroups; ++at) {
      OneGroup& one = groups[at];
      if (!one.there) {
        if (random.below(8) == 0) come(at);
        continue;
      }
      switch (random.below(24)) {
        case 0:
          go(at);
          continue;
        case 1:
          one.cpu_ns /= 2;  // what no kernel does
          break;
        default:
          one.cpu_ns += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(over_ns) / 2));
      }
      one.memory = static_cast<std::int64_t>(random.below(100 << 20));
      set(at);
    }
    for (std::int64_t& one : ticks) {
      one += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(over_ns / KernelNode::kTickNs) + 1));
    }
    node.cpu_ticks(ticks);
    const auto available = static_cast<std::int64_t>(random.below(1000)) << 20;
    node.memory(std::int64_t{1000} << 20, available, available);
  }

  KernelNode node;
  base::Random random;
  std::vector<OneGroup> groups;
  std::vector<std::int64_t> ticks{0, 0};
};

void check(const Measured& measured, base::MonotonicTime now) {
  std::int64_t sum = 0, memory = 0;
  const std::int64_t most = measured.node.cpus * 1'020'000LL * 2;
  for (const AccountMeasured& one : measured.accounts) {
    if (const auto cpu = one.use.cpu_micro.last(now)) {
      EXPECT_GE(*cpu, 0);
      EXPECT_LE(*cpu, most);
      if (one.counts && one.use.cpu_micro.at == now) sum += *cpu;
    }
    if (const auto bytes = one.use.memory.last(now); bytes && one.counts) memory += bytes->without_page_cache;
    if (one.presence != Presence::kPresent) EXPECT_FALSE(one.use.cpu_micro.last(now));
  }
  if (const auto system = measured.system_cpu.last(now)) {
    EXPECT_GE(system->cpu_micro, 0);
    EXPECT_LE(system->cpu_micro, most);
    if (measured.system_cpu.at == now) {
      EXPECT_EQ(system->cpu_micro, std::max<std::int64_t>(measured.node.cpu_micro.value - sum, 0));
    }
  }
  if (const auto system = measured.system_memory.last(now); system && measured.system_memory.at == now) {
    EXPECT_EQ(system->bytes.without_page_cache,
              std::max<std::int64_t>(measured.node.memory.value.without_page_cache - memory, 0));
  }
}

TEST(SamplerSum, AccountsPlusSystemEqualNode) {
  int subtracted = 0;
  for (const Layout layout : {Layout::kV1, Layout::kHybrid, Layout::kV2}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      SCOPED_TRACE(base::cat(linux::to_string(layout), " seed ", seed));
      World world(layout, seed);
      SamplerOptions options;
      options.keep_files = false;
      Sampler sampler(world.node.places(), options, world.node.clock);
      std::vector<AccountSpec> accounts;
      for (int at = 0; at < World::kGroups; ++at) {
        AccountSpec& spec = accounts.emplace_back();
        spec.handle = {static_cast<std::uint32_t>(at), 1};
        spec.path = world.path(at);
        spec.counts = !world.nested(at);
      }
      sampler.set_accounts(accounts);
      for (int pass = 0; pass < 50; ++pass) {
        const auto by = milliseconds(world.random.below(5) == 0 ? 1000 + world.random.below(4000) : 1000);
        world.node.clock.advance(by);
        world.live(base::Duration(by).count());
        const Measured& measured = sampler.pass();
        check(measured, world.node.clock.monotonic());
        EXPECT_EQ(measured.pass.unreadable, 0) << measured.pass.an_error;
        subtracted += measured.system_cpu.at == measured.pass.at ? 1 : 0;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(subtracted, 100) << "of 300 passes";
}

struct Simple {
  KernelNode node{Layout::kV1};
  std::vector<AccountSpec> accounts;
  explicit Simple(int count) {
    for (int at = 0; at < count; ++at) {
      AccountSpec& spec = accounts.emplace_back();
      spec.handle = {static_cast<std::uint32_t>(at), 1};
      spec.path = base::cat("pod", at);
      node.group(spec.path);
    }
  }
};

// One account that cannot be read for long must not hide the system's use for ever.
TEST(SamplerSum, UnmeasuredUseCountsAsSystemAfterAWhile) {
  Simple world(2);
  Sampler sampler(world.node.places(), {}, world.node.clock);
  sampler.set_accounts(world.accounts);
  sampler.pass();
  world.node.cgroups.write("cpuacct/pod0/cpuacct.usage", "no number\n");
  std::int64_t ticks = 0;
  int with_system = 0;
  for (int at = 1; at <= 12; ++at) {
    world.node.clock.advance(seconds(1));
    world.node.cpu_ticks({ticks += 40, 0});
    world.node.cpu("pod1", at * 100'000'000LL);
    const Measured& measured = sampler.pass();
    const auto system = measured.system_cpu.last(world.node.clock.monotonic());
    if (!system) continue;
    ++with_system;
    EXPECT_GT(at, 10);
    EXPECT_EQ(system->cpu_micro, 300'000);
    EXPECT_EQ(system->unmeasured, 1);
  }
  EXPECT_GE(with_system, 1);
}

// A clock that goes on while the pass reads: a machine on which the agent gets no processor.
class SlowClock final : public base::Clock {
 public:
  base::MonotonicTime monotonic() const override { return now_ = now_ + step; }
  base::BootTime boot() const override { return {}; }
  base::WallTime wall() const override { return {}; }
  base::Duration step{0};

 private:
  mutable base::MonotonicTime now_{seconds(100)};
};

TEST(SamplerSum, SlowPassIsNotOneInstant) {
  Simple world(3);
  SlowClock clock;
  Sampler sampler(world.node.places(), {}, clock);
  sampler.set_accounts(world.accounts);
  clock.step = milliseconds(1);
  sampler.pass();
  clock.step = milliseconds(1000);
  clock.monotonic();
  clock.step = milliseconds(1);
  EXPECT_TRUE(sampler.pass().pass.one_instant);
  EXPECT_EQ(sampler.measured().system_cpu.validity, Validity::kGood);
  const auto before = sampler.measured().system_cpu.at;
  clock.step = milliseconds(60);
  const Measured& slow = sampler.pass();
  EXPECT_FALSE(slow.pass.one_instant);
  EXPECT_GT(slow.pass.took, base::Duration(milliseconds(100)));
  EXPECT_EQ(slow.system_cpu.at, before) << "nothing is subtracted";
}

TEST(SamplerSum, APassAllocatesNothing) {
  for (const Layout layout : {Layout::kV1, Layout::kHybrid, Layout::kV2}) {
    KernelNode node(layout);
    node.numa({{"0", 1 << 20}, {"1", 1 << 20}});
    node.proc.write("pressure/cpu", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
    std::vector<AccountSpec> accounts;
    for (int at = 0; at < 5; ++at) {
      AccountSpec& spec = accounts.emplace_back();
      spec.handle = {static_cast<std::uint32_t>(at), 1};
      spec.path = base::cat("kubepods/burstable/pod", at);
      spec.online = true;
      spec.containers = {{"a", spec.path + "/a"}, {"b", spec.path + "/b"}};
      node.group(spec.path);
      node.group(spec.path + "/a");
      node.group(spec.path + "/b");
      node.processes(spec.path + "/a", "7\n8\n");
    }
    node.schedstat(7, 1, 1);
    node.schedstat(8, 1, 1);
    Sampler sampler(node.places(), {}, node.clock);
    sampler.set_accounts(accounts);
    for (int at = 0; at < 200; ++at) {
      node.clock.advance(seconds(1));
      const long before = base::testing::allocations();
      sampler.pass();
      const long made = base::testing::allocations() - before;
      if (at >= 130) EXPECT_EQ(made, 0) << linux::to_string(layout) << " pass " << at;
    }
    EXPECT_EQ(sampler.measured().pass.unreadable, 0) << sampler.measured().pass.an_error;
    EXPECT_EQ(sampler.measured().accounts[0].run_queue.value.processes, 2);
  }
}

}  // namespace
}  // namespace tidemark::agent
