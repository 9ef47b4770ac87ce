#include "policy/explain/doctor/kubelet_configz.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::policy::explain {
namespace {

std::string wrong(std::string_view text) {
  const auto found = parse_kubelet_configz(text);
  return found ? "accepted" : found.error().message;
}

// The shape is that of k8s.io/component-base/configz; the names those of KubeletConfiguration v1beta1.
TEST(KubeletConfigz, ReadsTheRelevantValues) {
  const auto found = parse_kubelet_configz(
      R"({"kubeletconfig":{"enableServer":true,"cgroupDriver":"systemd","cpuManagerPolicy":"static","memoryManagerPolicy":"Static","failSwapOn":false,"evictionHard":
      {"imagefs.available":"15%","memory.available":"100Mi","nodefs.available":"7.5%","nodefs.inodesFree":"5%"}}})");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->driver, evict::GroupDriver::kSystemd);
  EXPECT_TRUE(found->static_cpus);
  EXPECT_TRUE(found->static_memory);
  EXPECT_TRUE(found->takes_swap);
  EXPECT_EQ(found->hard.memory_available, (evict::EvictionThreshold{104'857'600, 0}));
  EXPECT_EQ(found->hard.nodefs_available, (evict::EvictionThreshold{0, 7500}));
  EXPECT_EQ(found->hard.nodefs_inodes, (evict::EvictionThreshold{0, 5000}));
  EXPECT_EQ(found->hard.imagefs_available, (evict::EvictionThreshold{0, 15'000}));
  EXPECT_EQ(found->hard.imagefs_inodes, std::nullopt);
}

TEST(KubeletConfigz, ReadsSoftThresholdsBesideHardOnes) {
  const auto found = parse_kubelet_configz(
      R"({"kubeletconfig":{"evictionHard":{"memory.available":"100Mi"},"evictionSoft":{"memory.available":"15%",
      "nodefs.available":"20%"},"evictionSoftGracePeriod":{"memory.available":"1m30s","nodefs.available":"2m"}}})");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->hard.memory_available, (evict::EvictionThreshold{104'857'600, 0}));
  EXPECT_EQ(found->soft.memory_available, (evict::EvictionThreshold{0, 15'000, true}));
  EXPECT_EQ(found->hard.nodefs_available, std::nullopt);
  EXPECT_EQ(found->soft.nodefs_available, (evict::EvictionThreshold{0, 20'000, true}));
  EXPECT_NE(wrong(R"({"kubeletconfig":{"evictionSoft":["10%"]}})").find("evictionSoft"), std::string::npos);
}

TEST(KubeletConfigz, MissingValuesAreUnset) {
  for (const char* text :
       {R"({"kubeletconfig":{}})", R"({"kubeletconfig":{"cgroupDriver":"","evictionHard":null}})",
        R"({"kubeletconfig":{"cpuManagerPolicy":"none","evictionHard":{"nodefs.available":"0%"}},"other":1})"}) {
    const auto found = parse_kubelet_configz(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->driver, std::nullopt) << text;
    EXPECT_FALSE(found->static_cpus) << text;
    EXPECT_FALSE(found->static_memory) << text;
    EXPECT_FALSE(found->takes_swap) << text;
    EXPECT_EQ(found->hard.memory_available, std::nullopt) << text;
    EXPECT_EQ(found->hard.nodefs_available, std::nullopt) << text;
  }
  EXPECT_EQ(parse_kubelet_configz(R"({"kubeletconfig":{"cgroupDriver":"cgroupfs"}})").value().driver,
            evict::GroupDriver::kCgroupfs);
}

TEST(KubeletConfigz, RefusesInvalidConfigurationWithItsPlace) {
  for (const char* text : {"", "[]", "{}", "null", R"({"kubeletconfig":[]})", "404 page not found"}) {
    EXPECT_NE(wrong(text), "accepted") << text;
  }
  EXPECT_NE(wrong(R"({"kubeletconfig":{"cgroupDriver":"runit"}})").find("cgroupDriver"), std::string::npos);
  EXPECT_NE(wrong(R"({"kubeletconfig":{"cgroupDriver":1}})").find("cgroupDriver"), std::string::npos);
  EXPECT_NE(wrong(R"({"kubeletconfig":{"cpuManagerPolicy":{}}})").find("cpuManagerPolicy"), std::string::npos);
  EXPECT_NE(wrong(R"({"kubeletconfig":{"evictionHard":["10%"]}})").find("evictionHard"), std::string::npos);
  EXPECT_NE(wrong(R"({"kubeletconfig":{"failSwapOn":"no"}})").find("failSwapOn"), std::string::npos);
  const std::string place = wrong(R"({"kubeletconfig":{"evictionHard":{"memory.available":"much"}}})");
  for (const char* part : {"kubeletconfig", "evictionHard", "memory.available", "much"}) {
    EXPECT_NE(place.find(part), std::string::npos) << place;
  }
}

}  // namespace
}  // namespace tidemark::policy::explain
