#include "linux/cgroup/group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct GroupTest : ::testing::Test {
  testing::Tree tree;
  Buffer buffer;

  Hierarchies v2() {
    testing::make_v2(tree);
    return discovered();
  }
  Hierarchies v1() {
    testing::make_v1(tree);
    return discovered();
  }
  Hierarchies discovered() {
    auto found = Hierarchies::discover(tree.root(), "");
    EXPECT_TRUE(found) << found.error().message;
    return std::move(*found);
  }
  static Group opened(const Hierarchies& hierarchies, std::string_view path) {
    auto group = Group::open(hierarchies, path);
    EXPECT_TRUE(group) << group.error().message;
    EXPECT_TRUE(*group) << path << " is not there";
    return std::move(**group);
  }
};

TEST_F(GroupTest, ReadsAFileOfEachHierarchy) {
  testing::make_v1_group(tree, "kubepods/pod1");
  tree.write("cpuacct/kubepods/pod1/cpuacct.usage", "17\n");
  tree.write("memory/kubepods/pod1/memory.usage_in_bytes", "4096\n");
  const Hierarchies hierarchies = v1();
  const Group group = opened(hierarchies, "kubepods/pod1");
  EXPECT_EQ(group.read(File::kCpuUsage, buffer).value().value(), "17\n");
  EXPECT_EQ(group.read(File::kMemoryUsage, buffer).value().value(), "4096\n");
  EXPECT_TRUE(group.has(File::kMemoryUsage));
  EXPECT_FALSE(group.has(File::kCpuBvt));
  EXPECT_NE(group.directory(Controller::kCpu)->identity, group.directory(Controller::kMemory)->identity);
}

