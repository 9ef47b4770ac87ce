#include "agent/tasks/pod_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/testing/node.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

struct PodGroupsTest : testing::NodeTest {
  PodGroupsTest() {
    groups->on_change([this] { ++changes; });
    groups->on_new_pod([this] { ++new_pods; });
  }
  void begin() {
    scope.spawn(groups->run());
    run_for(0s);
  }
  std::string uids() {
    std::vector<std::string> found;
    for (const linux::LivePod& pod : groups->pods()) found.push_back(pod.uid);
    return base::join(found, " ");
  }

  int changes = 0, new_pods = 0;
};

TEST_F(PodGroupsTest, FindsExistingGroups) {
  make("burstable/podu2/c1");
  make("besteffort");
  make("podu1");
  begin();
  EXPECT_EQ(uids(), "u1 u2");
  ASSERT_NE(groups->find("u2"), nullptr);
  EXPECT_EQ(groups->find("u2")->path, "kubepods/burstable/podu2");
  ASSERT_EQ(groups->find("u2")->containers.size(), 1u);
  EXPECT_EQ(groups->find("u2")->containers[0].path, "kubepods/burstable/podu2/c1");
  EXPECT_EQ(groups->find("u3"), nullptr);
  EXPECT_TRUE(groups->current());
}

TEST_F(PodGroupsTest, NamesAreUnknownWithoutKubelet) {
  begin();
  EXPECT_EQ(groups->kubepods(), nullptr);
  EXPECT_TRUE(groups->current());
  make_levels();
  run_for(10s);
  ASSERT_NE(groups->kubepods(), nullptr);
  EXPECT_EQ(groups->kubepods()->driver(), linux::CgroupDriver::kCgroupfs);
  EXPECT_EQ(changes, 1);
}

TEST_F(PodGroupsTest, FindsNewPodWhenGroupIsCreated) {
  make_levels();
  begin();
  make("besteffort/podu1");
  run_for(0s);
  EXPECT_EQ(uids(), "u1");
  EXPECT_EQ(new_pods, 1);
  make("podu0");
  run_for(0s);
  EXPECT_EQ(uids(), "u0 u1");
  EXPECT_EQ(new_pods, 2);
}

TEST_F(PodGroupsTest, FindsNewContainersAndRemovedPods) {
  make("burstable/podu1");
  make("besteffort");
  begin();
  EXPECT_EQ(new_pods, 1);
  make("burstable/podu1/c1");
  run_for(0s);
  EXPECT_EQ(groups->find("u1")->containers.size(), 1u);
  EXPECT_EQ(new_pods, 1);  // a container is no new pod
  remove("burstable/podu1");
  run_for(0s);
  EXPECT_EQ(uids(), "");
  EXPECT_EQ(new_pods, 1);
}

// Contract 7.1: at most 5/s, burst 10.
TEST_F(PodGroupsTest, LooksAreRateLimited) {
  make_levels();
  begin();
  // Each is looked at by itself: the loop runs dry between two.
  for (int i = 0; i < 10; ++i) {
    make(base::cat("burstable/podu", i));
    run_for(0s);
  }
  EXPECT_EQ(new_pods, 10);
  make("burstable/podx1");
  run_for(0s);
  make("burstable/podx2");
  run_for(199ms);
  EXPECT_EQ(new_pods, 10);
  run_for(1ms);
  EXPECT_EQ(new_pods, 11);  // both at once
  EXPECT_EQ(groups->pods().size(), 12u);
}

TEST_F(PodGroupsTest, NothingNewIsNoChange) {
  make("burstable/podu1");
  make("besteffort");
  begin();
  const int before = changes;
  run_for(60s);
  EXPECT_EQ(changes, before);
}

TEST_F(PodGroupsTest, RecreatedGroupsAreWatchedAgain) {
  make("burstable/podu1");
  make("besteffort");
  begin();
  tree.remove("kubepods");
  run_for(0s);
  EXPECT_EQ(uids(), "");
  make_levels();
  run_for(10s);
  make("besteffort/podu2");
  run_for(0s);
  EXPECT_EQ(uids(), "u2");
}

// A kubelet that comes back with another driver leaves the empty groups of the old one behind.
TEST_F(PodGroupsTest, DriverMayChange) {
  make_levels();
  begin();
  EXPECT_EQ(groups->kubepods()->driver(), linux::CgroupDriver::kCgroupfs);
  tree.folder("kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice/cri-containerd-c1.scope");
  run_for(10s);
  ASSERT_NE(groups->find("u-1"), nullptr);
  EXPECT_EQ(groups->kubepods()->driver(), linux::CgroupDriver::kSystemd);
}

TEST_F(PodGroupsTest, UnreadableGroupsKeepLastResult) {
  make("burstable/podu1");
  make("besteffort");
  begin();
  remove("burstable");
  tree.write("kubepods/burstable", "a file");
  run_for(10s);
  EXPECT_FALSE(groups->current());
  EXPECT_EQ(uids(), "u1");
  EXPECT_NE(lines.find("cannot read the cgroups of pods"), std::string::npos) << lines;
}

TEST(PodGroups, OfV1AreThoseOfTheCpuHierarchy) {
  linux::testing::Tree tree;
  linux::testing::make_v1(tree);
  tree.folder("memory/kubepods/burstable/podu1");
  tree.folder("cpu/kubepods/burstable/podu2");
  tree.folder("cpu/kubepods/besteffort");
  const auto hierarchies = linux::Hierarchies::discover(tree.root(), "").value();
  base::testing::Clock clock;
  net::EventLoop loop(clock);
  PodGroups groups(loop, hierarchies, base::Log(clock, {.write = [](std::string_view) {}}), {});
  ASSERT_TRUE(groups.look());
  ASSERT_EQ(groups.pods().size(), 1u);
  EXPECT_EQ(groups.pods()[0].uid, "u2");
}

}  // namespace
}  // namespace tidemark::agent
