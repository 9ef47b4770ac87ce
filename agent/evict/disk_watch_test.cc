// Disks of a size that the test says, and pods' folders in a folder.
#include "agent/evict/disk_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/filesystem.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
using model::Disk;

constexpr std::size_t kKubelet = static_cast<std::size_t>(Disk::kKubelet);
constexpr std::size_t kRuntime = static_cast<std::size_t>(Disk::kRuntime);

class DiskWatches : public ::testing::Test {
 protected:
  DiskWatches() {
    tree.folder("kubelet/pods");
    tree.folder("logs");
    tree.folder("runtime");
    settings.disk_free_percent = 20;
    found.disks[kKubelet] = model::DiskSeen{1000, 900, 0, 0};
    found.kubelet_device = device();
  }

  DiskPlaces places() const { return {tree.path("kubelet"), tree.path("runtime"), tree.path("logs")}; }
  std::uint64_t device() const { return linux::filesystem_space(tree.root()).value()->device; }

  void pod(const std::string& name, std::size_t volume_bytes, std::size_t log_bytes, model::Qos qos = model::Qos::kBe) {
    auto task = std::make_shared<model::Task>();
    task->identity.source = "kubernetes";
    task->identity.task = "uid-" + name;
    task->name = name;
    task->ns = "jobs";
    task->path = "kubepods/pod" + name;
    task->phase = model::PodPhase::kRunning;
    task->qos_raw = task->qos = qos;
    tasks.tasks.push_back({{0, 1}, task, std::nullopt, false});
    const std::string folder = base::cat("kubelet/pods/uid-", name, "/volumes/");
    if (volume_bytes > 0) {
      tree.write(base::cat(folder, "kubernetes.io~empty-dir/scratch/file"), std::string(volume_bytes, 'x'));
    }
    tree.write(base::cat(folder, "kubernetes.io~secret/token/file"), std::string(1'000'000, 'x'));
    if (log_bytes > 0) {
      tree.write(base::cat("logs/jobs_", name, "_uid-", name, "/main/0.log"), std::string(log_bytes, 'x'));
    }
  }

  void begin() {
    watch.reset();
    watch = std::make_unique<DiskWatch>(
        loop, files, log, metrics, places(), [this] { return copilots; },
        [this](const DiskPlaces&) -> Result<DisksFound> {
          ++looks;
          if (fails) return fail(ErrorKind::kUnavailable, "no such disk");
          return found;
        });
  }
  // A second, and what the worker does in it.
  void seconds(int count) {
    for (int i = 0; i < count; ++i) {
      watch->observe(settings, tasks, may_act);
      ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return !watch->looking(); }));
      clock.advance(1s);
    }
  }

  linux::testing::Tree tree;
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  base::Registry metrics;
  net::WorkerPool files{1, 64};
  model::EvictSettings settings;
  TaskSnapshot tasks;
  DisksFound found;
  std::vector<TaskOnDisks> copilots;
  bool fails = false;
  bool may_act = true;
  std::atomic<int> looks = 0;
  std::unique_ptr<DiskWatch> watch;
};

TEST_F(DiskWatches, WithoutThresholdNothingIsRead) {
  settings = {};
  begin();
  seconds(30);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(watch->sights().disks[kKubelet], std::nullopt);
  settings.inodes_free_percent = 10;
  seconds(1);
  EXPECT_EQ(looks, 1);
  EXPECT_NE(metrics.text().find("tidemark_agent_disk_free_ratio{component=\"kubelet\"} 0.9"), std::string::npos)
      << metrics.text();
}

