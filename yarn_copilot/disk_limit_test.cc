// The disk limit through the copilot's socket, on a directory that emulates cgroup v1.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "yarn_copilot/testing/world.h"

namespace tidemark::yarn_copilot {
namespace {

using namespace std::chrono_literals;
using testing::kEnded;
using testing::kTask;
using testing::said;
using testing::World;

// One disk for the local directory, in the format of kernel `version`.
struct WithDisk : World {
  void SetUp() override {
    struct ::stat found{};
    ASSERT_EQ(::stat(groups.root().c_str(), &found), 0);
    disk = base::cat(::major(found.st_dev), ":", ::minor(found.st_dev));
    proc.folder("sys/dev/block/" + disk);
    options.sys_root = proc.path("sys");
    options.local_dirs = {groups.root()};
    options.disk_read_mib = 20;
    options.disk_write_mib = 10;
    options.permit_patience = 0s;
    groups.write(std::string(kReads), "");
    groups.write(std::string(kWrites), "");
  }
  void stop() { run(copilot->drain()); }
  // The permit that the agent sends in each pass.
  std::string stand(std::string_view permit) {
    const auto said = post("/tidemark/v1/permit", base::cat(R"({"permit":")", permit, R"("})"));
    EXPECT_EQ(said.status, 200) << said.body;
    return std::string(Json::parse(said.body).value().text_at("says"));
  }
  // Each request lets the copilot run.
  bool becomes(const std::function<bool()>& is_so) {
    for (int tries = 0; tries < 2000 && !is_so(); ++tries) get("/health");
    return is_so();
  }
  std::string in_force() { return base::cat(disk, " ", 10 << 20); }
  bool limited() { return content(kWrites).starts_with(in_force()); }

  static constexpr std::string_view kReads = "blkio/kubepods/besteffort/hadoop-yarn/blkio.throttle.read_bps_device",
                                    kWrites = "blkio/kubepods/besteffort/hadoop-yarn/blkio.throttle.write_bps_device";
  std::string disk;
};

TEST_F(WithDisk, LimitsAllContainersTogetherAndRestoresAtItsEnd) {
  const std::string parent = base::cat("blkio/", kDefaultGroup);
  groups.write(kWrites, base::cat(disk, " 77\n"));
  for (const std::string_view one : {"cpu", "memory", "pids", "freezer", "cpuacct"}) {
    groups.write(base::cat(one, "/", group_of(kTask), "/cgroup.procs"), "");
  }
  groups.write(parent + "/cgroup.procs", "");
  groups.write("cpuset/kubepods/besteffort/cgroup.procs", "");
  add_process(10, kTask);
  options.adopt = true;
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return lines.contains("disk limit set"); })) << lines;
  EXPECT_EQ(content(kReads), base::cat(disk, " ", 20 << 20));
  EXPECT_EQ(content(kWrites).substr(0, disk.size() + 9), base::cat(disk, " ", 10 << 20));
  EXPECT_TRUE(get("/metrics").body.contains("tidemark_yarn_copilot_limited_disks 1\n"));
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return content(parent + "/cgroup.procs").starts_with("10"); }))
      << "a limit of v1 applies only to processes in the cgroup itself\n"
      << lines;
  ASSERT_FALSE(audit.empty());
  EXPECT_EQ(audit[0].new_value, R"({"readBytesPerSecond":20971520,"writeBytesPerSecond":10485760})");
  EXPECT_EQ(audit[0].old_value, R"({"writeBytesPerSecond":77})");
  stop();
  EXPECT_TRUE(content(kReads).starts_with(base::cat(disk, " 0"))) << content(kReads);
  EXPECT_TRUE(content(kWrites).starts_with(base::cat(disk, " 77"))) << content(kWrites);
}

TEST_F(WithDisk, KeepsAValueOfAnotherProgram) {
  options.adopt = true;
  options.disk_read_mib = 0;
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return lines.contains("disk limit set"); }));
  groups.write(kReads, base::cat(disk, " 5\n"));
  groups.write(kWrites, base::cat(disk, " 6\n"));
  stop();
  EXPECT_EQ(content(kWrites), base::cat(disk, " 6\n"));
  EXPECT_EQ(content(kReads), base::cat(disk, " 5\n"));
}

