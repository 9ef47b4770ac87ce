#include "agent/record/stretch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "linux/kmsg.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMicroPerMilli = 1000;
const base::WallTime kNoon = *base::parse_rfc3339("2026-11-23T12:00:00Z");

struct StretchTest : ::testing::Test {
  StretchTest() {
    measured.node.cpus = 8;
    measured.node.memory_total_bytes = 1000;
    permits.permits.fill(policy::state::Permit::kEnforce);
    pass_at(1s);
  }

  TaskHandle add(std::string name, bool offline) {
    const TaskHandle handle{static_cast<std::uint32_t>(listed.size()), 1};
    auto task = std::make_shared<model::Task>();
    task->ns = "shop";
    task->name = name;
    task->identity.source = "kubernetes";
    task->identity.task = "uid-" + name;
    task->qos_raw = task->qos = offline ? model::Qos::kBe : model::Qos::kLs;
    task->path = base::cat(offline ? "kubepods/besteffort/pod" : "kubepods/burstable/pod", name);
    listed.push_back({handle, std::move(task), std::nullopt, false});
    AccountMeasured account;
    account.handle = handle;
    measured.accounts.push_back(account);
    changed();
    return handle;
  }
  void changed() {
    auto made = std::make_shared<TaskSnapshot>();
    made->change = ++changes;
    made->tasks = listed;
    tasks = made;
  }
  void remove_last() {
    listed.pop_back();
    measured.accounts.pop_back();
    changed();
  }
  AccountMeasured& of(TaskHandle handle) { return measured.accounts.at(handle.slot); }

  void pass_at(base::Duration at) { measured.pass.at = {at}; }
  template <class T>
  void put(Sample<T>& sample, const T& value) {
    sample.good_for = 20s;
    sample.put(value, measured.pass.at);
  }
  void cpu(TaskHandle handle, std::int64_t milli) { put(of(handle).use.cpu_micro, milli * kMicroPerMilli); }
  void waited(TaskHandle handle, std::int64_t total_us) { put(of(handle).pressure.cpu, {0, std::nullopt, total_us}); }
  void take() { stretch.take({measured, tasks, permits, suppress, classes}); }
  model::NodeRecord end(bool whole = true) { return stretch.end(kNoon, 30s, whole); }

  std::vector<ListedTask> listed;
  std::shared_ptr<const TaskSnapshot> tasks = std::make_shared<TaskSnapshot>();
  std::uint64_t changes = 0;
  Measured measured;
  policy::state::AgentPermits permits;
  policy::protect::SuppressObservation suppress;
  std::vector<policy::protect::ClassShare> classes;
  Stretch stretch{"n1"};
};

TEST_F(StretchTest, UseIsAverageAndMaximum) {
  const auto web = add("web", false), batch = add("batch", true);
  for (const std::int64_t milli : {100, 300}) {
    cpu(web, milli);
    cpu(batch, 10 * milli);
    put(measured.node.cpu_micro, 12 * milli * kMicroPerMilli);
    put(of(batch).use.memory, MemoryUse{milli, 2 * milli});
    take();
    pass_at(2s);
  }
  suppress.besteffort_quota_us = 250'000;
  take();
  const auto record = end();
  EXPECT_EQ(record.time, kNoon);
  EXPECT_EQ(record.permit, "enforce");
  EXPECT_EQ(record.offline_milli, (1000 + 3000 + 3000) / 3);
  EXPECT_EQ(record.offline_peak_milli, 3000);
  EXPECT_EQ(record.offline_limit_milli, 2500);
  EXPECT_EQ(record.offline_memory, 300);
  EXPECT_EQ(record.cpu_peak_milli, 3600);
  ASSERT_EQ(record.tasks.size(), 2u);
  EXPECT_EQ(record.tasks[0].name, "web");
  EXPECT_EQ(record.tasks[0].task, "uid-web");
  EXPECT_EQ(record.tasks[0].group, "kubepods/burstable");
  EXPECT_FALSE(record.tasks[0].offline);
  EXPECT_EQ(record.tasks[0].cpu_peak_milli, 300);
  EXPECT_TRUE(record.tasks[1].offline);
}

