#include "linux/cgroup/hierarchies.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kHybridMounts =
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices\n"
    "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n"
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime master:4 propagate_from:2 - cgroup2 cgroup2 rw\n";

TEST(Mounts, AHybridMachine) {
  const auto found = parse_mounts("/sys/fs/cgroup", kHybridMounts);
  ASSERT_EQ(found.size(), 5u);  // devices and name=systemd carry nothing of ours
  EXPECT_EQ(found[0].path, "/sys/fs/cgroup/blkio");
  EXPECT_TRUE(found[0].controllers.test(static_cast<std::size_t>(Controller::kIo)));
  EXPECT_EQ(found[1].path, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(found[1].controllers.count(), 2u);
  EXPECT_EQ(found[4].path, "/sys/fs/cgroup/unified");
  EXPECT_EQ(found[4].version, Version::kV2);
}

TEST(Mounts, HierarchyWithoutOurControllersCounts) {
  EXPECT_EQ(parse_other_mounts("/sys/fs/cgroup/", kHybridMounts),
            (std::vector<std::string>{"/sys/fs/cgroup/devices", "/sys/fs/cgroup/systemd"}));
  EXPECT_TRUE(parse_other_mounts("/host", kHybridMounts).empty());
  EXPECT_TRUE(parse_other_mounts("/", "1 0 0:1 /docker/abc /a rw - cgroup cgroup rw,devices\n").empty())
      << "paths in it are others";
  EXPECT_TRUE(parse_other_mounts("/", "1 0 0:1 / /a rw - cgroup2 cgroup2 rw\n").empty());
  EXPECT_TRUE(parse_other_mounts("/", "1 0 0:1 / /a rw - tmpfs tmpfs rw\n").empty());
}

TEST(Mounts, OnlyMountsBeneathRoot) {
  EXPECT_EQ(parse_mounts("/host-cgroup", kHybridMounts).size(), 0u);
  EXPECT_EQ(parse_mounts("/sys/fs/cgroup/mem", kHybridMounts).size(), 0u) << "a prefix of a name is not a folder";
  EXPECT_EQ(parse_mounts("/sys/fs/cgroup/memory/", kHybridMounts).size(), 1u);
  EXPECT_EQ(parse_mounts("/", kHybridMounts).size(), 5u);
}

TEST(Mounts, AMountThatShowsTheWholeIsPreferred) {
  const auto found = parse_mounts("/",
                                  "1 0 0:1 /docker/abc /a rw - cgroup cgroup rw,cpu\n"
                                  "2 0 0:1 / /b rw - cgroup cgroup rw,cpu\n"
                                  "3 0 0:2 /docker/abc /c rw - cgroup cgroup rw,memory\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "/b");
  EXPECT_EQ(found[1].path, "/c");
  EXPECT_EQ(found[1].mount_root, "/docker/abc");
}

// Kernel, cgroup-v2: memory_recursiveprot is an option of the whole filesystem: it stands behind the type.
TEST(Mounts, WhetherMemoryIsHandedDown) {
  const auto with = [](std::string_view mount, std::string_view whole) {
    const auto found = parse_mounts("/", base::cat("1 0 0:9 / /c rw,", mount, " - cgroup2 none rw,", whole));
    return found.size() == 1 && found[0].hands_down_memory;
  };
  EXPECT_TRUE(with("nosuid", "nsdelegate,memory_recursiveprot"));
  EXPECT_FALSE(with("nosuid", "nsdelegate"));
  EXPECT_FALSE(with("memory_recursiveprot", "nsdelegate"));
}

TEST(Mounts, BlanksInPathsAndALaterMountOnTheSamePoint) {
  const auto found = parse_mounts("/x",
                                  "1 0 0:1 / /x/a\\040b rw - cgroup cgroup rw,cpu\n"
                                  "2 0 0:2 / /x/a\\040b rw - cgroup2 cgroup2 rw\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "/x/a b");
  EXPECT_EQ(found[0].version, Version::kV2);
}

TEST(Mounts, LinesThatAreNoMounts) {
  EXPECT_TRUE(parse_mounts("/", "").empty());
  EXPECT_TRUE(
      parse_mounts("/", "\n\n1 2 3\n32 31 0:29 / /cpu rw -\n32 31 0:29 / /cpu rw - cgroup cgroup\n - cgroup").empty());
}

TEST(Hierarchies, V2HasOneHomeForAll) {
  testing::Tree tree;
  testing::make_v2(tree);
  const auto found = Hierarchies::discover(tree.root(), "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->layout(), Layout::kV2);
  ASSERT_EQ(found->all().size(), 1u);
  EXPECT_STREQ(found->home(File::kCpuUsage)->name, "cpu.stat");
  EXPECT_STREQ(found->home(File::kCpuQuota)->name, "cpu.max");
  EXPECT_EQ(found->home(File::kMemoryFailures), nullptr) << "v2 has no failcnt";
  EXPECT_EQ(found->of(Controller::kPerfEvent), 0u);
}

TEST(Hierarchies, MissingControllerHasNoFiles) {
  testing::Tree tree;
  testing::make_v2(tree, "cpu\n");
  const auto found = Hierarchies::discover(tree.root(), "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->home(File::kMemoryUsage), nullptr);
  EXPECT_FALSE(found->of(Controller::kMemory));
  EXPECT_NE(found->home(File::kMemoryPressure), nullptr) << "pressure needs no controller";
}

TEST(Hierarchies, AHybridMachineHasPressureInUnifiedAndTheRestInV1) {
  testing::Tree tree;
  testing::make_v1(tree);
  tree.write("unified/cgroup.controllers", "hugetlb\n");
  const auto found = Hierarchies::discover(tree.root(), "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->layout(), Layout::kHybrid);
  EXPECT_STREQ(found->home(File::kCpuUsage)->name, "cpuacct.usage");
  EXPECT_EQ(found->home(File::kCpuUsage)->version, Version::kV1);
  EXPECT_STREQ(found->home(File::kCpuPressure)->name, "cpu.pressure");
  EXPECT_EQ(found->all()[found->home(File::kCpuPressure)->hierarchy].path, tree.path("unified"));
  EXPECT_EQ(found->all()[*found->of(Controller::kPerfEvent)].path, tree.path("unified"));
}

TEST(Hierarchies, ControllersMayBeSplitOverBothVersions) {
  testing::Tree tree;
  tree.write("cpu/cgroup.procs", "");
  tree.write("unified/cgroup.controllers", "memory io\n");
  const auto found = Hierarchies::discover(tree.root(), "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_STREQ(found->home(File::kMemoryUsage)->name, "memory.current");
  EXPECT_STREQ(found->home(File::kCpuShares)->name, "cpu.shares");
  EXPECT_STREQ(found->home(File::kCpuUsage)->name, "cpu.stat") << "v2 accounts for CPU without any controller";
}

TEST(Hierarchies, TheMountsOfTheTextCount) {
  testing::Tree tree;
  testing::make_v1(tree);
  const std::string mounts = "1 0 0:1 / " + tree.path("cpu") + " rw - cgroup cgroup rw,cpu\n";
  const auto found = Hierarchies::discover(tree.root() + "/", mounts);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->all().size(), 1u);
  EXPECT_EQ(found->layout(), Layout::kV1);
}

TEST(Hierarchies, ErrorNamesPlaceWithoutHierarchies) {
  testing::Tree tree;
  tree.folder("lost");
  const auto found = Hierarchies::discover(tree.root(), kHybridMounts);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(found.error().message.find(tree.root()), std::string::npos) << found.error().message;
  const auto absent = Hierarchies::discover(tree.path("nowhere"), kHybridMounts);
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find("nowhere"), std::string::npos);
}

TEST(Hierarchies, ManyFoldersForOneControllerAreOneHierarchy) {
  testing::Tree tree;
  for (int i = 0; i < 30; ++i) tree.folder("cpu,x" + std::to_string(i));
  const auto found = Hierarchies::discover(tree.root(), "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->all().size(), 1u);
}

}  // namespace
}  // namespace tidemark::linux
