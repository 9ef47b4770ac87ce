#include "linux/kubepods.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kUid = "7d3b2a10-0c1e-4f6a-9a59-2f0f6f0a1b2c";

// Contract 7.2, the table of drivers.
TEST(Kubepods, PathsOfCgroupfs) {
  const Kubepods layout(CgroupDriver::kCgroupfs);
  EXPECT_EQ(layout.qos_path(KubeQos::kGuaranteed), "kubepods");
  EXPECT_EQ(layout.qos_path(KubeQos::kBestEffort), "kubepods/besteffort");
  EXPECT_EQ(layout.pod_path(KubeQos::kGuaranteed, kUid), "kubepods/pod7d3b2a10-0c1e-4f6a-9a59-2f0f6f0a1b2c");
  EXPECT_EQ(layout.pod_path(KubeQos::kBurstable, kUid), "kubepods/burstable/pod7d3b2a10-0c1e-4f6a-9a59-2f0f6f0a1b2c");
}

TEST(Kubepods, PathsOfSystemd) {
  const Kubepods layout(CgroupDriver::kSystemd);
  EXPECT_EQ(layout.qos_path(KubeQos::kGuaranteed), "kubepods.slice");
  EXPECT_EQ(layout.qos_path(KubeQos::kBurstable), "kubepods.slice/kubepods-burstable.slice");
  EXPECT_EQ(layout.pod_path(KubeQos::kGuaranteed, kUid),
            "kubepods.slice/kubepods-pod7d3b2a10_0c1e_4f6a_9a59_2f0f6f0a1b2c.slice");
  EXPECT_EQ(
      layout.pod_path(KubeQos::kBestEffort, kUid),
      "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod7d3b2a10_0c1e_4f6a_9a59_2f0f6f0a1b2c.slice");
}

TEST(Kubepods, BelowACgroupRoot) {
  EXPECT_EQ(Kubepods(CgroupDriver::kCgroupfs, "/run/one-two/").qos_path(KubeQos::kBurstable),
            "run/one-two/kubepods/burstable");
  EXPECT_EQ(Kubepods(CgroupDriver::kSystemd, "/run/one-two").qos_path(KubeQos::kBurstable),
            "run.slice/run-one_two.slice/run-one_two-kubepods.slice/run-one_two-kubepods-burstable.slice");
}

TEST(Kubepods, APodsGroupFollowsFromThatOfItsClass) {
  for (const CgroupDriver driver : {CgroupDriver::kCgroupfs, CgroupDriver::kSystemd}) {
    for (const char* root : {"/", "/run/one-two"}) {
      const Kubepods layout(driver, root);
      for (const KubeQos qos : kKubeQosLevels) {
        EXPECT_EQ(pod_path_in(layout.qos_path(qos), kUid), layout.pod_path(qos, kUid)) << to_string(driver) << root;
      }
    }
  }
}

TEST(Kubepods, NamesLeadBack) {
  for (const CgroupDriver driver : {CgroupDriver::kCgroupfs, CgroupDriver::kSystemd}) {
    const Kubepods layout(driver, "/a-b");
    for (const KubeQos qos : kKubeQosLevels) {
      const std::string path = layout.pod_path(qos, kUid).value();
      EXPECT_EQ(layout.pod_uid(qos, path.substr(path.rfind('/') + 1)), kUid) << path;
    }
    EXPECT_FALSE(layout.pod_uid(KubeQos::kGuaranteed, "burstable"));
    EXPECT_FALSE(layout.pod_uid(KubeQos::kGuaranteed, "pod"));
    EXPECT_FALSE(layout.pod_path(KubeQos::kGuaranteed, "../x"));
    EXPECT_FALSE(layout.pod_path(KubeQos::kGuaranteed, ""));
  }
  const Kubepods systemd(CgroupDriver::kSystemd);
  EXPECT_FALSE(systemd.pod_uid(KubeQos::kGuaranteed, "kubepods-besteffort.slice"));
  EXPECT_FALSE(systemd.pod_uid(KubeQos::kGuaranteed, "kubepods-besteffort-podx.slice"));
}

TEST(Kubepods, ContainersOfTheRuntimes) {
  EXPECT_EQ(container_id(CgroupDriver::kCgroupfs, "0a1b"), "0a1b");
  EXPECT_EQ(container_id(CgroupDriver::kCgroupfs, "crio-0a1b"), "0a1b");
  EXPECT_FALSE(container_id(CgroupDriver::kCgroupfs, "crio-conmon-0a1b"));
  for (const std::string_view runtime : {"cri-containerd-", "docker-", "crio-", "pouch-"}) {
    EXPECT_EQ(container_id(CgroupDriver::kSystemd, std::string(runtime) + "0a1b.scope"), "0a1b");
  }
  EXPECT_FALSE(container_id(CgroupDriver::kSystemd, "crio-conmon-0a1b.scope"));
  EXPECT_FALSE(container_id(CgroupDriver::kSystemd, "0a1b"));
  EXPECT_FALSE(container_id(CgroupDriver::kSystemd, "other-0a1b.scope"));
  EXPECT_FALSE(container_id(CgroupDriver::kSystemd, "docker-.scope"));
}

struct LivePods : ::testing::Test {
  testing::Tree tree;
  Place place{tree.root(), {}, {}};
  Directory root = std::move(*open_directory(tree.root()).value());
};

TEST_F(LivePods, AreFoundWithTheirContainers) {
  const Kubepods layout(CgroupDriver::kSystemd);
  const std::string one = layout.pod_path(KubeQos::kGuaranteed, "u-1").value(),
                    two = layout.pod_path(KubeQos::kBestEffort, "u-2").value();
  tree.folder(one + "/cri-containerd-aa.scope");
  tree.folder(one + "/cri-containerd-bb.scope/init.scope");
  tree.folder(two);
  tree.folder("kubepods.slice/kubepods-burstable.slice");
  const auto pods = walk_pods(root.fd.get(), layout, place);
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_EQ(pods->size(), 2u);
  EXPECT_EQ((*pods)[0].uid, "u-1");
  EXPECT_EQ((*pods)[0].path, one);
  ASSERT_EQ((*pods)[0].containers.size(), 2u);
  EXPECT_EQ((*pods)[0].containers[1].id, "bb");
  EXPECT_EQ((*pods)[0].containers[1].path, one + "/cri-containerd-bb.scope");
  EXPECT_EQ((*pods)[1].qos, KubeQos::kBestEffort);
  EXPECT_TRUE((*pods)[1].containers.empty());
}

TEST_F(LivePods, NoneIsNoError) {
  EXPECT_TRUE(walk_pods(root.fd.get(), Kubepods(CgroupDriver::kCgroupfs), place).value().empty());
  EXPECT_FALSE(detect_driver(root.fd.get(), "/", place).value());
}

TEST_F(LivePods, DetectsDriverFromExistingGroups) {
  tree.folder("kubepods/burstable");
  EXPECT_EQ(detect_driver(root.fd.get(), "/", place).value(), CgroupDriver::kCgroupfs);
  EXPECT_FALSE(detect_driver(root.fd.get(), "/elsewhere", place).value());
  tree.folder("kubepods.slice/kubepods-podx.slice");
  EXPECT_EQ(detect_driver(root.fd.get(), "/", place).value(), CgroupDriver::kSystemd)
      << "what another driver left behind is empty";
  tree.folder("kubepods/podx");
  EXPECT_FALSE(detect_driver(root.fd.get(), "/", place).value()) << "pods of both: the kubelet has to be asked";
}

}  // namespace
}  // namespace tidemark::linux