TEST_F(StretchTest, ReportsRunQueueWaits) {
  const auto web = add("web", false);
  cpu(web, 100);
  take();
  EXPECT_EQ(end().tasks.at(0).run_queue, 0) << "it was not read";
  for (const std::int64_t waited_ms : {500, 2500}) {
    pass_at(10s);
    cpu(web, 100);
    of(web).run_queue.put({1'000'000, waited_ms * 1'000'000, waited_ms * 800'000, 2, 0}, measured.pass.at, 10s);
    of(web).cpi.put({waited_ms * 3, waited_ms * 2}, measured.pass.at);
    take();
    take();  // a pass that reads it not again adds nothing
    pass_at(20s);
  }
  const auto record = end(false);
  ASSERT_EQ(record.tasks.size(), 1U) << "who waits is not quiet";
  EXPECT_EQ(record.tasks[0].run_queue, 150) << "3 s of 20";
  EXPECT_EQ(record.tasks[0].run_queue_worst, 120);
  EXPECT_EQ(record.tasks[0].cpi, 1500);
  pass_at(30s);
  cpu(web, 100);
  take();
  EXPECT_EQ(end().tasks.at(0).run_queue, 0);
}

TEST_F(StretchTest, KernelCountersAreDifferencesBetweenLines) {
  const auto web = add("web", false);
  cpu(web, 100);
  waited(web, 5'000'000);  // of all the time before
  take();
  pass_at(11s);
  cpu(web, 100);
  waited(web, 6'000'000);
  take();
  EXPECT_EQ(end().tasks.at(0).cpu_pressure, 100) << "1 s of 10";
  pass_at(21s);
  cpu(web, 100);
  waited(web, 11'000'000);
  take();
  EXPECT_EQ(end().tasks.at(0).cpu_pressure, 500) << "counted from the last reading on";
  pass_at(31s);
  cpu(web, 100);
  waited(web, 1'000);  // a group that was made anew
  take();
  EXPECT_EQ(end().tasks.at(0).cpu_pressure, 0);
}

TEST_F(StretchTest, UsesWorstThrottling) {
  const auto web = add("web", false);
  of(web).containers.resize(2);
  for (int i = 0; i < 2; ++i) {
    cpu(web, 1);
    put(of(web).use.throttling, Throttling{100, 5, 0});
    put(of(web).containers[0].throttling, Throttling{100, 1, 0});
    if (i == 0) put(of(web).containers[1].throttling, Throttling{10, 4, 0});
    take();
    pass_at(11s);
  }
  EXPECT_EQ(end().tasks.at(0).throttled_permille, 400);
  cpu(web, 1);
  put(of(web).use.throttling, Throttling{100, 5, 0});
  take();
  EXPECT_EQ(end().tasks.at(0).throttled_permille, 50) << "a reading counts once";
}

TEST_F(StretchTest, QuietTasksAreInWholeAndFirstLines) {
  const auto web = add("web", false);
  const auto line = [&](bool whole) {
    cpu(web, 100);
    take();
    return end(whole).tasks.size();
  };
  EXPECT_EQ(line(false), 1u) << "its first";
  EXPECT_EQ(line(false), 0u);
  EXPECT_EQ(line(true), 1u);
  put(of(web).use.throttling, Throttling{100, 1, 0});
  EXPECT_EQ(line(false), 1u) << "held back";
}

TEST_F(StretchTest, LimitsOfOfflineTasksAreInWholeAndFirstLines) {
  int asked = 0;
  stretch = Stretch("n1", [&](const model::Task& task) {
    ++asked;
    return std::vector<model::TaskLimit>{{"", "cpu.shares", task.name, "inForce", "TM-LIMIT-001"}};
  });
  const auto web = add("web", false), batch = add("batch", true);
  auto task = std::make_shared<model::Task>(*listed.back().task);
  task->identity.work_class = "spark";
  listed.back().task = task;
  changed();
  const auto line = [&](bool whole) {
    cpu(web, 100);
    cpu(batch, 100);
    put(of(batch).use.throttling, Throttling{100, 50, 0});
    take();
    return end(whole).tasks;
  };
  const auto first = line(false);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_TRUE(first[0].limits.empty()) << "it is online";
  EXPECT_EQ(first[1].work_class, "spark");
  ASSERT_EQ(first[1].limits.size(), 1u);
  EXPECT_EQ(first[1].limits[0].value, "batch");
  EXPECT_TRUE(line(false).at(0).limits.empty());
  EXPECT_EQ(asked, 1) << "no work for lines without limits";
  EXPECT_EQ(line(true).at(1).limits.size(), 1u);
}

TEST_F(StretchTest, EndedTaskIsInLineOfItsEnd) {
  const auto web = add("web", false), batch = add("batch", true);
  cpu(web, 100);
  cpu(batch, 700);
  put(of(batch).memory_events, MemoryEventTotals{3, 0, 0});
  take();
  end();
  pass_at(2s);
  cpu(batch, 900);
  put(of(batch).memory_events, MemoryEventTotals{4, 2, 0});
  take();
  remove_last();
  pass_at(3s);
  take();
  const auto record = end(false);
  ASSERT_EQ(record.tasks.size(), 1u);
  EXPECT_EQ(record.tasks[0].name, "batch");
  EXPECT_TRUE(record.tasks[0].ended);
  EXPECT_EQ(record.tasks[0].cpu_milli, 900);
  EXPECT_EQ(record.tasks[0].oom_kills, 1);
  EXPECT_EQ(record.tasks[0].limit_hits, 2);
  EXPECT_TRUE(end(true).tasks.empty()) << "nothing was measured since";
}

TEST_F(StretchTest, LineHasKernelEvents) {
  const auto web = add("web", false);
  cpu(web, 1);
  take();
  KernelEvent event;
  event.kind = linux::KernelIncidentKind::kOomKill;
  event.task = "java";
  event.owner = web;
  stretch.take(event, *tasks, kNoon);
  event.limit_owner = web;
  stretch.take(event, *tasks, kNoon);
  event.owner = TaskHandle{9, 9};
  event.limit_owner.reset();
  event.limit_group = "/kubepods";
  stretch.take(event, *tasks, kNoon);
  const auto record = end();
  EXPECT_EQ(record.events, (std::vector<model::NodeEventRecord>{{kNoon, "oom kill", "java", "shop/web", ""},
                                                                {kNoon, "oom kill", "java", "shop/web", "shop/web"},
                                                                {kNoon, "oom kill", "java", "", "/kubepods"}}));
  EXPECT_EQ(record.events[0].what, model::kOomKillEvent) << "the word by which a judge knows it";
  EXPECT_EQ(linux::to_string(linux::KernelIncidentKind::kOomKilled), model::kOomKilledEvent);
  EXPECT_TRUE(end().events.empty());
  for (std::size_t i = 0; i < 2 * model::kNodeRecordEventsMax; ++i) stretch.take(event, *tasks, kNoon);
  EXPECT_EQ(end().events.size(), model::kNodeRecordEventsMax);
}

TEST_F(StretchTest, ReportsLowestSatisfactionOfClass) {
  policy::protect::ClassShare spark;
  spark.name = "spark";
  spark.share = model::CpuMilli{500};
  for (const std::int64_t permille : {900, 300, 0}) {
    spark.used.value += 100;
    spark.satisfaction_permille = permille == 0 ? std::nullopt : std::optional(permille);
    classes = {spark};
    take();
  }
  EXPECT_EQ(end().classes, (std::vector<model::ClassRecord>{{"spark", 300, 500, 300}}));
  take();
  EXPECT_EQ(end().classes, (std::vector<model::ClassRecord>{{"spark", 300, 500, std::nullopt}})) << "another stretch";
}

TEST_F(StretchTest, LineShowsOffNode) {
  permits.off = true;
  take();
  const auto record = end();
  EXPECT_EQ(record.permit, "off");
  EXPECT_FALSE(record.cpu_milli) << "it is not measured";
  EXPECT_FALSE(record.tasks_pressure);
}

}  // namespace
}  // namespace tidemark::agent
