// Usage of the NodeManager's local directories, and which container ends above the limit.
#include "yarn_copilot/local_dirs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "linux/filesystem.h"
#include "yarn_copilot/testing/world.h"

namespace tidemark::yarn_copilot {
namespace {

using namespace std::chrono_literals;
using testing::kLimit;
using testing::kMaster;
using testing::kOther;
using testing::kTask;
using testing::World;

const std::set<LocalApplication> kRunning = {{"ada", "application_1700000000000_0001"}};

struct LocalDirs : World {
  LocalDirs() {
    options.local_dirs = {local.root()};
    options.local_dirs_limit_mib = 1;
    options.local_dirs_grace = 1h;
    for (const std::string_view id : {kMaster, kTask, kOther}) add_process(pid++, id);
  }
  static std::string place(std::string_view id) {
    return base::cat("usercache/ada/appcache/application_1700000000000_0001/", id);
  }
  void fill(const std::string& folder, int kib) { local.write(folder + "/file", std::string(kib << 10, 'x')); }
  std::int64_t local_bytes(std::string_view id) {
    const auto body = Json::parse(get("/tidemark/v1/containers").body);
    for (const Json& each : body->member("containers")->as_array()) {
      const Json* bytes = each.member("localBytes");
      if (each.text_at("id") == id) return bytes == nullptr ? -1 : bytes->as_int();
    }
    return -2;
  }
  bool stopped(std::string_view id) {
    const auto body = Json::parse(get("/tidemark/v1/containers").body);
    for (const Json& each : body->member("containers")->as_array()) {
      if (each.text_at("id") == id) return !each.member("stoppedAt")->is_null();
    }
    return false;
  }
  LocalSight look(const LocalLook& limits = {}) {
    return look_at_local_dirs({local.root()}, kRunning, {}, limits, clock);
  }

  linux::testing::Tree local;
  pid_t pid = 100;
};

TEST_F(LocalDirs, StopsOnlyTheContainerThatHoldsMost) {
  fill(place(kTask), 900);
  fill(place(kOther), 300);
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return stopped(kTask); }, kLimit));
  EXPECT_FALSE(stopped(kOther));
  EXPECT_FALSE(stopped(kMaster));
  EXPECT_GE(local_bytes(kTask), 900 << 10);
  EXPECT_LT(local_bytes(kOther), 400 << 10);
  EXPECT_EQ(audit.back().verb, "stop");
  EXPECT_EQ(audit.back().name, kTask);
  EXPECT_EQ(audit.back().reason, "TM-YARN-017");
  EXPECT_NE(lines.find("hold more than their limit"), std::string::npos) << lines;
}

TEST_F(LocalDirs, StopsNothingBelowTheLimitAndReportsUsage) {
  fill(place(kTask), 200);
  fill("filecache/10", 100);
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return local_bytes(kTask) >= 200 << 10; }, kLimit));
  EXPECT_EQ(local_bytes(kMaster), 0);
  EXPECT_TRUE(audit.empty());
  const std::string text = metrics.text();
  EXPECT_NE(text.find("tidemark_yarn_copilot_local_dirs_limit_bytes 1048576"), std::string::npos) << text;
  EXPECT_NE(text.find("tidemark_yarn_copilot_local_dirs_seen_whole 1"), std::string::npos);
}

// The data was localized for all, or belongs to ended applications: it is reported, and no container ends in vain.
TEST_F(LocalDirs, StopsNothingForDataThatNoRunningContainerHolds) {
  fill("filecache/10", 2000);
  options.local_dirs.push_back(local.path("not-there"));
  start();
  ASSERT_TRUE(net::testing::run_real_until(
      loop, [&] { return lines.find("ending all containers would not help") != std::string::npos; }, kLimit))
      << lines;
  EXPECT_NE(lines.find("a local folder cannot be opened"), std::string::npos);
  EXPECT_EQ(local_bytes(kTask), -1) << "unseen usage is not reported";
  EXPECT_NE(metrics.text().find("tidemark_yarn_copilot_local_dirs_seen_whole 0"), std::string::npos);
  EXPECT_TRUE(audit.empty());
}

// For the agent, which has a threshold for each disk that the kubelet monitors.
TEST_F(LocalDirs, ReportsUsageOfEachContainerByDisk) {
  linux::testing::Tree another;
  options.local_dirs = {local.root(), another.root()};
  options.local_dirs_limit_mib = 0;
  fill(place(kTask), 200);
  another.write(place(kTask) + "/more", std::string(100 << 10, 'x'));
  fill("usercache/ada/appcache/application_1700000000000_0001/blockmgr", 500);
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return local_bytes(kTask) >= 300 << 10; }, kLimit));
  const auto listed = run(api().containers(kLimit)).value();
  const auto of = [&](std::string_view id) {
    return *std::ranges::find(listed.containers, id, &copilot::Container::name);
  };
  ASSERT_EQ(of(kTask).held.size(), 1U) << "both are on one disk";
  EXPECT_EQ(of(kTask).held[0].device, linux::filesystem_space(local.root()).value()->device);
  EXPECT_GE(of(kTask).held[0].bytes, 300 << 10);
  EXPECT_LT(of(kTask).held[0].bytes, 500 << 10) << "data of the application stays when the container ends";
  EXPECT_EQ(of(kTask).held[0].inodes, 4) << "two directories with a file in each";
  EXPECT_TRUE(of(kOther).held.empty());
}