TEST_F(DiskWatches, MeasuresPodsOnlyNearThreshold) {
  pod("job", 200'000, 50'000);
  begin();
  seconds(31);
  EXPECT_EQ(looks, 4) << "each ten seconds";
  EXPECT_EQ(watch->sights().disks[kKubelet], found.disks[kKubelet]);
  EXPECT_TRUE(watch->sights().held.empty()) << "90 % is free";
  found.disks[kKubelet]->bytes_free = 249;
  seconds(10);
  ASSERT_EQ(watch->sights().held.size(), 1U);
  EXPECT_GE(watch->sights().held.at("uid-job")[kKubelet].bytes, 250'000);
  // It grew, which is seen a minute later.
  tree.write("kubelet/pods/uid-job/volumes/kubernetes.io~empty-dir/scratch/more", std::string(300'000, 'x'));
  seconds(40);
  EXPECT_LT(watch->sights().held.at("uid-job")[kKubelet].bytes, 500'000);
  seconds(30);
  EXPECT_GE(watch->sights().held.at("uid-job")[kKubelet].bytes, 550'000);
  found.disks[kKubelet]->bytes_free = 900;
  seconds(200);
  EXPECT_TRUE(watch->sights().held.empty()) << "it is too old to go by";
}

TEST_F(DiskWatches, MeasuresOnlyOfflinePods) {
  pod("job", 200'000, 0);
  pod("web", 200'000, 0, model::Qos::kLs);
  found.disks[kKubelet]->bytes_free = 100;
  begin();
  seconds(1);
  EXPECT_TRUE(watch->sights().held.contains("uid-job"));
  EXPECT_FALSE(watch->sights().held.contains("uid-web"));
}

// The watch measures only pods that may be evicted, also a pod that is offline by its priority alone.
TEST_F(DiskWatches, MeasuresPodsThatMayBeEvicted) {
  pod("mid", 200'000, 0, model::Qos::kLs);
  const_cast<model::Task&>(*tasks.tasks[0].task).priority_raw = model::PriorityClass::kMid;
  found.disks[kKubelet]->bytes_free = 100;
  begin();
  seconds(1);
  EXPECT_TRUE(watch->sights().held.contains("uid-mid"));
}

TEST_F(DiskWatches, WithoutEvictionsPodsAreNotMeasured) {
  pod("job", 200'000, 0);
  found.disks[kKubelet]->bytes_free = 100;
  may_act = false;
  begin();
  seconds(20);
  EXPECT_EQ(watch->sights().disks[kKubelet], found.disks[kKubelet]);
  EXPECT_TRUE(watch->sights().held.empty());
  may_act = true;
  seconds(10);
  EXPECT_TRUE(watch->sights().held.contains("uid-job"));
}

// Looking at pods takes its time, in which a disk may have been freed.
TEST_F(DiskWatches, ReadsFreeSpaceAgainAfterMeasuringPods) {
  pod("job", 200'000, 0);
  found.disks[kKubelet]->bytes_free = 100;
  begin();
  seconds(1);
  EXPECT_EQ(looks, 2);
  seconds(10);
  EXPECT_EQ(looks, 3) << "of pods it is known for a minute";
}

TEST_F(DiskWatches, ReportsHangingDiskOnce) {
  begin();
  seconds(1);
  std::atomic<bool> answers = false;
  watch = std::make_unique<DiskWatch>(loop, files, log, metrics, places(), nullptr,
                                      [&](const DiskPlaces&) -> Result<DisksFound> {
                                        while (!answers) std::this_thread::yield();
                                        return found;
                                      });
  for (int i = 0; i < 100; ++i) {
    watch->observe(settings, tasks, true);
    loop.run_ready();
    clock.advance(1s);
  }
  EXPECT_NE(lines.find("does not answer"), std::string::npos);
  EXPECT_EQ(lines.find("does not answer"), lines.rfind("does not answer")) << "once";
  answers = true;
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return !watch->looking(); }));
  seconds(11);
  EXPECT_TRUE(watch->sights().disks[kKubelet]);
}

TEST_F(DiskWatches, ThresholdsChangeWhileDiskHangs) {
  std::atomic<bool> answers = false;
  watch = std::make_unique<DiskWatch>(loop, files, log, metrics, places(), nullptr,
                                      [&](const DiskPlaces&) -> Result<DisksFound> {
                                        while (!answers) std::this_thread::yield();
                                        return found;
                                      });
  const auto second = [&] {
    watch->observe(settings, tasks, true);
    loop.run_ready();
    clock.advance(1s);
  };
  second();
  const model::EvictSettings drawn = std::exchange(settings, {});
  second();
  settings = drawn;
  for (int i = 0; i < 60; ++i) second();
  EXPECT_NE(lines.find("does not answer"), std::string::npos);
  answers = true;
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return !watch->looking(); }));
}

TEST_F(DiskWatches, UnreadableDiskHasNoValues) {
  begin();
  seconds(1);
  ASSERT_TRUE(watch->sights().disks[kKubelet]);
  fails = true;
  seconds(40);
  EXPECT_TRUE(watch->sights().disks[kKubelet]) << "for a while what was seen last holds";
  seconds(20);
  EXPECT_EQ(watch->sights().disks[kKubelet], std::nullopt);
  EXPECT_NE(lines.find("no such disk"), std::string::npos);
  EXPECT_EQ(lines.find("no such disk"), lines.rfind("no such disk")) << "once";
  fails = false;
  seconds(10);
  EXPECT_TRUE(watch->sights().disks[kKubelet]);
}

// YARN's local folders may lie on the kubelet's disk, on the runtime's, or on one that no kubelet looks at.
TEST_F(DiskWatches, CountsCopilotTaskDataOnThatDiskOnly) {
  found.kubelet_device = 1;
  found.runtime_device = 2;
  found.disks[kRuntime] = model::DiskSeen{1000, 900, 0, 0};
  copilots = {{"c1", {{1, 500, 5}, {2, 70, 7}}}, {"c2", {{3, 900, 9}}}};
  begin();
  seconds(1);
  const auto& held = watch->sights().held;
  EXPECT_EQ(held.at("c1")[kKubelet], (model::DiskHeld{500, 5, false})) << "what it writes elsewhere is not seen";
  EXPECT_EQ(held.at("c1")[kRuntime], (model::DiskHeld{70, 7, false}));
  EXPECT_EQ(held.at("c2"), model::ByDisk<model::DiskHeld>{}) << "on a disk of its own";
  copilots = {{"c2", {{1, 30, 3}}}};
  seconds(10);
  EXPECT_FALSE(watch->sights().held.contains("c1")) << "it has ended";
  EXPECT_EQ(watch->sights().held.at("c2")[kKubelet].bytes, 30);
  seconds(250);
  EXPECT_EQ(watch->sights().held.at("c2")[kKubelet].bytes, 30) << "said each time";
}

TEST_F(DiskWatches, SharedDiskIsCountedOnce) {
  found.kubelet_device = 1;
  found.one = true;
  copilots = {{"c1", {{1, 500, 5}, {0, 70, 7}}}};
  begin();
  seconds(1);
  EXPECT_EQ(watch->sights().held.at("c1")[kKubelet].bytes, 500);
  EXPECT_EQ(watch->sights().held.at("c1")[kRuntime], model::DiskHeld{});
}

// Volumes and logs, and nothing that is no pod's own: secrets and what is in memory lie beside them.
TEST_F(DiskWatches, CountsPodLogsAndVolumes) {
  pod("job", 200'000, 50'000);
  found.disks[kRuntime] = model::DiskSeen{1000, 900, 0, 0};
  const auto held = held_by_pod(places(), {"jobs", "job", "uid-job"}, found);
  EXPECT_GE(held[kKubelet].bytes, 250'000);
  EXPECT_LT(held[kKubelet].bytes, 400'000) << "the secret is not its own to free";
  EXPECT_EQ(held[kKubelet].inodes, 6);
  EXPECT_TRUE(held[kKubelet].whole);
  EXPECT_EQ(held[kRuntime], model::DiskHeld());
  found.one = true;
  found.disks[kRuntime].reset();
  EXPECT_FALSE(held_by_pod(places(), {"jobs", "job", "uid-job"}, found)[kKubelet].whole)
      << "what its containers write beside volumes lies on the same disk";
}

TEST_F(DiskWatches, WithoutVisibleVolumesPodIsIncomplete) {
  pod("job", 200'000, 50'000);
  found.disks[kRuntime] = model::DiskSeen{1000, 900, 0, 0};
  tree.remove("kubelet/pods");
  const auto held = held_by_pod(places(), {"jobs", "job", "uid-job"}, found)[kKubelet];
  EXPECT_GE(held.bytes, 50'000);
  EXPECT_LT(held.bytes, 200'000);
  EXPECT_FALSE(held.whole);
  tree.folder("kubelet/pods");
  EXPECT_TRUE(held_by_pod(places(), {"jobs", "job", "uid-job"}, found)[kKubelet].whole) << "it has none";
}

TEST_F(DiskWatches, IgnoresNamesThatLeadElsewhere) {
  tree.write("kubelet/secret", std::string(200'000, 'x'));
  for (const char* bad : {"", "..", "../..", "a/b"}) {
    EXPECT_EQ(held_by_pod(places(), {"jobs", "job", bad}, found), model::ByDisk<model::DiskHeld>()) << bad;
    EXPECT_EQ(held_by_pod(places(), {bad, "job", "u"}, found), model::ByDisk<model::DiskHeld>()) << bad;
  }
}

TEST(Disks, FindsDisksOfTheMachine) {
  linux::testing::Tree tree;
  tree.write("kubelet/cpu_manager_state", "{}");
  tree.folder("runtime");
  const auto found = look_at_disks({tree.path("kubelet"), tree.path("runtime"), tree.path("logs")});
  ASSERT_TRUE(found) << found.error().message;
  const auto space = linux::filesystem_space(tree.root()).value();
  EXPECT_EQ(found->disks[kKubelet]->bytes, space->bytes);
  EXPECT_EQ(found->kubelet_device, space->device);
  EXPECT_TRUE(found->one) << "both are in one folder";
  EXPECT_EQ(found->disks[kRuntime], std::nullopt);
  // A filesystem in memory, which every machine has, is another one.
  const auto other = look_at_disks({tree.path("kubelet"), "/dev", {}});
  ASSERT_TRUE(other);
  if (linux::filesystem_space("/dev").value()->device == space->device) GTEST_SKIP() << "/dev is no filesystem";
  EXPECT_FALSE(other->one);
  EXPECT_TRUE(other->disks[kRuntime]);
  EXPECT_TRUE(look_at_disks({tree.path("kubelet"), tree.path("nowhere"), {}})->one == false);
  EXPECT_FALSE(look_at_disks({tree.path("nowhere"), tree.path("runtime"), {}}));
}

}  // namespace
}  // namespace tidemark::agent
