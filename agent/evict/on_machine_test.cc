// From a cgroup under real memory pressure to the eviction order. The kernel's pressure values are real; no task is
// evicted. The cgroup is named tidemark-test-<pid>. The test needs cgroup v2 (memory.high), so it runs in the emulated
// machine; and an idle machine, because the threshold is for the whole machine.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/evict/eviction_observer.h"
#include "agent/sampler/sampler.h"
#include "base/text.h"
#include "linux/testing/own_group.h"
#include "net/loop.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {
namespace {

using linux::testing::kMachineRoot;
using linux::testing::OwnGroup;

constexpr TaskHandle kHandle{0, 1};
constexpr std::int64_t kLine_percent = 20;
constexpr base::Duration kUntilItShows = std::chrono::seconds(50);  // the kernel's average is one of ten seconds
constexpr std::int64_t kPage_bytes = 4096;
constexpr std::int64_t kTaken_bytes = 64 << 20;

// Takes more than its group's memory.high, of which nothing can be freed: each further page has to wait.
[[noreturn]] void take_memory() {
  auto* memory = static_cast<volatile char*>(
      ::mmap(nullptr, kTaken_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (std::int64_t at = 0; at < kTaken_bytes; at += kPage_bytes) memory[at] = 1;
  while (true) ::pause();
}

struct EvictOnMachine : ::testing::Test {
  base::SystemClock clock;
  net::EventLoop loop{clock};
  std::optional<linux::Hierarchies> hierarchies;
  std::optional<linux::Folder> proc;
  std::optional<OwnGroup> own;
  pid_t child = 0;

  void SetUp() override {
    linux::Buffer buffer;
    const auto mounts = linux::read_path("/proc/self/mountinfo", buffer);
    ASSERT_TRUE(mounts && *mounts);
    if (linux::parse_mounts(kMachineRoot, **mounts).empty()) GTEST_SKIP() << "no cgroup hierarchy is mounted";
    hierarchies.emplace(linux::Hierarchies::discover(kMachineRoot, **mounts).value());
    proc.emplace(linux::Folder::open("/proc").value());
    if (hierarchies->layout() != linux::Layout::kV2) GTEST_SKIP() << "cgroup v1 has no memory.high";
    own.emplace(*hierarchies);
    if (!own->complete()) GTEST_SKIP() << "may not make groups below " << kMachineRoot;
  }
  void TearDown() override {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  std::string folder() const { return base::cat(hierarchies->all()[0].path, "/", own->name()); }

  void begin_to_stand_still() {
    ASSERT_TRUE(std::ofstream(folder() + "/memory.high") << (8 << 20) << std::flush);
    child = ::fork();
    if (child != 0) return;
    std::ofstream(folder() + "/cgroup.procs") << ::getpid() << std::flush;
    take_memory();
  }

  // The one task of this node, which is offline and whose group that is.
  TaskSnapshot tasks() const {
    auto task = std::make_shared<model::Task>();
    task->name = task->identity.task = "job";
    task->identity.source = "kubernetes";
    task->path = own->name();
    task->phase = model::PodPhase::kRunning;
    task->qos_raw = task->qos = model::Qos::kBe;
    TaskSnapshot out;
    out.tasks.push_back({kHandle, std::move(task), std::nullopt});
    return out;
  }
};

TEST_F(EvictOnMachine, EvictsWorkStalledOnMemory) {
  Sampler sampler({*hierarchies, *proc, nullptr, true}, {}, clock);
  AccountSpec account;
  account.handle = kHandle;
  account.path = own->name();
  sampler.set_accounts(std::vector{account});
  const TaskSnapshot snapshot = tasks();
  NodeFacts facts;
  facts.size.capacity.memory = model::MemoryBytes{1 << 30};
  policy::protect::NodeRules rules;
  rules.threshold.enable = true;
  rules.word.emplace().evict.memory_pressure_percent = kLine_percent;
  policy::evict::EvictSwitches switches;
  switches.set(policy::evict::EvictFeature::kMemoryPressure);
  EvictionObserver observer;
  const auto decide = [&] {
    const base::MonotonicTime now = clock.monotonic();
    observer.observe({&facts, sampler.pass(), snapshot, rules.threshold}, now);
    return policy::evict::evict(policy::evict::first_evict_state(now), {observer.node(), observer.tasks(), {}, 1},
                                rules, switches, now, clock.wall())
        .plan;
  };

  const policy::evict::EvictPlan calm = decide();
  ASSERT_EQ(calm.verdicts.size(), 1u);
  EXPECT_EQ(calm.verdicts[0].reason, model::Reason::kEvictBelowLine)
      << observer.node().memory_pressure_percent.value_or(-1);
  EXPECT_TRUE(calm.orders.empty());

  begin_to_stand_still();
  const base::MonotonicTime deadline = clock.monotonic() + kUntilItShows;
  policy::evict::EvictPlan plan;
  net::Scope scope(loop);
  const auto follow = [&]() -> net::Task<void> {
    while (plan.orders.empty() && clock.monotonic() < deadline) {
      co_await loop.sleep(std::chrono::seconds(1));  // who looks all the time keeps the machine at work
      plan = decide();
    }
    loop.stop();
  };
  scope.spawn(follow());
  loop.run();
  ASSERT_EQ(plan.orders.size(), 1u) << "pressure " << observer.node().memory_pressure_percent.value_or(-1) << " %";
  EXPECT_EQ(plan.orders[0].verb, policy::evict::EvictVerb::kAsk);
  EXPECT_EQ(plan.orders[0].feature, policy::evict::EvictFeature::kMemoryPressure);
  EXPECT_EQ(plan.orders[0].reason, model::Reason::kEvictMemoryPressure);
  EXPECT_GT(plan.orders[0].gap.seen_percent, kLine_percent);
  EXPECT_GT(plan.orders[0].release, 4 << 20) << "what it holds";
}

}  // namespace
}  // namespace tidemark::agent