TEST_F(LocalDirs, FollowsNoLink) {
  linux::testing::Tree elsewhere;
  elsewhere.write("file", std::string(4 << 20, 'x'));
  local.folder(place(kTask));
  std::filesystem::create_directory_symlink(elsewhere.root(), local.path(place(kTask) + "/out"));
  std::filesystem::create_directory_symlink(elsewhere.root(), local.path(place(kOther)));
  const LocalUse use = look().use;
  EXPECT_LT(use.bytes, 1 << 20);
  EXPECT_TRUE(use.whole);
}

// Below usercache/USER the user chooses all names.
TEST_F(LocalDirs, IgnoresDirectoriesNamedLikeAnotherUsersApplication) {
  local.write(base::cat("usercache/eve/appcache/application_1700000000000_0001/", kTask, "/file"),
              std::string(2000 << 10, 'x'));
  const LocalUse use = look().use;
  EXPECT_GE(use.bytes, 2000 << 10);
  EXPECT_TRUE(use.applications.empty());
  EXPECT_TRUE(use.containers.empty());
}

TEST_F(LocalDirs, EndsAPassWithAnyNumberOfNames) {
  for (int i = 0; i < 60; ++i) local.folder(base::cat("usercache/eve/appcache/application_", i));
  const LocalUse use = look({.entries = 10}).use;
  EXPECT_FALSE(use.whole);
}

TEST_F(LocalDirs, LimitsAPass) {
  for (int i = 0; i < 50; ++i) local.write(base::cat(place(kTask), "/", i), "x");
  EXPECT_TRUE(look().use.whole);
  EXPECT_FALSE(look({.entries = 20}).use.whole);
  EXPECT_FALSE(look({.time = 0s}).use.whole);
}

// Files of a task in three directories, so large that a pass reaches the end of one and a half.
struct ManyFolders : LocalDirs {
  ManyFolders() {
    for (linux::testing::Tree* each : {&local, &second, &third}) fill_many(*each, kFiles);
  }
  static void fill_many(linux::testing::Tree& tree, int files) {
    for (int i = 0; i < files; ++i) tree.write(base::cat(place(kTask), "/", i), std::string(4096, 'x'));
  }
  LocalUse look_on(const std::set<LocalApplication>& running = kRunning) {
    auto sight = look_at_local_dirs({local.root(), second.root(), third.root()}, running, memory,
                                    {.entries = kFiles * 3 / 2}, clock);
    memory = std::move(sight.memory);
    return std::move(sight.use);
  }
  std::size_t seen_of_task(const LocalUse& use) const {
    std::int64_t inodes = 0;
    for (const auto& [device, part] : use.devices.at(std::string(kTask))) inodes += part.inodes;
    return static_cast<std::size_t>(inodes);
  }
  static constexpr int kFiles = 40;
  static constexpr std::size_t kOfAll = 3 * (kFiles + 1);  // including the directory itself
  linux::testing::Tree second, third;
  LocalMemory memory;
};

TEST_F(ManyFolders, ContinuesInTheNextPass) {
  LocalUse use = look_on();
  EXPECT_FALSE(use.whole);
  EXPECT_LT(seen_of_task(use), kOfAll);
  EXPECT_EQ(memory.next, 1U) << "the second directory was cut short";
  use = look_on();
  EXPECT_EQ(memory.next, 2U);
  EXPECT_FALSE(use.whole) << "the third directory was not completed yet";
  use = look_on();
  EXPECT_TRUE(use.whole);
  EXPECT_EQ(seen_of_task(use), kOfAll);
  const std::int64_t all = use.bytes;
  fill_many(third, kFiles + 5);
  for (int i = 0; i < 3; ++i) use = look_on();
  EXPECT_GT(use.bytes, all) << "each is measured again";
}

TEST_F(ManyFolders, ADirectoryThatIsTooLargeDoesNotDelayOthers) {
  fill_many(local, 10 * kFiles);
  for (int i = 0; i < 4; ++i) look_on();
  ASSERT_TRUE(memory.folders[1] && memory.folders[2]);
  EXPECT_TRUE(memory.folders[1]->whole);
  EXPECT_TRUE(memory.folders[2]->whole);
  EXPECT_FALSE(memory.folders[0]->whole);
}

TEST_F(ManyFolders, ForgetsAnApplicationThatEnded) {
  for (int i = 0; i < 3; ++i) look_on();
  ASSERT_TRUE(look_on().whole);
  for (linux::testing::Tree* each : {&local, &second, &third}) each->remove("usercache");
  EXPECT_LT(look_on({}).bytes, 4096 * kFiles) << "also in directories that this pass did not reach";
}

TEST_F(LocalDirs, RejectsALimitWithoutDirectories) {
  options.local_dirs.clear();
  auto made = YarnCopilot::make(loop, {killing, workers, {}, managers, 1}, log, metrics, options);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("--nm-local-dirs"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::yarn_copilot