// docs/guide/off.md: running offline work keeps its limits; original values are restored when none runs.
TEST_F(WithDisk, KeepsTheLimitWhenOffUntilTheLastContainerEnds) {
  groups.write(kWrites, base::cat(disk, " 77\n"));
  options.adopt = true;
  start();
  ASSERT_TRUE(becomes([&] { return limited(); })) << lines;
  stand("off");
  ASSERT_TRUE(becomes([&] { return get("/metrics").body.contains("tidemark_yarn_copilot_disk_limit_enforced 0\n"); }));
  EXPECT_TRUE(limited()) << "containers run";
  EXPECT_EQ(stand("off"),
            "disks of containers: 20 MiB/s read, 10 MiB/s written, in force on 1 disk until no container runs");
  away = true;
  stand("keep");
  const int before = asked;
  stand("off");
  ASSERT_TRUE(becomes([&] { return asked > before; }));
  get("/health");
  EXPECT_TRUE(limited()) << "running containers are unknown";
  away = false;
  tell({said(kEnded, "EXITED_WITH_SUCCESS")});
  stand("keep");
  stand("off");
  ASSERT_TRUE(becomes([&] { return content(kWrites).starts_with(base::cat(disk, " 77")); })) << content(kWrites);
  EXPECT_TRUE(becomes(
      [&] { return stand("off") == "disks of containers: 20 MiB/s read, 10 MiB/s written where it is enforced"; }));
  stand("enforce");
  EXPECT_TRUE(becomes([&] { return limited(); })) << "the node is on again";
}

TEST_F(WithDisk, ReportsAndRestoresInObserveMode) {
  groups.write(kWrites, base::cat(disk, " 77\n"));
  options.adopt = true;
  start();
  ASSERT_TRUE(becomes([&] { return limited(); })) << lines;
  stand("restore");
  ASSERT_TRUE(becomes([&] { return content(kWrites).starts_with(base::cat(disk, " 77")); })) << content(kWrites);
  ASSERT_TRUE(becomes([&] { return get("/metrics").body.contains("tidemark_yarn_copilot_limited_disks 0\n"); }));
  const auto told = Json::parse(get("/tidemark/v1/disks").body).value();
  EXPECT_EQ(told.text_at("permit"), "restore");
  EXPECT_EQ(told.at("writeBytesPerSecond")->as_int(), 10 << 20) << "the value that would be set";
  const Json& one = told.at("disks")->as_array().at(0);
  EXPECT_EQ(one.text_at("disk"), disk);
  EXPECT_FALSE(one.at("inForce")->as_bool());
  EXPECT_EQ(one.at("stands", "writeBytesPerSecond")->as_int(), 77);
}

TEST_F(WithDisk, KeepsTheValueUntilTheAgentKnows) {
  options.adopt = true;
  options.permit_patience = 1h;
  start();
  stand("keep");
  EXPECT_EQ(stand("keep"), "disks of containers: 20 MiB/s read, 10 MiB/s written where it is enforced");
  EXPECT_FALSE(limited());
  stand("enforce");
  ASSERT_TRUE(becomes([&] { return limited(); })) << lines;
  stand("keep");
  ASSERT_TRUE(becomes([&] { return get("/metrics").body.contains("tidemark_yarn_copilot_disk_limit_enforced 0\n"); }));
  EXPECT_TRUE(limited());
}

TEST_F(World, ReportsNothingWithoutADiskLimit) {
  start();
  EXPECT_EQ(post("/tidemark/v1/permit", R"({"permit":"off"})").body, R"({"says":""})");
  EXPECT_EQ(post("/tidemark/v1/permit", R"({"permit":"maybe"})").status, 400);
  EXPECT_EQ(get("/tidemark/v1/permit").status, 405);
}

TEST_F(WithDisk, ReportsADiskThatCannotBeLimited) {
  options.adopt = true;
  options.sys_root = proc.path("nothing");
  start();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return lines.contains("lies on no disk of this machine"); }));
  EXPECT_TRUE(get("/metrics").body.contains("tidemark_yarn_copilot_limited_disks 0\n"));
}

}  // namespace
}  // namespace tidemark::yarn_copilot