TEST_F(GroupTest, MissingFileIsNotMissingGroup) {
  testing::make_v2_group(tree, "", "a");
  const Hierarchies hierarchies = v2();
  const Group group = opened(hierarchies, "a");
  const auto bvt = group.read(File::kCpuBvt, buffer);
  ASSERT_FALSE(bvt);
  EXPECT_EQ(bvt.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(bvt.error().message.find("a/cpu.bvt_warp_ns"), std::string::npos) << bvt.error().message;

  const auto failures = group.read(File::kMemoryFailures, buffer);
  ASSERT_FALSE(failures);
  EXPECT_EQ(failures.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(failures.error().message.find("memory.failcnt"), std::string::npos);
}

TEST_F(GroupTest, RemovedGroupIsNoErrorAndNoValue) {
  testing::make_v2_group(tree, "", "a");
  tree.write("a/memory.current", "1\n");
  const Hierarchies hierarchies = v2();
  const Group group = opened(hierarchies, "a");
  EXPECT_TRUE(group.alive());
  tree.remove("a");
  EXPECT_FALSE(group.alive());
  const auto usage = group.read(File::kMemoryUsage, buffer);
  ASSERT_TRUE(usage) << usage.error().message;
  EXPECT_FALSE(*usage);
  EXPECT_FALSE(Group::open(hierarchies, "a").value());
}

TEST_F(GroupTest, RecreatedGroupIsAnotherGroup) {
  testing::make_v2_group(tree, "", "a");
  tree.write("a/memory.current", "1\n");
  const Hierarchies hierarchies = v2();
  const Group first = opened(hierarchies, "a");
  tree.remove("a");
  tree.folder("in-between");  // keeps the inode number from being given again by the file system of the fixture
  testing::make_v2_group(tree, "", "a");
  tree.write("a/memory.current", "2\n");
  EXPECT_FALSE(first.read(File::kMemoryUsage, buffer).value());
  const Group second = opened(hierarchies, "a");
  EXPECT_EQ(second.read(File::kMemoryUsage, buffer).value().value(), "2\n");
}

TEST_F(GroupTest, AKeptFileIsReadAnewEachTime) {
  testing::make_v2_group(tree, "", "a");
  tree.write("a/memory.current", "1\n");
  const Hierarchies hierarchies = v2();
  Group group = opened(hierarchies, "a");
  ASSERT_TRUE(group.keep(File::kMemoryUsage));
  ASSERT_TRUE(group.keep(File::kMemoryUsage)) << "twice is once";
  ASSERT_TRUE(group.keep(File::kCpuBvt)) << "what is not there is not kept";
  EXPECT_EQ(group.read(File::kMemoryUsage, buffer).value().value(), "1\n");
  tree.write("a/memory.current", "2222\n");
  EXPECT_EQ(group.read(File::kMemoryUsage, buffer).value().value(), "2222\n");
}

TEST_F(GroupTest, AFileThatDoesNotFitIsAnErrorAndNotHalfOfIt) {
  testing::make_v2_group(tree, "", "a");
  tree.write("a/memory.stat", std::string(100, 'x'));
  const Hierarchies hierarchies = v2();
  const Group group = opened(hierarchies, "a");
  Buffer small(100), enough(101);
  const auto refused = group.read(File::kMemoryStat, small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(group.read(File::kMemoryStat, enough).value().value().size(), 100u);
}

TEST_F(GroupTest, UnreadableIsAnErrorThatNamesTheFile) {
  testing::make_v2_group(tree, "", "a");
  tree.folder("a/memory.current");  // a folder cannot be read as a file, by root neither
  const Hierarchies hierarchies = v2();
  const Group group = opened(hierarchies, "a");
  const auto usage = group.read(File::kMemoryUsage, buffer);
  ASSERT_FALSE(usage);
  EXPECT_EQ(usage.error().kind, ErrorKind::kIo);
  EXPECT_NE(usage.error().message.find(tree.path("a/memory.current")), std::string::npos) << usage.error().message;
}

TEST_F(GroupTest, NoPathLeadsOutOfTheHierarchy) {
  testing::make_v2_group(tree, "", "a/b");
  const Hierarchies hierarchies = v2();
  for (const std::string_view path : {"..", "a/..", "a/../../x", "/a", "a//b", "a/", "./a", "a/./b"}) {
    const auto group = Group::open(hierarchies, path);
    ASSERT_FALSE(group) << path;
    EXPECT_EQ(group.error().kind, ErrorKind::kInvalid) << path;
  }
  ASSERT_EQ(::symlink("/", tree.path("link").c_str()), 0);
  EXPECT_FALSE(Group::open(hierarchies, "link")) << "a link is not followed";
  EXPECT_FALSE(Group::open(hierarchies, "link/etc"));
  EXPECT_FALSE(Group::open(hierarchies, "nowhere").value());
  EXPECT_TRUE(Group::open(hierarchies, "a/b").value());
  EXPECT_TRUE(Group::open(hierarchies, "").value()) << "the root group";
}

TEST_F(GroupTest, AGroupMayBeInSomeHierarchiesOnly) {
  testing::make_v1(tree);
  tree.write("unified/cgroup.controllers", "");
  tree.write("cpu/a/cgroup.procs", "");
  tree.write("cpu/a/cpu.shares", "2\n");
  const Hierarchies hierarchies = discovered();
  const Group group = opened(hierarchies, "a");
  EXPECT_TRUE(group.alive());
  EXPECT_TRUE(group.has(File::kCpuShares));
  EXPECT_FALSE(group.has(File::kCpuPressure));
  EXPECT_EQ(group.directory(Controller::kMemory), nullptr);
  const auto usage = group.read(File::kMemoryUsage, buffer);
  ASSERT_FALSE(usage) << "not there in that hierarchy, which is not gone";
  EXPECT_EQ(usage.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(usage.error().message.find("memory/a/memory.usage_in_bytes"), std::string::npos) << usage.error().message;
  tree.remove("cpu/a");
  EXPECT_FALSE(group.read(File::kMemoryUsage, buffer).value()) << "gone";
}

TEST_F(GroupTest, FindsGroupAddedToHierarchyLater) {
  testing::make_v2_group(tree, "cpu", "a");
  const Hierarchies hierarchies = v1();
  Group group = opened(hierarchies, "a");
  EXPECT_FALSE(group.has(File::kMemoryUsage));
  testing::make_v2_group(tree, "memory", "a");
  tree.write("memory/a/memory.usage_in_bytes", "4096\n");
  EXPECT_TRUE(group.has(File::kMemoryUsage));
  ASSERT_TRUE(group.keep(File::kMemoryUsage));
  EXPECT_EQ(group.read(File::kMemoryUsage, buffer).value().value(), "4096\n");
  EXPECT_NE(group.directory(Controller::kMemory), nullptr);
}

TEST_F(GroupTest, OnlyTheHierarchiesThatAreAskedForAreOpenedAtOnce) {
  testing::make_v1_group(tree, "a");
  tree.write("memory/a/memory.usage_in_bytes", "4096\n");
  const Hierarchies hierarchies = v1();
  const Controllers cpu = Controllers().set(static_cast<std::size_t>(Controller::kCpu));
  const auto group = Group::open(hierarchies, "a", cpu).value();
  ASSERT_TRUE(group);
  tree.remove("memory/a");
  testing::make_v1_group(tree, "a");
  tree.write("memory/a/memory.usage_in_bytes", "8192\n");
  EXPECT_EQ(group->read(File::kMemoryUsage, buffer).value().value(), "8192\n") << "opened when it is asked for";
  testing::make_v2_group(tree, "memory", "b");
  EXPECT_FALSE(Group::open(hierarchies, "b", cpu).value()) << "it is not in the one that was asked for";
}

TEST_F(GroupTest, GroupAfterRemovalIsAnotherGroup) {
  testing::make_v2_group(tree, "cpu", "a");
  const Hierarchies hierarchies = v1();
  const Group group = opened(hierarchies, "a");
  tree.remove("cpu/a");
  testing::make_v2_group(tree, "memory", "a");
  tree.write("memory/a/memory.usage_in_bytes", "4096\n");
  EXPECT_FALSE(group.read(File::kMemoryUsage, buffer).value());
  EXPECT_FALSE(group.has(File::kMemoryUsage));
  EXPECT_FALSE(group.alive());
}

TEST_F(GroupTest, OpensToWrite) {
  testing::make_v2_group(tree, "", "a");
  tree.write("a/cpu.weight", "100\n");
  const Hierarchies hierarchies = v2();
  const Group group = opened(hierarchies, "a");
  const auto fd = group.open_to_write(File::kCpuShares);
  ASSERT_TRUE(fd && *fd);
  EXPECT_EQ(::write((*fd)->get(), "300", 3), 3);
}

}  // namespace
}  // namespace tidemark::linux
